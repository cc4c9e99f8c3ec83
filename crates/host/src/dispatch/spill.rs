//! [`Spill`]: the part of a queue that does not fit into memory.
//!
//! Entries are collected in memory until a segment is full. A blocking task writes full segments to a
//! temporary file, so that no lock is held and no runtime worker waits while the disk works.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::Notify;

/// How many bytes are written and read at once.
pub(crate) const SEGMENT: usize = 1024 * 1024;

/// A queue of entries in a temporary file. The file has no name, can be read by its owner only, and
/// goes with its last handle. It is created when the first segment is full.
#[derive(Clone, Debug)]
pub(crate) struct Spill {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    dir: Option<PathBuf>,
    runtime: Handle,
    /// Notified when a write has ended.
    written: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    segments: VecDeque<(u64, Segment)>,
    /// Entries that are not in a segment yet.
    tail: Vec<u8>,
    next_id: u64,
    /// The bytes of all segments that are not in the file.
    unwritten: usize,
    file: Option<Arc<File>>,
    /// Where the file ends.
    end: u64,
    writing: bool,
    /// Why the last write failed, if it did.
    failed: Option<Arc<io::Error>>,
}

/// Some entries, each whole.
#[derive(Clone, Debug)]
pub(crate) enum Segment {
    /// In memory.
    Memory(Arc<Vec<u8>>),
    /// In a file.
    File(FileSegment),
}

/// A part of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileSegment {
    file: Arc<File>,
    at: u64,
    length: usize,
}

impl FileSegment {
    /// Reads the entries. Blocks.
    pub(crate) fn read(self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.length];
        self.file.read_exact_at(&mut bytes, self.at)?;
        Ok(bytes)
    }
}

/// How writing goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// The bytes in memory.
    pub(crate) unwritten: usize,
    /// A segment is being written.
    pub(crate) writing: bool,
    /// Why the last write failed, if it did.
    pub(crate) failed: Option<Arc<io::Error>>,
}

impl Spill {
    /// Creates an empty one. Its file will be in `dir`, or where the system keeps temporary files.
    pub(crate) fn new(dir: Option<PathBuf>, runtime: Handle, written: Arc<Notify>) -> Self {
        let state = Mutex::new(State::default());
        Self { shared: Arc::new(Shared { state, dir, runtime, written }) }
    }

    /// Appends an entry: its kind and its bytes.
    ///
    /// # Errors
    /// If the entry is longer than 4 GiB.
    pub(crate) fn push(&self, kind: u8, entry: &[u8]) -> io::Result<()> {
        let length = u32::try_from(entry.len()).map_err(io::Error::other)?;
        let mut state = self.shared.lock();
        state.tail.push(kind);
        state.tail.extend(length.to_le_bytes());
        state.tail.extend(entry);
        state.unwritten += ENTRY_HEAD + entry.len();
        if state.tail.len() < SEGMENT {
            return Ok(());
        }
        state.seal();
        let starts = !std::mem::replace(&mut state.writing, true);
        drop(state);
        if starts {
            let shared = Arc::clone(&self.shared);
            self.shared.runtime.spawn_blocking(move || shared.write_all());
        }
        Ok(())
    }

    /// Appends segments of another one.
    pub(crate) fn append(&self, segments: Vec<Segment>) {
        let mut state = self.shared.lock();
        state.seal();
        for segment in segments {
            if let Segment::Memory(bytes) = &segment {
                state.unwritten += bytes.len();
            }
            state.add(segment);
        }
    }

    /// All segments, which stay in the queue too.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let mut state = self.shared.lock();
        state.seal();
        state.segments.iter().map(|(_, segment)| segment.clone()).collect()
    }

    /// Takes the oldest segment out.
    pub(crate) fn pop(&self) -> Option<Segment> {
        let mut state = self.shared.lock();
        if state.segments.is_empty() {
            state.seal();
        }
        let (_, segment) = state.segments.pop_front()?;
        if let Segment::Memory(bytes) = &segment {
            state.unwritten -= bytes.len();
        }
        state.release_file();
        if state.unwritten <= SEGMENT {
            state.failed = None;
        }
        Some(segment)
    }

    /// How writing goes.
    pub(crate) fn progress(&self) -> Progress {
        let state = self.shared.lock();
        let State { unwritten, writing, .. } = *state;
        Progress { unwritten, writing, failed: state.failed.clone() }
    }
}

impl State {
    /// Makes a segment of what is in the tail.
    fn seal(&mut self) {
        if !self.tail.is_empty() {
            let bytes = Arc::new(std::mem::take(&mut self.tail));
            self.add(Segment::Memory(bytes));
        }
    }

    fn add(&mut self, segment: Segment) {
        self.segments.push_back((self.next_id, segment));
        self.next_id += 1;
    }

    /// Drops the file if nothing in it is needed. It goes when its last segment was read.
    fn release_file(&mut self) {
        if self.segments.is_empty() && !self.writing {
            (self.file, self.end) = (None, 0);
        }
    }

