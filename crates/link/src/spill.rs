//! [`Spill`]: lines that found no room in memory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use duologue_protocol::{Direction, Line};

use crate::inbox::Item;

/// How much is written and read back at once.
pub(crate) const READ_BACK: usize = 1024 * 1024;

/// A queue of lines in a temporary file, which has no name, can be read by its owner only, and goes
/// with its last handle. The file is made when it is needed.
///
/// ```
/// use duologue_link::{Item, Spill};
/// use duologue_protocol::{Direction, Line};
///
/// let mut spill = Spill::default();
/// spill.push(&Item::new(Direction::ToHost, Line::from("{}")))?;
/// assert_eq!(spill.pop()?.unwrap().line.raw(), b"{}");
/// assert!(spill.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Spill {
    file: Option<File>,
    dir: Option<PathBuf>,
    /// Where the first unread entry begins, and where the last one ends.
    read_at: u64,
    end: u64,
    /// Entries on their way to the file.
    unwritten: Vec<u8>,
    /// Entries on their way back, the first of which begins at `unread_at`.
    unread: Vec<u8>,
    unread_at: usize,
}

impl Spill {
    /// One whose file is in this directory; in that of the system if there is none.
    pub fn in_dir(dir: Option<PathBuf>) -> Self {
        Self { dir, ..Self::default() }
    }

    /// How many bytes are in memory, on their way to the file or back.
    pub fn in_memory(&self) -> usize {
        self.unwritten.len() + self.unread.len().saturating_sub(self.unread_at)
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.read_at == self.end && self.unwritten.is_empty() && self.unread_at == self.unread.len()
    }

    /// Puts a line at the end.
    ///
    /// # Errors
    /// If the file cannot be made or written. The line is kept in memory then, and comes out in its
    /// place; a later call tries to write it again.
    pub fn push(&mut self, item: &Item) -> io::Result<()> {
        let raw = item.line.raw();
        let length = u32::try_from(raw.len()).map_err(io::Error::other)?;
        let direction = u8::from(item.direction == Direction::ToAgent);
        let flags = direction | u8::from(!item.line.has_newline()) << 1;
        self.unwritten.push(flags);
        self.unwritten.extend(length.to_le_bytes());
        self.unwritten.extend(raw);
        if self.unwritten.len() < READ_BACK {
            return Ok(());
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let file = match (&mut self.file, &self.dir) {
            (Some(file), _) => file,
            (None, Some(dir)) => self.file.insert(tempfile::tempfile_in(dir)?),
            (None, None) => self.file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(&self.unwritten)?;
        self.end += self.unwritten.len() as u64;
        self.unwritten.clear();
        Ok(())
    }

    /// Takes the oldest line out.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn pop(&mut self) -> io::Result<Option<Item>> {
        loop {
            if let Some((item, length)) =
                first(self.unread.get(self.unread_at..).unwrap_or_default())
            {
                self.unread_at += length;
                return Ok(Some(item));
            }
            self.unread.drain(..self.unread_at);
            self.unread_at = 0;
            if self.read_at < self.end {
                self.read_back()?;
            } else if !self.unwritten.is_empty() {
                // Never written: no reason to go through the file.
                self.unread.append(&mut self.unwritten);
                self.start_anew();
            } else {
                return Ok(None);
            }
        }
    }

    fn read_back(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        // An entry may be longer than one reading: each time at least as much as there is already.
        let wanted = (READ_BACK.max(self.unread.len()) as u64).min(self.end - self.read_at);
        file.seek(SeekFrom::Start(self.read_at))?;
        io::Read::by_ref(file).take(wanted).read_to_end(&mut self.unread)?;
        self.read_at += wanted;
        if self.read_at == self.end {
            self.start_anew();
        }
        Ok(())
    }

    /// Everything was read back: the file can be used from its beginning.
    fn start_anew(&mut self) {
        self.read_at = 0;
        self.end = 0;
        if let Some(file) = &self.file {
            // If it cannot be cut, it is only larger than it need be.
            let _ = file.set_len(0);
        }
    }
}

/// The first whole entry, and how long it is.
fn first(bytes: &[u8]) -> Option<(Item, usize)> {
    let (flags, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let raw = rest.get(..length)?;
    let direction = if flags & 1 == 0 { Direction::ToHost } else { Direction::ToAgent };
    let mut line = Line::from(raw.to_vec());
    if flags & 2 != 0 {
        line = line.without_newline();
    }
    Some((Item { direction, line }, 5 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: usize, length: usize) -> Item {
        let line = Line::from(format!("{number}:{}", "x".repeat(length)));
        Item { direction: Direction::ToHost, line }
    }

    #[test]
    fn what_goes_in_comes_out_in_order() -> io::Result<()> {
        let mut spill = Spill::default();
        let mut next = 0;
        for round in 0..50 {
            for number in 0..100 {
                spill.push(&item(round * 100 + number, number * 371 % 50_000))?;
            }
            for _ in 0..(round * 7 % 130) {
                let Some(found) = spill.pop()? else { break };
                assert_eq!(found.line, item(next, next % 100 * 371 % 50_000).line);
                next += 1;
            }
        }
        while let Some(found) = spill.pop()? {
            assert_eq!(found.line, item(next, next % 100 * 371 % 50_000).line);
            next += 1;
        }
        assert_eq!(next, 5_000);
        assert!(spill.is_empty());
        Ok(())
    }

    #[test]
    fn long_entries_and_odd_bytes_survive() -> io::Result<()> {
        let mut spill = Spill::default();
        let long = Line::from("y".repeat(5 * READ_BACK));
        let odd = Line::from(vec![0xff, 0, 0x80]).without_newline();
        for line in [&long, &odd] {
            spill.push(&Item { direction: Direction::ToAgent, line: line.clone() })?;
        }
        let first = spill.pop()?.map(|item| item.line);
        assert_eq!(first.as_ref(), Some(&long));
        let second = spill.pop()?.map(|item| (item.direction, item.line.has_newline(), item.line));
        assert_eq!(second, Some((Direction::ToAgent, false, odd)));
        Ok(())
    }
}
