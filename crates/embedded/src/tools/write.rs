//! `Write`: writes a file.

use std::io;

use duologue_protocol::{RawObject, tool};
use serde_json::{Value, json};

use super::context::Resolved;
use super::files::{Stamp, read_text, write_whole};
use super::patch;
use super::read::told;
use super::{Access, Category, Tool, ToolContext, ToolFuture, ToolOutput, text_or_empty};

pub(super) const NOT_READ: &str = "File has not been read yet. Read it first before writing to it.";
pub(super) const CHANGED_SINCE: &str = "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.";
pub(super) const CURRENT: &str =
    "(file state is current in your context — no need to Read it back)";

/// Writes a file whole. One that exists must have been read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteTool;

impl WriteTool {
    /// Its name.
    pub const NAME: &'static str = "Write";
}

impl Tool for WriteTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Writes a file, in place of an existing one. Read a file that exists before you overwrite it."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "The absolute path to the file to write" },
                "content": { "type": "string", "description": "The content to write to the file" },
            },
            "required": ["file_path", "content"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Change(text_or_empty(input, "file_path"))
    }

    fn category(&self) -> Category {
        Category::Edit
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(input) = input.read::<tool::Write>() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let path = match context.resolve(input.file_path.as_str().unwrap_or_default()) {
                Ok(path) => path,
                Err(error) => return ToolOutput::failed(error.to_string()),
            };
            let now = Stamp::of(&path.real);
            match (now, context.files().seen(&path.real)) {
                (Some(_), None) if path.real.is_file() => return ToolOutput::refused(NOT_READ),
                (Some(now), Some(seen)) if now != seen => {
                    return ToolOutput::refused(CHANGED_SINCE);
                }
                _ => {}
            }
            let content = input.content.as_str().unwrap_or_default().to_owned();
            let written = {
                let path = path.clone();
                tokio::task::spawn_blocking(move || write(&path, &content)).await
            };
            match written.map_err(io::Error::other).flatten() {
                Ok(output) => {
                    context.files().saw(&path.real);
                    output
                }
                Err(error) => ToolOutput::failed(told(&error, &path, context)),
            }
        })
    }
}

fn write(path: &Resolved, content: &str) -> io::Result<ToolOutput> {
    let shown = path.shown();
    let original = match read_text(&path.real, &shown) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    write_whole(&path.real, content.as_bytes())?;
    let (kind, patch, content_for_model) = match &original {
        None => ("create", Vec::new(), format!("File created successfully at: {shown} {CURRENT}")),
        Some(original) => (
            "update",
            patch::structured(original, content),
            format!("The file {shown} has been updated successfully. {CURRENT}"),
        ),
    };
    let result = json!({
        "type": kind,
        "filePath": shown,
        "content": content,
        "structuredPatch": patch,
        "originalFile": original,
        "userModified": false,
    });
    Ok(ToolOutput::text(content_for_model, result))
}
