//! Sessions of Claude Code behind a network.
//!
//! [`log`] keeps everything that happens in a session, in order and durably. [`state`] folds it into the state of prompts, asks and the
//! session. [`hub`] runs the agents and writes the log. [`api`] lets clients take part over HTTP.

pub mod api;
pub mod hub;
pub mod id;
pub mod log;
pub mod state;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
