//! Models for agents, scenarios, and a scripted Messages API for the real Claude Code.
//!
//! A [`Model`] answers a [`Request`] with a stream of events of the Messages API. There are three: [`ScriptedModel`] plays
//! a scenario, [`MessagesModel`] asks an API, and [`OfflineModel`] follows fixed rules. [`Retrying`] retries failed
//! requests, [`StreamedMessage`] joins the events into a message, and [`Prices`] computes its cost.
//!
//! A [`Scenario`] lists the replies of the model. A [`Script`] plays it: each [`Request`] gets the next reply. A
//! [`Server`] is a Messages API on loopback that plays a script to the real `claude`, without a network, a key or cost.
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
//! The same scenario as a file, which [`Scenario::read`] reads; [`schema`] is its JSON Schema:
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
//! The CLI also makes requests on its own: for a title, to check the API, for a summary. These requests do not consume a
//! reply of the script; [`Purpose`] lists them. The conformance tests run all of this with Claude Code 1.0.128 and newer.

mod error;
mod http_model;
mod model;
mod offline_model;
mod pace;
mod price;
mod purpose;
mod render;
mod request;
mod retry;
mod scenario;
mod script;
mod scripted_model;
mod server;
mod streamed_message;

pub use error::{ApiFailure, ModelError};
#[doc(hidden)]
pub use http_model::http_client;
pub use http_model::{MessagesModel, MessagesModelBuilder};
pub use model::{AnswerSender, AnswerStream, Model, Part};
pub use offline_model::OfflineModel;
pub use price::{Price, Prices, PricesError, Tokens};
pub use purpose::Purpose;
pub use render::{Event, RenderedMessage};
pub use request::{BadRequest, Request};
pub use retry::{Retry, Retrying};
pub use scenario::{
    ApiError, Block, Chunk, Reply, Scenario, ScenarioError, Times, Usage, When, Who, schema,
};
pub use script::{Answer, Mismatch, Script, Unfinished};
pub use scripted_model::ScriptedModel;
pub use server::{Exchange, Server, StartError, Unplayed};
pub use streamed_message::StreamedMessage;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
