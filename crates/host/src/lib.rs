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
//! # Where things are
//!
//! | what | where |
//! |---|---|
//! | one prompt, one answer | [`run`] |
//! | a conversation of many turns | [`Session`]; its options: [`SessionBuilder`] |
//! | one prompt and its events | [`Turn`], [`TurnOutcome`] |
//! | events and their fields | [`Event`], [`event`] |
//! | all events, all lines | [`Events`], [`Messages`] |
//! | answers to the agent: permissions, questions, plans, hooks | [`handlers`] |
//! | permission modes, rules and updates | [`permission`] |
//! | the inputs and outputs of tools | [`tool`] |
//! | tools in this program | [`mcp`] |
//! | control requests | [`Control`] |
//! | how the agent is started | [`launch`] |
//! | the settings that an agent would use | [`settings`] |
//! | stored sessions, and sessions that are kept in a store | `sessions` (feature `sessions`) |
//! | the same without `async` | [`blocking`] |
//! | lines and state machines, without I/O | [`protocol`] |
//!
//! # Guarantees
//!
//! - One task per run reads the agent, whatever the program does. No callback delays it. A subscriber that reads
//!   too slowly delays it by a tenth of a second at most each time. What is not read costs memory up to
//!   a budget, then goes to a temporary file.
//! - [`Session::events`] and [`Session::messages`] deliver from the moment of the call. Nothing depends on who reads
//!   first, or on whether anything is read.
//! - Each request of the agent is answered at most once, and not after it was withdrawn. Without a handler, after a
//!   panic, and after a timeout it is denied.
//! - The agent leads a process group. However the session ends, by [`Session::close`], by a drop, or by
//!   the death of this program, the whole group ends.
//! - Every error about an agent that is gone contains the end of its stderr.
//! - Futures that can be dropped without losing anything are documented as "Cancel safe."

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
#[cfg(feature = "sessions")]
pub mod sessions;
pub mod settings;
mod timeouts;
mod transport;
mod usage;

pub use dispatch::Overflow;
pub use duologue_protocol as protocol;
pub use duologue_protocol::transcript::event;
pub use duologue_protocol::transcript::{Event, TurnStatus};
pub use duologue_protocol::{launch, permission, tool};
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
