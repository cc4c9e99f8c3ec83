//! Claude Code for every editor: an agent of the [Agent Client Protocol](https://agentclientprotocol.com) (ACP) on top of
//! [`duologue`].
//!
//! [`serve`] talks to one client over a reader and a writer. `duologue acp` is this with stdin and stdout.
//!
//! ```no_run
//! # async fn example() -> Result<(), duologue_acp::ServeError> {
//! use duologue::Session;
//! use duologue_acp::{Options, serve};
//!
//! let (editor, agent) = tokio::io::duplex(64 * 1024);
//! let (reader, writer) = tokio::io::split(agent);
//! serve(Options::new(|| Session::builder().model("sonnet")), reader, writer).await
//! # ; drop(editor); Ok(())
//! # }
//! ```

mod asks;
mod bridge;
mod client;
mod config;
mod error;
mod history;
mod link;
mod options;
mod plan;
mod prompt;
mod serve;
mod session;
mod time;
mod tool_calls;
mod transport;
mod updates;

pub use duologue_sessions::Sessions;
pub use error::ServeError;
pub use options::{LineDirection, Login, Options};
pub use serve::serve;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
