//! Checks that do not start the agent.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use duologue::find;

use super::report::Finding;
use crate::agent::Agent;

/// How many bytes to read of the first line of a script.
const FIRST_LINE: u64 = 256;

/// Checks that Node.js is installed if the agent needs it. Current versions of Claude Code do not.
pub(super) fn node(agent: &Agent) -> Finding {
    let node = find::cli(Some(Path::new("node")));
    match (node, needs_node(agent)) {
        (Ok(path), needed) => {
            let why = if needed { "" } else { " (not needed)" };
            Finding::well("node", format!("{}{why}", path.display()))
        }
        (Err(_), false) => Finding::well("node", "not installed, and not needed"),
        (Err(_), true) => Finding::broken(
            "node",
            "not on the PATH, and the agent is a script that needs it",
            "Install Node.js 18 or newer, or Claude Code without it: \
             `curl -fsSL https://claude.ai/install.sh | bash`",
        ),
    }
}

fn needs_node(agent: &Agent) -> bool {
    let mut start = Vec::new();
    if let Ok(file) = File::open(&agent.program) {
        let _ = file.take(FIRST_LINE).read_to_end(&mut start);
    }
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    first.starts_with(b"#!") && first.windows(4).any(|word| word == b"node")
}

/// Checks that the agent can read its settings and store conversations.
pub(super) fn config() -> Finding {
    const NAME: &str = "config";
    let Some((folder, state)) = places() else {
        return Finding::broken(NAME, "there is no home folder", "Set HOME, or CLAUDE_CONFIG_DIR.");
    };
    if let Err(error) = try_to_write(&folder) {
        let what = format!("{} cannot be written: {error}", folder.display());
        let how = "Make it writable (chown, chmod), or set CLAUDE_CONFIG_DIR to another folder.";
        return Finding::broken(NAME, what, how);
    }
    for file in [folder.join("settings.json"), state] {
        if let Err(error) = try_to_read(&file) {
            let what = format!("{} cannot be read: {error}", file.display());
            let how = "Fix the file, or move it away: Claude Code writes a new one.";
            return Finding::broken(NAME, what, how);
        }
    }
    Finding::well(NAME, format!("{} can be written", folder.display()))
}

/// The folder of settings and conversations, and the file in which the agent keeps its state.
fn places() -> Option<(PathBuf, PathBuf)> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = set("CLAUDE_CONFIG_DIR").map(PathBuf::from) {
        let state = folder.join(".claude.json");
        return Some((folder, state));
    }
    let home = std::env::home_dir()?;
    Some((home.join(".claude"), home.join(".claude.json")))
}

/// Writes a file and removes it again, in the folder or, if it does not exist yet, in the nearest existing one above it.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    let mut name = OsString::from(".duologue-doctor-");
    name.push(std::process::id().to_string());
    let path = there.join(name);
    OpenOptions::new().write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)
}

/// A missing file is not an error; one that is not JSON is.
fn try_to_read(path: &Path) -> anyhow::Result<()> {
    match fs::read(path) {
        Ok(bytes) if bytes.is_empty() => Ok(()),
        Ok(bytes) => {
            serde_json::from_slice::<serde_json::Value>(&bytes)?;
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}
