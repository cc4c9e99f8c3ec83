//! `Glob`: finds files by name.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Instant, SystemTime};

use duologue_protocol::{RawObject, tool};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use serde_json::{Value, json};

use super::{Access, Cancel, Category, Tool, ToolContext, ToolFuture, ToolOutput, text_or_empty};

/// How many files are shown.
const MAX_FILES: usize = 100;

/// How many files are looked at for the oldest hundred: a whole disk is too much.
const MAX_FOUND: usize = 100_000;

/// Finds files by name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GlobTool;

impl GlobTool {
    /// Its name.
    pub const NAME: &'static str = "Glob";
}

impl Tool for GlobTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Finds files by a pattern such as \"**/*.js\" or \"src/**/*.ts\", by time of modification."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "The glob pattern to match files against" },
                "path": { "type": "string", "description": "The directory to search in; the working directory unless given" },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        let (folder, _) = split(&text_or_empty(input, "path"), &text_or_empty(input, "pattern"));
        Access::Read(folder)
    }

    fn category(&self) -> Category {
        Category::Search
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(input) = input.read::<tool::Glob>() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let (folder, pattern) = split(
                input.path.as_str().unwrap_or_default(),
                input.pattern.as_str().unwrap_or_default(),
            );
            let root = match context.resolve(&folder) {
                Ok(root) => root,
                Err(error) => return ToolOutput::failed(error.to_string()),
            };
            if !root.real.is_dir() {
                return ToolOutput::refused(if root.real.exists() {
                    format!("Path is not a directory: {folder}")
                } else {
                    format!("Directory does not exist: {folder}")
                });
            }
            let began = Instant::now();
            let cancel = context.cancel().clone();
            let hidden = context.hidden_files();
            let found = tokio::task::spawn_blocking(move || {
                let mut found = find(&root.real, &pattern, &cancel)?;
                found.retain(|path| !hidden.contains(path));
                // Shown by the name that was asked for, not by its target.
                for path in &mut found {
                    if let Ok(below) = path.strip_prefix(&root.real) {
                        *path = root.shown.join(below);
                    }
                }
                found.retain(|path| !hidden.contains(path));
                Ok(found)
            });
            match found.await.map_err(io::Error::other).flatten() {
                Ok(_) if context.cancel().is_cancelled() => ToolOutput::stopped(),
                Ok(found) => show(found, began),
                Err(error) => ToolOutput::failed(error.to_string()),
            }
        })
    }
}

/// Where to search, and for what: the beginning of a pattern that has no wildcard is a place. So it
/// is seen where `/etc/*` and `../*` lead.
pub(crate) fn split(path: &str, pattern: &str) -> (String, String) {
    let mut folder = PathBuf::from(path);
    let literal: PathBuf = Path::new(pattern)
        .components()
        .take_while(|component| {
            !component.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\', '!'])
        })
        .collect();
    let leads_away = literal
        .components()
        .any(|component| !matches!(component, Component::Normal(_) | Component::CurDir));
    if !leads_away {
        return (path.to_owned(), pattern.trim_start_matches("./").to_owned());
    }
    let rest: PathBuf =
        Path::new(pattern).components().skip(literal.components().count()).collect();
    let (place, rest) = match (rest.as_os_str().is_empty(), literal.file_name()) {
        (true, Some(name)) => {
            (literal.parent().map(Path::to_path_buf).unwrap_or_default(), PathBuf::from(name))
        }
        _ => (literal, rest),
    };
    folder.push(place);
    (folder.to_string_lossy().into_owned(), rest.to_string_lossy().into_owned())
}

/// All files under a directory whose names match, oldest first.
fn find(root: &Path, pattern: &str, cancel: &Cancel) -> io::Result<Vec<PathBuf>> {
    let mut overrides = OverrideBuilder::new(root);
    overrides.add(pattern).map_err(io::Error::other)?;
    let overrides = overrides.build().map_err(io::Error::other)?;
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .overrides(overrides)
        .follow_links(false)
        .build();
    let mut found = Vec::new();
    for entry in walk {
        if cancel.is_cancelled() || found.len() == MAX_FOUND {
            break;
        }
        // What cannot be read is not there.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| !kind.is_dir()) {
            let path = entry.into_path();
            found.push((modified(&path), path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// When a file was changed.
pub(super) fn modified(path: &Path) -> SystemTime {
    let metadata = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    metadata.unwrap_or(SystemTime::UNIX_EPOCH)
}

fn show(mut found: Vec<PathBuf>, began: Instant) -> ToolOutput {
    let truncated = found.len() > MAX_FILES;
    found.truncate(MAX_FILES);
    let mut names: Vec<String> =
        found.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let result = json!({
        "filenames": names,
        "durationMs": began.elapsed().as_millis().min(u128::from(u32::MAX)) as u64,
        "numFiles": names.len(),
        "truncated": truncated,
    });
    if truncated {
        names.push(
            "(Results are truncated. Consider using a more specific path or pattern.)".to_owned(),
        );
    }
    let content = if names.is_empty() { "No files found".to_owned() } else { names.join("\n") };
    ToolOutput::text(content, result)
}
