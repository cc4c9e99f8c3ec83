//! Sessions of Claude Code behind a network.
//!
//! [`log`] keeps everything that happens in a session, in order and durably.

pub mod id;
pub mod log;
pub mod state;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
