//! Errors of reading a tape.

use std::io;

/// A tape that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read.
    #[error("could not read")]
    Io(#[from] io::Error),
    /// The tape was written by a newer version.
    #[error(
        "the tape has format version {found}, this version reads up to {newest}; update duologue"
    )]
    TooNew {
        /// The version of the tape.
        found: u64,
        /// The newest version that can be read.
        newest: u64,
    },
    /// A line of the tape is not an entry.
    #[error("line {line} of the tape is not an entry: {reason}")]
    BadEntry {
        /// Its number in the file.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// The last line of a tape, if it was cut off while it was written. Its content is lost; everything before it is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// Its number in the file.
    pub line: u64,
    /// How many bytes were left of it.
    pub length: usize,
}
