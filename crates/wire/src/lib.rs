//! Every line of Claude Code's `stream-json` protocol as typed Rust, in both directions.
//!
//! The protocol is one JSON object per line. The agent writes lines [to the host](ToHost) on its stdout and reads lines
//! [to the agent](ToAgent) from its stdin. This crate reads and writes those lines. It is pure: no runtime, no clock, no
//! files and no environment.
//!
//! ```
//! use duologue_wire::{Decoded, Frame, LineDecoder, ToHost};
//!
//! let mut decoder = LineDecoder::new();
//! let mut chunk: &[u8] = b"{\"type\":\"system\",\"subtype\":\"status\",\"status\":\"compacting\"}\n";
//! while let Some(frame) = decoder.next(&mut chunk) {
//!     let Frame::Line(line) = frame else { continue };
//!     match line.to_host() {
//!         Decoded::Known(ToHost::System(system)) => println!("system: {}", system.tag()),
//!         Decoded::Known(message) => println!("{}", message.tag()),
//!         Decoded::Unknown(message) => println!("unknown type: {}", message.tag()),
//!         Decoded::Malformed(fault) => println!("malformed: {fault}"),
//!     }
//! }
//! ```
//!
//! # Guarantees
//!
//! - Reading a [`Line`] never fails. A line is known, unknown or malformed, and its exact bytes are kept.
//! - Only tags are required. Every other field is a [`Field`]: absent, null or a value.
//! - Nothing is dropped. Unknown fields are kept in `extra`, objects of unknown type are kept whole, unknown words keep
//!   their text. Writing a message again gives the same JSON value.
//! - Strings are slices of their line: a [`Text`] is cheap to clone and can be sent to another thread. A `Text` keeps its
//!   whole line in memory; [`Text::detach`] copies it out.
//!
//! # Modules
//!
//! | | |
//! |---|---|
//! | [`lines`] | the messages of the conversation: prompts, answers, results |
//! | [`system`] | system lines: the state of the agent, its tasks, notices |
//! | [`control`] | control requests in both directions, and their responses |
//! | [`content`], [`message`] | the parts of messages: content blocks, usage, models |
//! | [`permission`], [`hook`], [`tool`] | permission decisions, hook input and output, tool input and output |
//! | [`legacy`] | legacy forms of the protocol |
//! | [`schema`] | all lines as JSON Schema |

pub mod content;
pub mod control;
pub mod hook;
pub mod legacy;
pub mod lines;
pub mod message;
pub mod permission;
pub mod schema;
pub mod system;
pub mod tool;

// Not public API: `duologue-protocol` and the macros below use these paths.
#[doc(hidden)]
pub mod frame;
#[doc(hidden)]
pub mod id;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod line;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod to_agent;
#[doc(hidden)]
pub mod to_host;
#[doc(hidden)]
pub mod wire;

pub use frame::{DEFAULT_MAX_LINE, Found, Frame, LineDecoder, TooLong};
pub use id::{AgentId, CallbackId, MessageId, RequestId, SessionId, TaskId, ToolUseId, Uuid};
#[doc(hidden)]
pub use json::Block;
pub use json::{Fault, FaultKind, Number, RawJson, RawObject};
pub use line::{Decoded, Direction, Head, Line, Position};
pub use text::Text;
pub use to_agent::ToAgent;
pub use to_host::ToHost;
pub use wire::{Extra, Field, Finding, Map, Survey, UnknownObject, Wire};

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
