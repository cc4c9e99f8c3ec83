//! `NotebookEdit`: changes a cell of a notebook.

use std::io;
use std::path::Path;

use duologue_protocol::RawObject;
use serde_json::{Value, json};

use super::files::write_whole;
use super::{Access, Category, Tool, ToolContext, ToolFuture, ToolOutput, text, text_or_empty};

/// Replaces, inserts or deletes a cell of a notebook.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NotebookEditTool;

impl NotebookEditTool {
    /// Its name.
    pub const NAME: &'static str = "NotebookEdit";
}

impl Tool for NotebookEditTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Replaces, inserts or deletes a cell of a Jupyter notebook."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "notebook_path": { "type": "string", "description": "The absolute path to the Jupyter notebook file to edit" },
                "cell_id": { "type": "string", "description": "The ID of the cell to edit; a new cell follows it" },
                "new_source": { "type": "string", "description": "The new source for the cell" },
                "cell_type": { "type": "string", "enum": ["code", "markdown"] },
                "edit_mode": { "type": "string", "enum": ["replace", "insert", "delete"] },
            },
            "required": ["notebook_path", "new_source"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Change(text_or_empty(input, "notebook_path"))
    }

    fn category(&self) -> Category {
        Category::Edit
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let shown = text_or_empty(&input, "notebook_path");
            if !shown.ends_with(".ipynb") {
                return ToolOutput::refused(
                    "File must be a Jupyter notebook (.ipynb file). For editing other file types, use the FileEdit tool.",
                );
            }
            let path = match context.resolve(&shown) {
                Ok(path) => path,
                Err(error) => return ToolOutput::failed(error.to_string()),
            };
            if !path.real.is_file() {
                return ToolOutput::refused("Notebook file does not exist.");
            }
            if context.files().seen(&path.real).is_none() {
                return ToolOutput::refused(super::write::NOT_READ);
            }
            match edit(&path.real, &shown, &input) {
                Ok(Ok(output)) => {
                    context.files().saw(&path.real);
                    output
                }
                Ok(Err(why)) => ToolOutput::refused(why),
                Err(error) => ToolOutput::failed(error.to_string()),
            }
        })
    }
}

/// Changes the file. The inner error is for the model.
fn edit(path: &Path, shown: &str, input: &RawObject) -> io::Result<Result<ToolOutput, String>> {
    let original = std::fs::read_to_string(path)?;
    let Ok(mut notebook) = serde_json::from_str::<Value>(&original) else {
        return Ok(Err("Notebook is not valid JSON.".to_owned()));
    };
    let language = notebook["metadata"]["language_info"]["name"].as_str().unwrap_or("python");
    let language = language.to_owned();
    let Some(cells) = notebook["cells"].as_array_mut() else {
        return Ok(Err("Notebook has no cells.".to_owned()));
    };
    let source = text_or_empty(input, "new_source");
    let mode = text(input, "edit_mode").unwrap_or_else(|| "replace".to_owned());
    let id = text(input, "cell_id");
    let at = id.as_deref().map(|id| {
        let numbered = |id: &str| id.strip_prefix("cell-")?.parse::<usize>().ok();
        let by_id = cells.iter().position(|cell| cell["id"] == id);
        by_id.or_else(|| numbered(id).filter(|index| *index < cells.len()))
    });
    let kind = text(input, "cell_type");
    let cell_id = match (mode.as_str(), at) {
        (_, Some(None)) => {
            let id = id.unwrap_or_default();
            return Ok(Err(format!("Cell with ID \"{id}\" not found in notebook.")));
        }
        ("insert", at) => {
            let Some(kind) = kind.as_deref() else {
                return Ok(Err("Cell type is required when using edit_mode=insert.".to_owned()));
            };
            let new_id = super::persist::name('c');
            let mut cell =
                json!({ "cell_type": kind, "id": new_id, "source": source, "metadata": {} });
            if kind == "code" {
                cell["execution_count"] = Value::Null;
                cell["outputs"] = json!([]);
            }
            let at = at.flatten().map_or(0, |at| at + 1);
            cells.insert(at.min(cells.len()), cell);
            Some(new_id)
        }
        (_, None) => {
            return Ok(Err("Cell ID must be specified when not inserting a new cell.".to_owned()));
        }
        ("delete", Some(Some(at))) => {
            cells.remove(at);
            id
        }
        (_, Some(Some(at))) => {
            if let Some(cell) = cells.get_mut(at) {
                cell["source"] = json!(source);
                if let Some(kind) = &kind {
                    cell["cell_type"] = json!(kind);
                }
                if cell["cell_type"] == "code" {
                    cell["execution_count"] = Value::Null;
                    cell["outputs"] = json!([]);
                }
            }
            id
        }
    };
    let updated = serde_json::to_string_pretty(&notebook).map_err(io::Error::other)?;
    write_whole(path, updated.as_bytes())?;
    let named = cell_id.clone().unwrap_or_default();
    let message = match mode.as_str() {
        "delete" => format!("Deleted cell {named}"),
        "insert" => format!("Inserted cell {named} with {source}"),
        _ => format!("Updated cell {named} with {source}"),
    };
    let result = json!({
        "new_source": source, "cell_type": kind.unwrap_or_else(|| "code".to_owned()), "language": language,
        "edit_mode": mode, "cell_id": cell_id, "error": "", "notebook_path": shown,
        "original_file": original, "updated_file": updated,
    });
    Ok(Ok(ToolOutput::text(message, result)))
}
