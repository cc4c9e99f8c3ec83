//! [`Checkpoints`]: files as they were before each prompt, so that a host can undo changes: `rewind_files`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::shared::lock;
use crate::tools::write_whole;

/// The largest file that is kept.
const MAX_SIZE: u64 = 64 * 1024 * 1024;

/// The reason, if a prompt has no checkpoint. The words are the CLI's own.
const NONE: &str = "No file checkpoint found for this message.";

/// Files as they were before each prompt. They are on disk, so that a resumed conversation has them.
#[derive(Debug)]
pub(super) struct Checkpoints {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Where they are kept; nowhere without a folder.
    folder: Option<PathBuf>,
    prompts: Vec<Checkpoint>,
}

#[derive(Clone, Debug)]
struct Checkpoint {
    /// The prompt.
    uuid: String,
    /// The files that were changed since, each with its copy; without one it did not exist.
    files: Vec<(PathBuf, Option<PathBuf>)>,
}

impl Checkpoints {
    /// The checkpoints in a folder.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        let index = folder.as_ref().and_then(|folder| fs::read(folder.join("index.json")).ok());
        let index: Value =
            index.and_then(|index| serde_json::from_slice(&index).ok()).unwrap_or_default();
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let prompts = index.as_array().into_iter().flatten().filter_map(|entry| {
            let files = entry["files"].as_array().into_iter().flatten();
            let files = files.filter_map(|file| Some((path(&file["path"])?, path(&file["copy"]))));
            Some(Checkpoint { uuid: entry["uuid"].as_str()?.to_owned(), files: files.collect() })
        });
        Self { state: Mutex::new(State { prompts: prompts.collect(), folder }) }
    }

    /// A prompt begins.
    pub(super) fn begin(&self, uuid: &str) {
        let mut state = lock(&self.state);
        state.prompts.push(Checkpoint { uuid: uuid.to_owned(), files: Vec::new() });
        // If it cannot be written, it still counts in this process.
        let _ = state.save();
    }

    /// A file is about to be changed.
    pub(super) fn before_change(&self, path: &Path) {
        let mut state = lock(&self.state);
        let Some(folder) = state.folder.clone() else { return };
        let is_known = |prompt: &Checkpoint| prompt.files.iter().any(|(known, _)| known == path);
        if state.prompts.last().is_none_or(is_known) {
            return;
        }
        let copy = match fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAX_SIZE => return,
            Ok(_) => {
                let copy = folder.join(uuid::Uuid::new_v4().to_string());
                if fs::create_dir_all(&folder).and_then(|()| fs::copy(path, &copy)).is_err() {
                    return;
                }
                Some(copy)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => return,
        };
        if let Some(last) = state.prompts.last_mut() {
            last.files.push((path.to_owned(), copy));
        }
        let _ = state.save();
    }

    /// Puts the files back to what they were before a prompt. A dry run only reports what would change.
    pub(super) fn rewind(&self, uuid: &str, is_dry: bool) -> Result<Value, String> {
        let targets = match lock(&self.state).before(uuid) {
            Some(targets) => targets,
            None if is_dry => return Ok(json!({ "canRewind": false, "error": NONE })),
            None => return Err(NONE.to_owned()),
        };
        if is_dry {
            let (mut changed, mut insertions, mut deletions) = (Vec::new(), 0, 0);
            for (path, copy) in &targets {
                let now = fs::read(path).unwrap_or_default();
                let then = copy.as_ref().map(|copy| fs::read(copy).unwrap_or_default());
                if then.as_ref() == Some(&now) || (then.is_none() && !path.exists()) {
                    continue;
                }
                changed.push(path.to_string_lossy().into_owned());
                let now = String::from_utf8_lossy(&now).into_owned();
                let then = String::from_utf8_lossy(&then.unwrap_or_default()).into_owned();
                for change in TextDiff::from_lines(now.as_str(), then.as_str()).iter_all_changes() {
                    match change.tag() {
                        ChangeTag::Insert => insertions += 1,
                        ChangeTag::Delete => deletions += 1,
                        ChangeTag::Equal => {}
                    }
                }
            }
            return Ok(json!({
                "canRewind": true, "filesChanged": changed,
                "insertions": insertions, "deletions": deletions,
            }));
        }
        for (path, copy) in targets {
            let done = match copy {
                Some(copy) => fs::read(&copy).and_then(|content| write_whole(&path, &content)),
                None => match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                },
            };
            done.map_err(|error| format!("{} cannot be rewound: {error}", path.display()))?;
        }
        Ok(json!({ "canRewind": true, "skippedLinks": 0 }))
    }
}

impl State {
    /// The files that were changed since a prompt, each with its oldest copy.
    fn before(&self, uuid: &str) -> Option<Vec<(PathBuf, Option<PathBuf>)>> {
        let at = self.prompts.iter().position(|prompt| prompt.uuid == uuid)?;
        let mut targets: Vec<(PathBuf, Option<PathBuf>)> = Vec::new();
        for (path, copy) in self.prompts.iter().skip(at).flat_map(|prompt| &prompt.files) {
            if !targets.iter().any(|(known, _)| known == path) {
                targets.push((path.clone(), copy.clone()));
            }
        }
        Some(targets)
    }

    fn save(&self) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let entries = self.prompts.iter().map(|prompt| {
            let files =
                prompt.files.iter().map(|(path, copy)| json!({ "path": path, "copy": copy }));
            json!({ "uuid": prompt.uuid, "files": files.collect::<Vec<_>>() })
        });
        let text = Value::from(entries.collect::<Vec<_>>()).to_string();
        write_whole(&folder.join("index.json"), text.as_bytes())
    }
}
