//! Processes, with shell scripts as agents.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod dropping;
mod ending;
mod guarding;
mod starting;
mod stderr;
mod support;
