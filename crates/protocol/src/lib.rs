//! The state machines of Claude Code's `stream-json` protocol, and its types.
//!
//! The protocol is one JSON object per line. The agent writes lines [to the host](ToHost) on its stdout and reads lines
//! [to the agent](ToAgent) from its stdin. The types of those lines come from `duologue-wire` and are re-exported here. This
//! crate adds the rules: which messages may follow which, and what they add up to. It is pure: no runtime, no clock, no
//! files and no environment.
//!
//! ```
//! use duologue_protocol::{Decoded, Frame, LineDecoder, ToHost};
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
//! # Modules
//!
//! | | |
//! |---|---|
//! | [`launch`] | launch options as data |
//! | [`host_link`], [`agent_link`] | the two ends of the connection, as machines without I/O |
//! | [`transcript`] | lines folded into events |
//! | [`rules`] | the rules of a conversation: a checker for whole tapes |
//! | [`visible`] | text from outside, escaped for a terminal |
//! | [`lines`], [`system`], [`control`], [`content`], [`message`], [`permission`], [`hook`], [`tool`], [`legacy`] | the types of lines, from `duologue-wire` |
//! | [`schema`] | lines and events as JSON Schema |

pub mod agent_link;
pub mod host_link;
pub mod launch;
pub mod legacy;
pub mod rules;
pub mod schema;
pub mod transcript;
pub mod visible;

mod budget;
mod ledger;

pub use duologue_wire::{
    AgentId, CallbackId, DEFAULT_MAX_LINE, Decoded, Direction, Extra, Fault, FaultKind, Field,
    Finding, Found, Frame, Head, Line, LineDecoder, Map, MessageId, Number, Position, RawJson,
    RawObject, RequestId, SessionId, Survey, TaskId, Text, ToAgent, ToHost, TooLong, ToolUseId,
    UnknownObject, Uuid, Wire,
};
pub use duologue_wire::{content, control, hook, lines, message, permission, system, tool};

// The paths that this crate's own modules use.
use duologue_wire::{frame, id, json, line, text, to_agent, to_host, wire};

#[doc(hidden)]
pub use duologue_wire::Block;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
