//! A transcript: one entry on each line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use duologue_wire::RawJson;

use crate::error::{Error, Result};
use crate::head_tail::open_regular;
use crate::json;

/// One line of a transcript, exactly as it is in the file.
///
/// Claude Code writes dozens of kinds of entries, and new versions add more. An entry is kept as its bytes, so that kinds
/// that are not known here survive every operation.
///
/// ```
/// use duologue_sessions::Entry;
///
/// let entry = Entry::new(br#"{"type":"tag","tag":"release","sessionId":"1"}"#.to_vec());
/// assert_eq!(entry.kind().as_deref(), Some("tag"));
/// assert_eq!(entry.text("tag").as_deref(), Some("release"));
/// assert_eq!(entry.uuid(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    bytes: Vec<u8>,
    offset: u64,
}

impl Entry {
    /// An entry with these bytes: a line without its newline.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The line without its newline.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the line begins in its file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The line as JSON. `None` if it is not JSON: the line is damaged.
    pub fn json(&self) -> Option<RawJson> {
        RawJson::parse(&String::from_utf8_lossy(&self.bytes)).ok()
    }

    /// The `type` of the entry.
    pub fn kind(&self) -> Option<String> {
        self.text("type")
    }

    /// The UUID of the entry. Entries of the conversation have one, most others do not.
    pub fn uuid(&self) -> Option<String> {
        self.text("uuid")
    }

    /// A field that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        let line = String::from_utf8_lossy(&self.bytes);
        let [value] = json::fields(&line, &[name])?;
        value.and_then(json::string).map(Cow::into_owned)
    }
}

/// Reads a transcript entry by entry. Empty lines are left out.
///
/// Only one line is in memory at a time.
#[derive(Debug)]
pub struct Entries<R = File> {
    reader: BufReader<R>,
    offset: u64,
}

impl Entries {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self::new(open_regular(path).map_err(Error::io(path))?))
    }
}

impl<R: Read> Entries<R> {
    /// Reads the entries of any source.
    pub fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(128 * 1024, reader), offset: 0 }
    }

    /// Reads the next line into `line` and returns where it begins. Empty lines are left out.
    pub(crate) fn read_into(&mut self, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
        loop {
            line.clear();
            let start = self.offset;
            let length = self.reader.read_until(b'\n', line)?;
            self.offset += length as u64;
            if length == 0 {
                return Ok(None);
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if line.iter().any(|byte| *byte > b' ') {
                return Ok(Some(start));
            }
        }
    }
}

impl<R: Read> Iterator for Entries<R> {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        match self.read_into(&mut bytes) {
            Ok(Some(offset)) => Some(Ok(Entry { bytes, offset })),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Reads one line again.
pub(crate) fn read_at(
    file: &mut File,
    offset: u64,
    length: u32,
    line: &mut Vec<u8>,
) -> io::Result<()> {
    line.clear();
    file.seek(SeekFrom::Start(offset))?;
    file.take(u64::from(length)).read_to_end(line)?;
    if line.len() == length as usize { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
