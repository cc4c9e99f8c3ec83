//! Notebooks, as `Read` shows them.

use std::io;

use duologue_protocol::RawJson;
use serde_json::{Value, json};

use super::ToolOutput;

/// The longest output of a cell that is shown.
const MAX_OUTPUT: usize = 10_000;

/// Shows all cells of a notebook.
pub(super) fn show(bytes: &[u8], shown: &str) -> io::Result<ToolOutput> {
    let notebook: Value = serde_json::from_slice(bytes).map_err(io::Error::other)?;
    let language = notebook["metadata"]["language_info"]["name"].as_str().unwrap_or("python");
    let mut cells = Vec::new();
    let mut blocks = Vec::new();
    for (index, cell) in notebook["cells"].as_array().into_iter().flatten().enumerate() {
        let kind = cell["cell_type"].as_str().unwrap_or("code");
        let source = joined(&cell["source"]);
        let id = cell["id"].as_str().map_or_else(|| format!("cell-{index}"), str::to_owned);
        let mut text = format!("<cell id=\"{id}\">");
        if kind != "code" {
            text.push_str(&format!("<cell_type>{kind}</cell_type>"));
        } else if language != "python" {
            text.push_str(&format!("<language>{language}</language>"));
        }
        text.push_str(&format!("{source}</cell id=\"{id}\">"));
        blocks.push(RawJson::from(json!({ "type": "text", "text": text })));

        let mut result = json!({ "cellType": kind, "source": source, "cell_id": id });
        if kind == "code" {
            result["language"] = json!(language);
        }
        if let Some(count) = cell["execution_count"].as_i64() {
            result["execution_count"] = json!(count);
        }
        let outputs: Vec<Value> =
            cell["outputs"].as_array().into_iter().flatten().filter_map(output).collect();
        for output in &outputs {
            let text = format!("\n{}", output["text"].as_str().unwrap_or_default());
            blocks.push(RawJson::from(json!({ "type": "text", "text": text })));
        }
        if !outputs.is_empty() {
            result["outputs"] = json!(outputs);
        }
        cells.push(result);
    }
    let result = json!({ "type": "notebook", "file": { "filePath": shown, "cells": cells } });
    Ok(ToolOutput::blocks(blocks, result))
}

fn output(output: &Value) -> Option<Value> {
    let kind = output["output_type"].as_str()?;
    let text = match kind {
        "stream" => joined(&output["text"]),
        "error" => joined(&output["traceback"]),
        _ => joined(&output["data"]["text/plain"]),
    };
    let text: String = text.chars().take(MAX_OUTPUT).collect();
    Some(json!({ "output_type": kind, "text": text }))
}

/// A text, or the lines of one.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
