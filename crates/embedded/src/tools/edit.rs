//! `Edit`: replaces a text in a file.

use std::io;

use duologue_protocol::{RawObject, tool};
use serde_json::{Value, json};

use super::context::Resolved;
use super::files::{Stamp, read_text, write_whole};
use super::patch;
use super::read::{not_found, told};
use super::write::{CHANGED_SINCE, CURRENT};
use super::{Access, Category, Tool, ToolContext, ToolFuture, ToolOutput, text_or_empty};

/// Replaces a text in a file, once or everywhere.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EditTool;

impl EditTool {
    /// Its name.
    pub const NAME: &'static str = "Edit";
}

impl Tool for EditTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Replaces exact text in a file. `old_string` must occur exactly once, unless `replace_all` is \
         set. An empty `old_string` creates a new file."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "The absolute path to the file to modify" },
                "old_string": { "type": "string", "description": "The text to replace" },
                "new_string": { "type": "string", "description": "The text to replace it with" },
                "replace_all": { "type": "boolean", "default": false, "description": "Replace all occurrences of old_string" },
            },
            "required": ["file_path", "old_string", "new_string"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Change(text_or_empty(input, "file_path"))
    }

    fn category(&self) -> Category {
        Category::Edit
    }

    fn complete_input(&self, input: &mut Value, _: &ToolContext) {
        if input.is_object() && input["replace_all"].is_null() {
            input["replace_all"] = json!(false);
        }
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(input) = input.read::<tool::Edit>() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let path = match context.resolve(input.file_path.as_str().unwrap_or_default()) {
                Ok(path) => path,
                Err(error) => return ToolOutput::failed(error.to_string()),
            };
            let seen = context.files().seen(&path.real);
            if let (Some(seen), Some(now)) = (seen, Stamp::of(&path.real))
                && seen != now
            {
                return ToolOutput::refused(CHANGED_SINCE);
            }
            let change = Change {
                old: input.old_string.as_str().unwrap_or_default().to_owned(),
                new: input.new_string.as_str().unwrap_or_default().to_owned(),
                everywhere: input.replace_all.is_true(),
                was_seen: seen.is_some(),
            };
            let edited = {
                let path = path.clone();
                tokio::task::spawn_blocking(move || change.apply(&path)).await
            };
            match edited.map_err(io::Error::other).flatten() {
                Ok(Ok(output)) => {
                    if seen.is_some() {
                        context.files().saw(&path.real);
                    }
                    output
                }
                Ok(Err(why)) => ToolOutput::refused(why),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    ToolOutput::refused(not_found(context))
                }
                Err(error) => ToolOutput::failed(told(&error, &path, context)),
            }
        })
    }
}

struct Change {
    old: String,
    new: String,
    everywhere: bool,
    /// Whether the model has seen the file.
    was_seen: bool,
}

impl Change {
    /// Makes the change, or returns why it is not possible.
    fn apply(self, path: &Resolved) -> io::Result<Result<ToolOutput, String>> {
        let shown = path.shown();
        if self.old == self.new {
            let why = "No changes to make: old_string and new_string are exactly the same.";
            return Ok(Err(why.to_owned()));
        }
        if path.real.extension().is_some_and(|extension| extension == "ipynb") {
            let why = "File is a Jupyter Notebook. Use the NotebookEdit to edit this file.";
            return Ok(Err(why.to_owned()));
        }
        let original = match read_text(&path.real, &shown) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.old.is_empty() => None,
            read => Some(read?),
        };
        // Models write plain newlines, whatever the file has.
        let has_crlf = original.as_ref().is_some_and(|text| text.contains("\r\n"));
        let text = original.unwrap_or_default().replace("\r\n", "\n");
        let changed = match self.change(&text) {
            Ok(changed) => changed,
            Err(why) => return Ok(Err(why)),
        };
        let written = if has_crlf { changed.replace('\n', "\r\n") } else { changed.clone() };
        write_whole(&path.real, written.as_bytes())?;
        Ok(Ok(self.told(&shown, &text, &changed)))
    }

    fn change(&self, text: &str) -> Result<String, String> {
        if self.old.is_empty() {
            return if text.trim().is_empty() {
                Ok(self.new.clone())
            } else {
                Err("Cannot create new file - file already exists.".to_owned())
            };
        }
        let found = text.matches(&self.old).count();
        if found == 0 {
            return Err(format!("String to replace not found in file.\nString: {}", self.old));
        }
        if found > 1 && !self.everywhere {
            return Err(format!(
                "Found {found} matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: {}",
                self.old
            ));
        }
        // A line that goes away takes its newline with it.
        let line = format!("{}\n", self.old);
        let takes_newline =
            self.new.is_empty() && !self.old.ends_with('\n') && text.contains(&line);
        let old = if takes_newline { &line } else { &self.old };
        Ok(if self.everywhere {
            text.replace(old, &self.new)
        } else {
            text.replacen(old, &self.new, 1)
        })
    }

    fn told(self, shown: &str, original: &str, changed: &str) -> ToolOutput {
        let mut told = if self.everywhere {
            format!(
                "The file {shown} has been updated. All occurrences were successfully replaced."
            )
        } else {
            format!("The file {shown} has been updated successfully.")
        };
        let mut result = json!({
            "filePath": shown,
            "oldString": self.old,
            "newString": self.new,
            "originalFile": original,
            "structuredPatch": patch::structured(original, changed),
            "userModified": false,
            "replaceAll": self.everywhere,
        });
        if self.was_seen {
            told.push(' ');
            told.push_str(CURRENT);
        } else {
            result["contentNotInModelContext"] = json!(true);
        }
        ToolOutput::text(told, result)
    }
}
