//! Where lines come from: files and stdin, with a progress bar on a terminal.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use anyhow::Context as _;
use indicatif::ProgressBar;

use crate::print;
use crate::visible::{line, ours};

/// Files smaller than this are read before a bar could be seen.
const WORTH_A_BAR: u64 = 8 * 1024 * 1024;

/// An open input and its progress.
pub(crate) struct Input {
    source: Box<dyn Read>,
    bar: ProgressBar,
}

impl Input {
    /// Opens a file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            if io::stdin().is_terminal() {
                print::err(&ours(
                    "Reading from the terminal: paste lines and press Ctrl-D, or press Ctrl-C and name a file.",
                ));
            }
            return Ok(Self { source: Box::new(io::stdin()), bar: ProgressBar::hidden() });
        }
        let context = || format!("could not open {}", path.display());
        let file = File::open(path).with_context(context)?;
        let metadata = file.metadata().with_context(context)?;
        anyhow::ensure!(
            !metadata.is_dir(),
            "{} is a directory; name the files in it",
            path.display()
        );
        let bar = if metadata.len() < WORTH_A_BAR {
            ProgressBar::hidden()
        } else {
            let name = Path::new(path.file_name().unwrap_or(path.as_os_str()));
            print::reading_bar(metadata.len(), &line(name))?
        };
        Ok(Self { source: Box::new(file), bar })
    }
}

impl Input {
    /// The same without a progress bar, for what is read beside something else.
    pub(crate) fn quiet(mut self) -> Self {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
        self
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bar.inc(count as u64);
        Ok(count)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
