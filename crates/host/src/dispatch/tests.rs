//! The dispatcher over a pipe, with a test at the other end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod limits;
mod reading;
mod requests;
mod support;
