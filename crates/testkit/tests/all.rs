//! What must hold in this repository, and the tools of the tests themselves.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod suite;
