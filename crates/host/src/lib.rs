//! Drives Claude Code from Rust: spawns it, holds the conversation over its stdin and stdout, serves
//! what it asks.
//!
//! ```no_run
//! # #[tokio::main] async fn main() -> Result<(), duologue::Error> {
//! let answer = duologue::run("What does this project do?").await?;
//! println!("{}  (${:.4})", answer.text(), answer.cost_usd());
//! # Ok(())
//! # }
//! ```
//!
//! - [`run`]: one question, one answer.
//! - [`Session`]: a conversation of many turns. [`Session::builder`] has every option of the official
//!   SDKs.
//! - [`Turn`]: one prompt and what comes of it, as [`Event`]s and a [`TurnOutcome`].
//! - [`handlers`]: answers to the requests of the agent: permissions, questions, plans, hooks.
//! - [`mcp`]: tools in this program.
//! - [`Control`]: everything that can be asked of the agent.
//! - [`settings`]: the settings that an agent would use.
//! - [`blocking`]: the same without `async`.
//!
//! # What holds
//!
//! - The agent is read whatever this program does: no callback holds it up, and a reader that is slower
//!   than the agent for a tenth of a second at most each time. What is not read costs memory up to a
//!   budget, then goes to a temporary file.
//! - Each request is answered at most once, and not after it was withdrawn. No handler, one that
//!   panics or one that takes too long means no.
//! - The agent leads a process group. However the session ends, by [`Session::close`], by a drop, by
//!   the death of this program, the whole group goes.
//! - Every error about an agent that is gone has the end of its stderr.

pub mod blocking;
mod dispatch;
mod error;
pub mod find;
pub mod handlers;
pub mod mcp;
mod outcome;
mod process;
mod prompt;
mod run;
mod session;
pub mod settings;
mod timeouts;
mod transport;
mod usage;

pub use dispatch::Overflow;
pub use duologue_protocol as protocol;
pub use duologue_protocol::launch;
pub use duologue_protocol::transcript::event;
pub use duologue_protocol::transcript::{Event, TurnStatus};
pub use error::{Error, Gone};
pub use outcome::TurnOutcome;
pub use process::{ExitReport, Ladder, OsUser, Rung, SpawnError};
pub use prompt::{IntoPrompt, PromptError, image};
pub use run::run;
pub use session::{
    Claim, Control, Events, Handshake, InterruptReceipt, Message, Messages, Respawn, Session,
    SessionBuilder, Spare, Turn, Watchdog,
};
pub use usage::UsageMessage;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
