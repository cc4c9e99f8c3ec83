//! What stands behind an agent: models that answer, scenarios, and a scripted Messages API for the real Claude Code.
//!
//! A [`Model`] answers a [`Request`] with events of the Messages API, piece by piece. It is a scenario
//! ([`ScriptedModel`]), an API ([`MessagesModel`]), or nothing that thinks ([`OfflineModel`]). [`Retrying`] asks again,
//! [`Folded`] puts the message together, [`Prices`] say what it cost.
//!
//! A [`Scenario`] says what the model answers. A [`Script`] plays it: each [`Request`] gets the next reply. A [`Server`]
//! is that script as a Messages API on loopback, so that the real `claude` plays it without a network, a key or a bill.
//!
//! ```
//! use duologue_model::{Block, Reply, Scenario, Server};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = Scenario::new()
//!     .reply(Reply::new().say(Block::tool("Bash", serde_json::json!({ "command": "touch seen" }))))
//!     .reply(Reply::text("Done."));
//! let server = Server::start(scenario).await?;
//! // Start `claude` with ANTHROPIC_BASE_URL set to `server.base_url()`, and with any ANTHROPIC_API_KEY.
//! server.wait_for(2).await;
//! server.finished()?;
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! The same as a file, which [`Scenario::read`] reads; [`schema`] describes it to an editor:
//!
//! ```
//! # use duologue_model::Scenario;
//! let scenario = Scenario::from_toml(
//!     r#"
//!     [[replies]]
//!     say = { tool = "Bash", input = { command = "touch seen" } }
//!
//!     [[replies]]
//!     say = "Done."
//!     "#,
//! )?;
//! assert_eq!(scenario.replies.len(), 2);
//! # Ok::<(), duologue_model::ScenarioError>(())
//! ```
//!
//! The CLI also asks for things on its own account: a title, whether the API answers at all, a summary. These never take
//! a reply of the script; [`Purpose`] says which they are. All this was tried with Claude Code 2.0.77, 2.1.52, 2.1.197 and
//! 2.1.325.

mod error;
mod folded;
mod message;
mod messages;
mod model;
mod offline;
mod pace;
mod price;
mod purpose;
mod request;
mod retry;
mod scenario;
mod script;
mod scripted;
mod server;

pub use error::{ApiFailure, ModelError};
pub use folded::Folded;
pub use message::{Event, Message};
#[doc(hidden)]
pub use messages::http_client;
pub use messages::{MessagesModel, MessagesModelBuilder};
pub use model::{Answering, Model, Part, Teller};
pub use offline::OfflineModel;
pub use price::{Price, Prices, PricesError, Tokens};
pub use purpose::Purpose;
pub use request::{BadRequest, Request};
pub use retry::{Retry, Retrying};
pub use scenario::{
    ApiError, Block, Chunk, Reply, Scenario, ScenarioError, Times, Usage, When, Who, schema,
};
pub use script::{Answer, Mismatch, Script, Unfinished};
pub use scripted::ScriptedModel;
pub use server::{Exchange, Server, StartError, Unplayed};

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
