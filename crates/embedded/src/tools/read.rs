//! `Read`: shows a file.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::{RawJson, RawObject, tool};
use serde_json::{Value, json};

use super::context::Resolved;
use super::files::{MAX_READ, open, size};
use super::notebook;
use super::{Access, Category, Tool, ToolContext, ToolFuture, ToolOutput, text_or_empty};

/// How many lines are shown by default.
const DEFAULT_LINES: u64 = 2000;

/// The largest part that is shown even if the model insists.
const MAX_LARGE: u64 = 4 * 1024 * 1024;

/// The largest image that the Messages API takes: 5 MB in base64.
const MAX_IMAGE: u64 = 3_932_160;

/// Shows a file: text with line numbers, images, notebooks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReadTool;

impl ReadTool {
    /// Its name.
    pub const NAME: &'static str = "Read";
}

impl Tool for ReadTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Reads a file. Text is shown with line numbers, up to 2000 lines from the beginning; give \
         `offset` and `limit` for another part. Pictures are shown, notebooks with all their cells."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "The absolute path to the file to read" },
                "offset": { "type": "number", "description": "The line number to start reading from" },
                "limit": { "type": "number", "description": "The number of lines to read" },
                "allow_large": { "type": "boolean", "description": "Read a file beyond the size limit" },
                "pages": { "type": "string", "description": "Page range for PDF files: not supported here" },
            },
            "required": ["file_path"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Read(text_or_empty(input, "file_path"))
    }

    fn category(&self) -> Category {
        Category::Read
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(input) = input.read::<tool::Read>() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let path = match context.resolve(input.file_path.as_str().unwrap_or_default()) {
                Ok(path) => path,
                Err(error) => return ToolOutput::failed(error.to_string()),
            };
            let read = {
                let path = path.clone();
                tokio::task::spawn_blocking(move || read(&path, &input)).await
            };
            match read.map_err(io::Error::other).flatten() {
                Ok(output) => {
                    context.files().saw(&path.real);
                    output
                }
                Err(error) => ToolOutput::failed(told(&error, &path, context)),
            }
        })
    }
}

/// The result when a file cannot be read.
pub(super) fn told(error: &io::Error, path: &Resolved, context: &ToolContext) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => not_found(context),
        io::ErrorKind::PermissionDenied => {
            format!("EACCES: permission denied, open '{}'", path.shown.display())
        }
        _ => error.to_string(),
    }
}

pub(super) fn not_found(context: &ToolContext) -> String {
    let cwd = context.cwd();
    format!("File does not exist. Note: your current working directory is {}.", cwd.display())
}

fn read(path: &Resolved, input: &tool::Read) -> io::Result<ToolOutput> {
    let shown = path.shown();
    let extension = path.shown.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match extension.as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" => return picture(path),
        "ipynb" => {
            let notebook = whole(&path.real, &shown, MAX_READ)?;
            return notebook::show(&notebook, &shown);
        }
        "pdf" => {
            return Err(io::Error::other("PDF files cannot be read here. Use pdftotext via Bash."));
        }
        _ => {}
    }
    let start = input.offset.as_f64().map_or(1, |offset| (offset as u64).max(1));
    let limit = input.limit.as_f64().map(|limit| limit as u64);
    let insists = input.extra.get("allow_large").is_some_and(|large| large.as_json() == "true");
    let most = if insists { MAX_LARGE } else { MAX_READ };
    let file = open(&path.real, &shown)?;
    let length = file.metadata()?.len();
    if limit.is_none() && length > most {
        return Err(too_large(length));
    }
    let default = if insists { u64::MAX } else { DEFAULT_LINES };
    let part = Part::read(file, start, limit.unwrap_or(default), most)?;
    if part.bytes.contains(&0) {
        return Err(io::Error::other(format!(
            "This tool cannot read binary files. The file appears to be a binary .{extension} file. Please use appropriate tools for binary file analysis."
        )));
    }
    Ok(part.show(&shown, start))
}

