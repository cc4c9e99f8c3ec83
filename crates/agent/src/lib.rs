//! Be the agent: serve the other end of the wire that hosts of Claude Code speak.
//!
//! Implement [`Agent`], and any host can drive it: the official SDKs, editors, and the `duologue` crate.
//!
//! ```no_run
//! use duologue_agent::{Agent, Turn, TurnResult};
//! use serde_json::json;
//!
//! struct Parrot;
//!
//! impl Agent for Parrot {
//!     async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
//!         turn.say(turn.text()).await?;
//!         let done = turn.use_tool("Bash", json!({ "command": "touch seen.txt" })).await?;
//!         turn.say(if done.is_error() { "not allowed" } else { "noted" }).await
//!     }
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> std::process::ExitCode {
//!     duologue_agent::serve_stdio(Parrot).await
//! }
//! ```
//!
//! - [`serve`], [`serve_stdio`], [`in_process`]: over any pipe, stdin and stdout, or within a test.
//! - [`Turn`], [`Subagent`]: what an agent says, by its [`Voice`]; [`Session`]: the rest of the wire.
//! - [`Options`], [`Dialect`], [`Fault`]: how it is said, in old forms too, and what goes wrong on purpose.
//! - [`tools`]: Bash, Read, Write, Edit, Glob, Grep…, really executed.
//! - [`sessions`]: conversations on disk.
//! - [`settings`]: settings files and command hooks.
//! - [`embedded`]: all of that with a model behind it: the drop-in for `claude`.
//! - [`permission`]: who may do what: rules, modes, and what is not asked.

pub mod embedded;
mod path;
pub mod permission;
pub mod sessions;
pub mod settings;
pub mod tools;

mod agent;
mod clock;
mod core;
mod fault;
mod hooks;
mod mcp;
mod options;
mod requests;
mod serve;
mod session;
mod spent;
mod stdio;
mod subagent;
mod turn;
mod voice;

pub use agent::{Agent, Answer, ApiFailure, RequestHandler, TurnError, TurnResult};
pub use fault::{Fault, UnknownFault};
pub use hooks::HookRun;
pub use options::{Dialect, Info, Options, VERSION};
pub use serve::{Exit, in_process, serve};
pub use session::{AskError, Kept, Session};
pub use stdio::{serve_args, serve_stdio};
pub use subagent::{Subagent, Task};
pub use turn::Turn;
pub use voice::{PlanVerdict, ToolCall, ToolOutput, ToolUse, Voice};

/// The wire's types.
pub use duologue_protocol as protocol;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