    fn first_unwritten(&self) -> Option<(u64, Arc<Vec<u8>>)> {
        self.segments.iter().find_map(|(id, segment)| match segment {
            Segment::Memory(bytes) => Some((*id, Arc::clone(bytes))),
            Segment::File(_) => None,
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes segments until all are written or a write fails. Blocks.
    fn write_all(&self) {
        loop {
            let mut state = self.lock();
            let Some((id, bytes)) = state.first_unwritten() else {
                state.writing = false;
                state.release_file();
                break;
            };
            let (file, at) = (state.file.clone(), state.end);
            drop(state);
            let written = file.map_or_else(|| self.create().map(Arc::new), Ok).and_then(|file| {
                file.write_all_at(&bytes, at)?;
                Ok(file)
            });
            let mut state = self.lock();
            match written {
                Ok(file) => {
                    state.failed = None;
                    state.file = Some(Arc::clone(&file));
                    state.end = at + bytes.len() as u64;
                    // It may have been taken out meanwhile.
                    let segment = state.segments.iter_mut().find(|(known, _)| *known == id);
                    if let Some((_, segment)) = segment {
                        *segment = Segment::File(FileSegment { file, at, length: bytes.len() });
                        state.unwritten -= bytes.len();
                    }
                }
                Err(error) => {
                    // Everything stays in memory. The next full segment tries again.
                    state.failed = Some(Arc::new(error));
                    state.writing = false;
                    break;
                }
            }
        }
        self.written.notify_one();
    }

    fn create(&self) -> io::Result<File> {
        match &self.dir {
            Some(dir) => tempfile::tempfile_in(dir),
            None => tempfile::tempfile(),
        }
    }
}

/// The kind and the length before each entry.
const ENTRY_HEAD: usize = 5;

/// The entries of a segment, one after the other.
#[derive(Debug)]
pub(crate) struct Entries {
    bytes: Arc<Vec<u8>>,
    at: usize,
}

impl Entries {
    pub(crate) const fn new(bytes: Arc<Vec<u8>>) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next entry: its kind and its bytes.
    pub(crate) fn next(&mut self) -> Option<(u8, &[u8])> {
        let rest = self.bytes.get(self.at..)?;
        let (kind, rest) = rest.split_first()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let entry = rest.get(..u32::from_le_bytes(*length) as usize)?;
        self.at += ENTRY_HEAD + entry.len();
        Some((*kind, entry))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    fn spill(dir: Option<PathBuf>) -> (Spill, Arc<Notify>) {
        let written = Arc::new(Notify::new());
        (Spill::new(dir, Handle::current(), Arc::clone(&written)), written)
    }

    fn entry(number: usize) -> Vec<u8> {
        format!("{number}:{}", "x".repeat(number % 100 * 371 % 50_000)).into_bytes()
    }

    fn read(segment: Segment) -> Vec<(u8, Vec<u8>)> {
        let bytes = match segment {
            Segment::Memory(bytes) => bytes,
            Segment::File(segment) => Arc::new(segment.read().unwrap()),
        };
        let mut entries = Entries::new(bytes);
        std::iter::from_fn(|| entries.next().map(|(kind, entry)| (kind, entry.to_vec()))).collect()
    }

    #[tokio::test]
    async fn entries_come_out_in_order() {
        let (spill, _) = spill(None);
        let mut found = Vec::new();
        for round in 0..50 {
            for number in 0..100 {
                spill.push((number % 7) as u8, &entry(round * 100 + number)).unwrap();
            }
            if round % 3 == 0 {
                found.extend(spill.pop().map(read).unwrap_or_default());
            }
            tokio::task::yield_now().await;
        }
        while let Some(segment) = spill.pop() {
            found.extend(read(segment));
        }
        let expected: Vec<(u8, Vec<u8>)> =
            (0..5_000).map(|number| ((number % 100 % 7) as u8, entry(number))).collect();
        assert!(found == expected, "{} entries", found.len());
        assert_eq!(spill.progress().unwritten, 0);
    }

    #[tokio::test]
    async fn full_segments_leave_memory() {
        let (spill, written) = spill(None);
        for _ in 0..8 {
            spill.push(1, &vec![b'y'; SEGMENT]).unwrap();
        }
        while spill.progress().unwritten > 0 {
            written.notified().await;
        }
        let mut count = 0;
        while let Some(segment) = spill.pop() {
            assert!(matches!(segment, Segment::File(_)));
            let entries = read(segment);
            assert!(entries == [(1, vec![b'y'; SEGMENT])]);
            count += 1;
        }
        assert_eq!(count, 8);
    }

    #[tokio::test]
    async fn a_failed_write_keeps_everything_in_memory_and_is_tried_again() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("missing");
        let (spill, written) = spill(Some(dir.clone()));
        spill.push(1, &vec![b'y'; SEGMENT]).unwrap();
        written.notified().await;
        let progress = spill.progress();
        assert!(progress.failed.is_some() && progress.unwritten > SEGMENT);
        std::fs::create_dir(&dir).unwrap();
        spill.push(2, &vec![b'z'; SEGMENT]).unwrap();
        while spill.progress().unwritten > 0 {
            written.notified().await;
        }
        assert!(spill.progress().failed.is_none());
        assert!(read(spill.pop().unwrap()) == [(1, vec![b'y'; SEGMENT])]);
        assert!(read(spill.pop().unwrap()) == [(2, vec![b'z'; SEGMENT])]);
    }
}
