//! Sessions: over pipes in this process, and with the fake agent as a process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod suite;
