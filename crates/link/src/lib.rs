//! Moves the lines of the wire between any `AsyncRead`/`AsyncWrite` and the pure machines of
//! `duologue-protocol`. Thin: what lines mean and which moves are legal is decided there.
//!
//! [`connect`] gives the host's end of a conversation, in four parts:
//!
//! - [`Link`]: a handle to send prompts and requests. Cheap to clone.
//! - [`Asks`]: what the agent asks of the host, to be answered through the link.
//! - [`Inbox`]: the lines of the conversation, both directions, in the order of the wire.
//! - [`Driver`]: the future that does the work. Spawn it.
//!
//! The driver never waits for whoever reads the inbox: control lines are served whatever the consumer
//! does. What is not read costs memory up to a budget, and then what [`Overflow`] says. Requests of the
//! agent that nobody has answered are kept up to [a limit](Options::open_requests); beyond it, the agent is
//! not read until there is room.
//!
//! ```
//! use duologue_link::{Options, connect};
//! use duologue_protocol::control::Interrupt;
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (host, agent) = tokio::io::duplex(4096);
//! let (reader, writer) = tokio::io::split(host);
//! let (link, _asks, _inbox, driver) = connect(reader, writer, Options::default());
//! tokio::spawn(driver.run());
//!
//! // An agent that answers one request.
//! tokio::spawn(async move {
//!     let (reader, mut writer) = tokio::io::split(agent);
//!     let mut lines = BufReader::new(reader).lines();
//!     let _request = lines.next_line().await.unwrap();
//!     let answer = r#"{"type":"control_response","response":{"subtype":"success","request_id":"req_1"}}"#;
//!     writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
//! });
//!
//! let reply = link.request(Interrupt::new(), None).await?;
//! assert!(reply.still_queued.items().is_empty());
//! # Ok(())
//! # }
//! ```

mod driver;
mod inbox;
mod link;
mod options;
mod requests;
mod sieve;
mod spill;
mod standing;

pub use driver::{Driver, connect};
pub use inbox::{Inbox, InboxError, Item, Taken};
pub use link::{Ask, Asks, Link, Received, RequestError};
pub use options::{DEFAULT_BUDGET, DEFAULT_OPEN_REQUESTS, Options, Overflow, Tap};
pub use spill::Spill;
pub use standing::Standing;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
