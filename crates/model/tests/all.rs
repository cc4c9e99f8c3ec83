//! Tests of scenarios, of the script that plays them, and of the server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod suite;
