//! Stored sessions of Claude Code: find, read, change and move them.
//!
//! Claude Code keeps every conversation in a file, `<config>/projects/<project>/<session>.jsonl`, one entry on each line.
//! This crate reads those files as Claude Code and its official SDKs do, and writes what they understand.
//!
//! ```
//! use duologue_sessions::{ListOptions, MessageOptions, Sessions};
//!
//! # let folder = tempfile::tempdir()?;
//! # let config_dir = folder.path();
//! // `Sessions::from_env()` finds those of the current user.
//! let sessions = Sessions::in_config_dir(config_dir);
//! for info in sessions.list(&ListOptions::default().limit(10))?.sessions {
//!     println!("{} ({})", info.summary, info.id);
//!     for message in sessions.get(&info.id)?.messages(&MessageOptions::default())? {
//!         println!("  {}: {}", message?.kind.as_str(), "…");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What holds
//!
//! - **Lists are cheap.** A list reads the first and the last 64 KiB of each file, never more.
//! - **Reading is bounded.** [`Messages`] holds at most 64 bytes for each entry, plus the message that it returns.
//! - **Nothing is lost.** Files are only ever appended to. Entries of unknown kinds are kept byte for byte.
//! - **Damage is reported.** A file that cannot be shown is in [`SessionList::damaged`] with the reason. It is not changed.
//! - **A session in use is not written.** See [`Liveness`]. If that is not certain, the operation fails.
//! - **Stores are interchangeable.** [`store`] has a trait with the contract of the SDKs, stores, and a test suite for others.
//! - **Names stay inside.** A session id must be a UUID; project keys and subpaths must be plain names.

mod chain;
mod error;
mod export;
mod fork;
mod head_tail;
mod index;
mod info;
mod js;
mod json;
mod live;
mod messages;
mod parallel;
mod project;
mod prompt;
mod session;
mod sessions;
pub mod store;
mod text;
mod transcript;
mod usage;
mod wire_lines;

pub use error::{Error, Result};
pub use fork::ForkOptions;
pub use info::{Problem, SessionInfo};
pub use live::Liveness;
pub use messages::{MessageKind, MessageOptions, Messages, SessionMessage};
pub use project::{project_key, project_key_of_directory};
pub use session::{StoredSession, Subagent};
pub use sessions::{DamagedSession, ListOptions, SessionList, Sessions};
pub use transcript::{Entries, Entry};
pub use usage::{Price, SessionUsage, Spent, Tokens, Usage, UsageOptions, UsageRow};
pub use wire_lines::{StoredEvent, StoredEvents, WireLine, WireLines};

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
