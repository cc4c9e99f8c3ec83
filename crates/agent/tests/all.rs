//! Agents, driven over pipes in this process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod suite;
