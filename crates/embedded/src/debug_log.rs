//! Debug messages: `--debug`, `--debug-to-stderr`, `--debug-file`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::Mutex;

use duologue_agent::clock;
use duologue_agent::stdio::complain;

use crate::setup::Debug;
use crate::shared::lock;

/// Where debug messages go. A message that cannot be written is dropped.
#[derive(Debug, Default)]
pub(crate) struct DebugLog {
    to_stderr: bool,
    file: Option<Mutex<File>>,
}

impl DebugLog {
    pub(crate) fn new(debug: &Debug) -> Self {
        match debug {
            Debug::Off => Self::default(),
            Debug::Stderr => Self { to_stderr: true, file: None },
            Debug::File(path) => {
                if let Some(folder) = path.parent() {
                    let _ = std::fs::create_dir_all(folder);
                }
                let file = OpenOptions::new().append(true).create(true).open(path);
                Self { to_stderr: false, file: file.ok().map(Mutex::new) }
            }
        }
    }

    /// Writes a message, if anything reads it.
    pub(crate) fn write(&self, message: impl FnOnce() -> String) {
        if !self.to_stderr && self.file.is_none() {
            return;
        }
        let line = format!("{} [DEBUG] {}", clock::timestamp().as_str(), message());
        if self.to_stderr {
            complain(&line);
        }
        if let Some(file) = &self.file {
            let _ = writeln!(lock(file), "{line}");
        }
    }
}