fn too_large(length: u64) -> io::Error {
    io::Error::other(format!(
        "File content ({}) exceeds maximum allowed size ({}). Use offset and limit parameters to read specific portions of the file, or search for specific content instead of reading the whole file. To read it anyway, up to what still fits in your context, call Read again with allow_large: true — only if you genuinely need all of it or the user asked for the whole file.",
        size(length),
        size(MAX_READ),
    ))
}

/// Some lines of a file.
struct Part {
    bytes: Vec<u8>,
    lines: u64,
    total: u64,
}

impl Part {
    /// Goes through the whole file, to count its lines, and keeps what is asked for.
    fn read(file: impl Read, start: u64, limit: u64, most: u64) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let mut part = Self { bytes: Vec::new(), lines: 0, total: 1 };
        let wanted = start..start.saturating_add(limit);
        loop {
            let chunk = reader.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n').map_or(chunk.len(), |at| at + 1);
            if wanted.contains(&part.total) {
                part.bytes.extend_from_slice(&chunk[..end]);
                if part.bytes.len() as u64 > most {
                    return Err(too_large(part.bytes.len() as u64));
                }
            }
            part.total += u64::from(chunk[end - 1] == b'\n');
            reader.consume(end);
        }
        part.lines = wanted.end.min(part.total + 1).saturating_sub(start);
        // The newline that ends the last line shown is not part of it.
        if part.total >= wanted.end && part.bytes.last() == Some(&b'\n') {
            part.bytes.pop();
            if part.bytes.last() == Some(&b'\r') {
                part.bytes.pop();
            }
        }
        Ok(part)
    }

    fn show(self, shown: &str, start: u64) -> ToolOutput {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
        let content = if start > self.total {
            format!(
                "<system-reminder>Warning: the file exists but is shorter than the provided offset ({start}). The file has {} lines.</system-reminder>",
                self.total
            )
        } else if text.is_empty() && self.total == 1 {
            "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
                .to_owned()
        } else {
            let lines = text.split('\n').zip(start..);
            lines.map(|(line, number)| format!("{number}\t{line}")).collect::<Vec<_>>().join("\n")
        };
        let result = json!({
            "type": "text",
            "file": {
                "filePath": shown,
                "content": text,
                "numLines": self.lines,
                "startLine": start,
                "totalLines": self.total,
            },
        });
        ToolOutput::text(content, result)
    }
}

fn picture(path: &Resolved) -> io::Result<ToolOutput> {
    let bytes = whole(&path.real, &path.shown(), MAX_IMAGE)?;
    let media_type = match imagesize::image_type(&bytes) {
        Ok(imagesize::ImageType::Png) => "image/png",
        Ok(imagesize::ImageType::Jpeg) => "image/jpeg",
        Ok(imagesize::ImageType::Gif) => "image/gif",
        Ok(imagesize::ImageType::Webp) => "image/webp",
        _ => return Err(io::Error::other(format!("'{}' is not an image.", path.shown()))),
    };
    let pixels = imagesize::blob_size(&bytes).map_err(io::Error::other)?;
    let base64 = STANDARD.encode(&bytes);
    let block = json!({
        "type": "image",
        "source": { "type": "base64", "data": base64, "media_type": media_type },
    });
    let result = json!({
        "type": "image",
        "file": {
            "base64": base64,
            "type": media_type,
            "originalSize": bytes.len(),
            "dimensions": {
                "originalWidth": pixels.width,
                "originalHeight": pixels.height,
                "displayWidth": pixels.width,
                "displayHeight": pixels.height,
            },
        },
    });
    Ok(ToolOutput::blocks(vec![RawJson::from(block)], result))
}

fn whole(path: &Path, shown: &str, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path, shown)?;
    let length = file.metadata()?.len();
    if length > limit {
        return Err(too_large(length));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
