//! Hooks: what a callback is told, and what it may answer.

mod event;
mod input;
mod input_rest;
mod output;

pub use event::HookEvent;
pub use input::*;
pub use input_rest::*;
pub use output::*;
