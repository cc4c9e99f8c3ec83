//! [`Follow`]: reads a file that grows, is truncated or replaced, or does not exist yet.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use duologue_terminal::{line, print, shown};

/// How often the end of the file is checked.
const PAUSE: Duration = Duration::from_millis(100);

/// How many bytes are compared with the file, at its beginning and its end. A file that was truncated and rewritten may be
/// longer than before; it is recognised by its content.
const COMPARED: usize = 1024;

/// Reads a file and, at its end, waits for more. Reading ends only if the file was truncated, overwritten or replaced. Then
/// [`reopen`](Self::reopen) continues at its start.
pub(super) struct Follow {
    path: PathBuf,
    file: File,
    /// A pipe or a device is only read.
    is_file: bool,
    /// How many bytes were read.
    offset: u64,
    /// The first bytes that were read.
    head: Vec<u8>,
    /// The last bytes that were read.
    tail: Vec<u8>,
    /// The file was replaced; the old one is read to its end.
    replaced: bool,
}

impl Follow {
    /// Opens the file. Waits until it exists.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("could not open {}", path.display());
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                print::err(&shown!("{} does not exist yet: waiting for it", line(path)));
                await_file(path)
            }
            opened => opened,
        };
        let file = file.with_context(context)?;
        let metadata = file.metadata().with_context(context)?;
        anyhow::ensure!(!metadata.is_dir(), "{} is a directory; name a file", path.display());
        Ok(Self {
            path: path.to_owned(),
            file,
            is_file: metadata.is_file(),
            offset: 0,
            head: Vec::new(),
            tail: Vec::new(),
            replaced: false,
        })
    }

    /// Opens the current file of that name, and reads it from its start.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn reopen(self) -> anyhow::Result<Self> {
        Self::open(&self.path)
    }

    /// Reads more. `None` if the file was truncated or overwritten.
    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let count = self.file.read(buffer)?;
        // Check after reading: the new bytes belong to the old ones only if those are still there.
        if !self.is_same()? {
            return Ok(None);
        }
        let read = buffer.get(..count).unwrap_or_default();
        self.offset += count as u64;
        let room = COMPARED.saturating_sub(self.head.len());
        self.head.extend(read.iter().take(room));
        let keep = COMPARED.saturating_sub(read.len()).min(self.tail.len());
        self.tail.drain(..self.tail.len() - keep);
        self.tail.extend(read.iter().skip(read.len().saturating_sub(COMPARED)));
        Ok(Some(count))
    }

    /// Whether the file still has the bytes that were read, as far as they are kept.
    fn is_same(&mut self) -> io::Result<bool> {
        if self.file.metadata()?.len() < self.offset {
            return Ok(false);
        }
        let tail = self.offset - self.tail.len() as u64;
        for (start, expected) in [(0, &self.head), (tail, &self.tail)] {
            self.file.seek(SeekFrom::Start(start))?;
            let mut there = Vec::with_capacity(expected.len());
            (&self.file).take(expected.len() as u64).read_to_end(&mut there)?;
            if there != *expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the file was replaced.
    fn has_successor(&self) -> bool {
        let named = fs::metadata(&self.path);
        match (named, self.file.metadata()) {
            (Ok(named), Ok(open)) => !is_same_file(&named, &open),
            // It was removed: another one may follow.
            _ => false,
        }
    }
}

impl Read for Follow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_file {
                match self.file.read(buffer)? {
                    0 => thread::sleep(PAUSE),
                    count => return Ok(count),
                }
                continue;
            }
            match self.read_on(buffer)? {
                None => return Ok(0),
                Some(0) if self.replaced => return Ok(0),
                // Read the rest of the old file first.
                Some(0) if self.has_successor() => self.replaced = true,
                Some(0) => thread::sleep(PAUSE),
                Some(count) => return Ok(count),
            }
        }
    }
}

fn await_file(path: &Path) -> io::Result<File> {
    loop {
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
}

fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    /// Everything up to the next replacement.
    fn rest(follow: &mut Follow) -> String {
        let mut text = Vec::new();
        follow.read_to_end(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn some(follow: &mut Follow) -> String {
        let mut buffer = [0; 64];
        let count = follow.read(&mut buffer).unwrap();
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    }

    #[test]
    fn a_file_that_begins_anew_is_read_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk");
        // Shorter, as long, and longer than before; the last begins as it did.
        for anew in ["x\n", "three\nfour\n", "three\nfour\nfive\n", "one\nzwei\ndrei\n"] {
            fs::write(&path, "one\ntwo\n++\n").unwrap();
            let mut follow = Follow::open(&path).unwrap();
            assert_eq!(some(&mut follow), "one\ntwo\n++\n");
            // In place, between two looks.
            fs::write(&path, anew).unwrap();
            assert_eq!(rest(&mut follow), "");
            let mut follow = follow.reopen().unwrap();
            assert_eq!(some(&mut follow), anew);
        }
    }

    #[test]
    fn what_was_written_before_a_rename_is_read_first() {
        let folder = tempfile::tempdir().unwrap();
        let [path, old, new] = ["talk", "talk.1", "new"].map(|name| folder.path().join(name));
        fs::write(&path, "one\n").unwrap();
        let mut follow = Follow::open(&path).unwrap();
        assert_eq!(some(&mut follow), "one\n");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        fs::rename(&path, &old).unwrap();
        file.write_all(b"two\n").unwrap();
        fs::write(&new, "three\n").unwrap();
        fs::rename(&new, &path).unwrap();
        assert_eq!(rest(&mut follow), "two\n");
        let mut follow = follow.reopen().unwrap();
        assert_eq!(some(&mut follow), "three\n");
    }

    #[test]
    fn what_is_appended_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk");
        fs::write(&path, "").unwrap();
        let mut follow = Follow::open(&path).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        for number in 0..200 {
            let line = format!("{number} {}\n", "x".repeat(40));
            file.write_all(line.as_bytes()).unwrap();
            assert_eq!(some(&mut follow), line);
        }
    }
}
