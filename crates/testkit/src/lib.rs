//! Shared code of the tests. Not published.

pub mod fake;
pub mod json;
pub mod leak;
pub mod mutate;
pub mod peers;
mod reasons;
mod recordings;

// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

// So do those of the pages.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/drive-claude-code.md")]
struct DriveClaudeCode;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/see-the-wire.md")]
struct SeeTheWire;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/test-offline.md")]
struct TestOffline;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/write-an-agent.md")]
struct WriteAnAgent;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sessions.md")]
struct StoredSessions;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/play-a-script.md")]
struct PlayAScript;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/scenarios.md")]
struct Scenarios;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tape-format.md")]
struct TapeFormat;

pub use reasons::{Named, Reason, Reasons};
pub use recordings::{Entry, Recording, recording_path, recordings, root};

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
