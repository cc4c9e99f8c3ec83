//! What the tests of this project share. Not published.

mod recordings;

pub use recordings::{Entry, Recording, recordings, root};
