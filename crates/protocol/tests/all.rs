//! One binary for all integration tests of this crate.

mod suite;
