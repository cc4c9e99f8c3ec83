//! The embedded agent, driven over pipes in this process; its tools and permissions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod suite;
