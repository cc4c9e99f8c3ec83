//! What the tests of this project share. Not published.

#[cfg(unix)]
pub mod fake;
#[cfg(unix)]
pub mod leak;
mod reasons;
mod recordings;

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use reasons::{Named, Reason, Reasons};
pub use recordings::{Entry, Recording, recordings, root};
