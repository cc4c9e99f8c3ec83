//! One prompt, and its answer printed.

use std::io::Cursor;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{Exit, StartError, say};
use crate::agent::Agent;
use crate::command_line::Format;
use crate::options::Options;
use crate::serve::{To, serve_process};

/// Answers one prompt and prints it in this format.
pub(crate) async fn one<A: Agent>(
    agent: &mut A,
    line: String,
    format: Format,
    is_verbose: bool,
    options: Options,
) -> Result<Exit, StartError> {
    let stdin = Cursor::new(format!("{line}\n").into_bytes());
    if format == Format::StreamJson {
        return Ok(serve_process(agent, stdin, To::stdout(), options).await);
    }
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let keeps_all = format == Format::Json && is_verbose;
    let listening = tokio::spawn(listen(ours, keeps_all));
    let exit = serve_process(agent, stdin, To::Pipe(theirs), options).await;
    let (lines, result) = listening.await.unwrap_or_default();
    match (format, result) {
        (_, None) => {}
        (Format::Json, Some(_)) if keeps_all => say(&format!("[{}]\n", lines.join(",")))?,
        (Format::Json, Some(result)) => say(&format!("{result}\n"))?,
        (_, Some(result)) => say(&format!("{}\n", text(&result)))?,
    }
    Ok(exit)
}

/// The lines that are wanted, and the last result.
async fn listen(reader: tokio::io::DuplexStream, keeps_all: bool) -> (Vec<String>, Option<String>) {
    let mut lines = BufReader::new(reader).lines();
    let (mut all, mut result) = (Vec::new(), None);
    while let Ok(Some(line)) = lines.next_line().await {
        let read: Value = serde_json::from_str(&line).unwrap_or_default();
        if read["type"] == "result" {
            result = Some(line.clone());
        }
        if keeps_all {
            all.push(line);
        }
    }
    (all, result)
}

fn text(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    if let Some(text) = result["result"].as_str() {
        return text.to_owned();
    }
    let errors = result["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    format!("Error: {}", errors.collect::<Vec<_>>().join("\n"))
}
