//! Write an agent that any host of Claude Code can drive.
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
//! - [`serve`], [`serve_stdio`], [`in_process`]: over any pipe, over stdin and stdout, or within a test.
//! - [`Turn`], [`Subagent`]: what an agent sends, through its [`Emitter`]; [`Session`]: the rest of the wire.
//! - [`Options`], [`Dialect`], [`Fault`]: which forms are used, legacy ones too, and faults for testing hosts.
//!
//! The drop-in for `claude`, with a model, tools, permissions and settings, is the crate `duologue-embedded`.

pub mod clock;
pub mod command_line;
pub mod stdio;

mod agent;
mod connection;
mod emitter;
mod fault;
mod hooks;
mod legacy;
mod mcp;
mod options;
mod requests;
mod serve;
mod session;
mod subagent;
mod turn;
mod usage;

pub use agent::{Agent, Answer, ApiFailure, RequestHandler, TurnError, TurnResult};
pub use emitter::{
    Ask, Denial, Emitter, OtherAnswer, PermissionRules, PlanVerdict, Reason, STOPPED, ToolCall,
    ToolResult, ToolUse, Verdict, canonical_tool_name,
};
pub use fault::{Fault, UnknownFault};
pub use hooks::{HookAnswers, LocalHooks, hook_matches};
pub use legacy::Dialect;
pub use mcp::MCP_VERSION;
pub use options::{Info, Listing, Options, VERSION};
pub use serve::{Exit, in_process, serve};
pub use session::{AskError, Kept, Session};
pub use stdio::{serve_args, serve_stdio};
pub use subagent::{Subagent, SubagentTask};
pub use turn::Turn;
pub use usage::{UsageTotals, model_limits};

/// The wire's types.
pub use duologue_protocol as protocol;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
