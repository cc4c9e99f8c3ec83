//! What every line of Claude Code's `stream-json` wire means, in both directions.
//!
//! The wire is one JSON object per line: an agent's stdout goes [to the host](ToHost), its stdin
//! [to the agent](ToAgent). This crate reads and writes those lines. It is pure: it knows no
//! runtime, no clock, no file and no environment.
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
//!         Decoded::Unknown(message) => println!("new to us: {}", message.tag()),
//!         Decoded::Malformed(fault) => println!("malformed: {fault}"),
//!     }
//! }
//! ```
//!
//! # What holds
//!
//! - A [`Line`] never fails. It is known, unknown or malformed, and its exact bytes are kept.
//! - Only tags are required. Every other field is a [`Field`]: absent, null or a value.
//! - Nothing is dropped. Unknown fields stay in `extra`, unknown kinds stay whole, unknown words
//!   keep their text; a message that is written again says the same.
//! - Texts are slices of their line: [`Text`] is cheap to clone and may cross threads.
//!
//! # Where things are
//!
//! | | |
//! |---|---|
//! | [`lines`] | the messages of the conversation: prompts, answers, results |
//! | [`system`] | what the agent says about itself |
//! | [`control`] | the requests that either side makes of the other, and their answers |
//! | [`content`], [`message`] | what messages are made of |
//! | [`permission`], [`hook`], [`tool`] | what is asked, told and called |
//! | [`legacy`] | forms that only the oldest descriptions have |
//! | [`launch`] | how an agent is started: options as data |
//! | [`transcript`] | what happened, each thing once: lines folded into events |
//! | [`host_link`], [`agent_link`] | the two ends of the wire, as machines without I/O |
//! | [`rules`] | which moves are legal: a checker for whole conversations |
//! | [`schema`] | all of it as JSON Schema |
//! | [`visible`] | text from outside, escaped for a terminal |

pub mod agent_link;
pub mod content;
pub mod control;
pub mod hook;
pub mod host_link;
pub mod launch;
pub mod legacy;
pub mod lines;
pub mod message;
pub mod permission;
pub mod rules;
pub mod schema;
pub mod system;
pub mod tool;
pub mod transcript;
pub mod visible;

mod budget;
mod frame;
mod id;
mod json;
mod ledger;
mod line;
mod text;
mod to_agent;
mod to_host;
mod wire;

pub use frame::{DEFAULT_MAX_LINE, Found, Frame, LineDecoder, TooLong};
pub use id::{AgentId, CallbackId, MessageId, RequestId, SessionId, TaskId, ToolUseId, Uuid};
#[doc(hidden)]
pub use json::Block;
pub use json::{Fault, FaultKind, Number, Parser, RawJson, RawObject, Writer};
pub use line::{Decoded, Direction, Head, Line, Position};
pub use text::Text;
pub use to_agent::{
    BashCommand, QueuedNotification, QueuedNotificationBody, SessionNotice, ToAgent,
    UpdateEnvironmentVariables, WorkflowLaunch,
};
pub use to_host::ToHost;
pub use wire::{Extra, Field, Finding, Map, Schemas, Survey, UnknownObject, Wire};

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
