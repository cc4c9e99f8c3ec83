//! [`Follow`]: a file that grows.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

/// How often the end of the file is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// Reads a file and, at its end, waits for more. It never ends by itself.
pub(super) struct Follow(File);

impl Follow {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        File::open(path).map(Self).with_context(|| format!("could not open {}", path.display()))
    }
}

impl Read for Follow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer)? {
                0 => thread::sleep(PAUSE),
                count => return Ok(count),
            }
        }
    }
}
