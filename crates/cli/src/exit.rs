//! The exit codes, all of them.

/// Everything is as it should be.
pub(crate) const OK: u8 = 0;

/// `check`: something is not understood.
pub(crate) const NOT_UNDERSTOOD: u8 = 1;

/// `diff`: the two are not the same.
pub(crate) const DIFFERENT: u8 = 1;

/// `replay`: the other end does something else than on the tape.
pub(crate) const MISMATCH: u8 = 3;

/// The command line is wrong, or a file could not be read.
pub(crate) const UNREADABLE: u8 = 2;
