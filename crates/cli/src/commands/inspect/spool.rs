//! [`Spool`]: text for the end of a page, in memory if it is short.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write};

use tempfile::SpooledTempFile;

/// The most bytes in memory.
const IN_MEMORY: usize = 16 * 1024 * 1024;

/// The most bytes in total: no browser shows more.
const MOST: u64 = 256 * 1024 * 1024;

/// Pieces of text. What does not fit into memory is in a temporary file.
pub(super) struct Spool {
    file: SpooledTempFile,
    length: u64,
    left_out: u64,
}

impl Spool {
    pub(super) fn new() -> Self {
        Self { file: SpooledTempFile::new(IN_MEMORY), length: 0, left_out: 0 }
    }

    /// Adds a piece, after a separator if it is not the first. Omits it, and everything after it, if there is no room.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(super) fn push(&mut self, separator: &str, piece: &str) -> io::Result<()> {
        let length = (separator.len() + piece.len()) as u64;
        if self.left_out > 0 || self.length + length > MOST {
            self.left_out += 1;
            return Ok(());
        }
        if self.length > 0 {
            self.file.write_all(separator.as_bytes())?;
        }
        self.length += length;
        self.file.write_all(piece.as_bytes())
    }

    /// How many pieces were omitted.
    pub(super) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes all of it, and then this text.
    ///
    /// # Errors
    /// If the temporary file cannot be read, or the output cannot be written.
    pub(super) fn write_to(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let count = self.file.read(&mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            out.write_all(chunk.get(..count).unwrap_or_default())?;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut spool = Spool::new();
        let piece = "x".repeat(20 * 1024 * 1024);
        for _ in 0..15 {
            spool.push(",", &piece).unwrap();
        }
        spool.push(",", "short").unwrap();
        assert_eq!(spool.left_out(), 4);
        let mut written = Vec::new();
        spool.write_to(&mut written).unwrap();
        assert_eq!(written.len(), 12 * piece.len() + 11);
    }
}
