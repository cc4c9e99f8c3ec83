//! Files and stdin as input, with a progress bar on a terminal.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use anyhow::Context as _;
use duologue_terminal::print::{self, ReadingBar};
use duologue_terminal::{line, ours};

use crate::stored;

/// Smaller files are read before a progress bar could be seen.
const MIN_SIZE_FOR_BAR: u64 = 8 * 1024 * 1024;

/// An open file or stdin.
pub(crate) struct Input {
    source: Box<dyn Read>,
    bar: Option<ReadingBar>,
}

impl Input {
    /// Opens a file, or stdin for `-`. The id of a stored session is its tape.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            if io::stdin().is_terminal() {
                print::err(&ours(
                    "Reading from the terminal: paste lines and press Ctrl-D, or press Ctrl-C and name a file.",
                ));
            }
            return Ok(Self { source: Box::new(io::stdin()), bar: None });
        }
        if let Some(session) = stored::named(path) {
            return Ok(Self { source: Box::new(stored::tape(&session)?), bar: None });
        }
        let context = || format!("could not open {}", path.display());
        let file = File::open(path).with_context(context)?;
        let metadata = file.metadata().with_context(context)?;
        anyhow::ensure!(
            !metadata.is_dir(),
            "{} is a directory; name the files in it",
            path.display()
        );
        let bar = (metadata.len() >= MIN_SIZE_FOR_BAR).then(|| {
            let name = Path::new(path.file_name().unwrap_or(path.as_os_str()));
            ReadingBar::start(metadata.len(), line(name))
        });
        Ok(Self { source: Box::new(file), bar })
    }
}

impl Input {
    /// Hides the progress bar.
    pub(crate) fn quiet(mut self) -> Self {
        self.bar = None;
        self
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        if let Some(bar) = &self.bar {
            bar.add(count as u64);
        }
        Ok(count)
    }
}
