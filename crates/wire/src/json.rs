//! A strict JSON parser and writer. Strings are slices of one shared line.
//!
//! Why not a library: see DEPENDENCIES.md. In short, the texts of an event are slices of its line,
//! a lone surrogate must survive, a fault must name its field, and all that at more than twice the
//! speed of `serde_json::Value`. The price is this folder, which is fuzzed against `serde_json`.

mod block;
mod fault;
mod number;
mod object;
mod parser;
mod raw;
mod scan;
mod writer;

pub use block::Block;
pub use fault::{Fault, FaultKind};
pub use number::Number;
pub use object::{FieldKey, Key};
pub(crate) use parser::Kind;
pub use parser::Parser;
pub use raw::{RawJson, RawObject};
pub use writer::Writer;
