#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
