//! Hooks: the input and the output of a callback.

mod events;
mod output;

pub use events::*;
pub use output::*;
