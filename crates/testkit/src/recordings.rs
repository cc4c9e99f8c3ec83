//! The recordings of the real CLI.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::peers::imitated_version;

/// One recording of one CLI version.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recording {
    /// The version of the CLI: `2.0.77`.
    pub version: String,
    /// The scenario: `04-bash-allow`.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its lines on stdin and stdout, in order.
    pub entries: Vec<Entry>,
}

/// One line of a recording.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Entry {
    /// Whether it was on the agent's stdout.
    pub to_host: bool,
    /// The exact line.
    pub line: String,
}

impl Recording {
    /// Whether it is of the newest recorded version, which the embedded agent imitates.
    pub fn is_newest(&self) -> bool {
        self.version == imitated_version()
    }
}

/// A recording of the newest version, by its file name: `04-bash-allow.tape`. A name with a folder is one of another version:
/// `2.0.77/04-bash-allow.tape`.
pub fn recording_path(name: &str) -> PathBuf {
    let folder = root().join("recordings");
    if name.contains('/') { folder.join(name) } else { folder.join(imitated_version()).join(name) }
}

/// The root of this repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All recordings in the tree, in order.
///
/// # Panics
/// If one cannot be read: a test without its fixtures must fail.
#[expect(clippy::panic, reason = "a test without its fixtures must fail")]
pub fn recordings() -> Vec<Recording> {
    let mut paths = Vec::new();
    collect(&root().join("recordings"), &mut paths);
    paths.sort();
    assert!(paths.len() > 300, "only {} recordings found", paths.len());
    let read = |path: &PathBuf| read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    paths.iter().map(read).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "tape") {
            paths.push(path);
        }
    }
}

fn read(path: &PathBuf) -> Result<Recording, Box<dyn std::error::Error>> {
    let version = path.parent().and_then(Path::file_name).unwrap_or_default();
    let mut entries = Vec::new();
    for line in fs::read_to_string(path)?.split('\n').filter(|line| !line.is_empty()) {
        let entry: Value = serde_json::from_str(line)?;
        let to_host = match entry["dir"].as_str() {
            Some("out") => true,
            Some("in") => false,
            _ => continue,
        };
        if let Some(line) = entry["line"].as_str() {
            entries.push(Entry { to_host, line: line.to_owned() });
        }
    }
    Ok(Recording {
        version: version.to_string_lossy().into_owned(),
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.clone(),
        entries,
    })
}
