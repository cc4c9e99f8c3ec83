//! Tapes: recordings of Claude Code's `stream-json` wire, both directions, exact lines.
//!
//! A tape is NDJSON. Its first line is a header with the key `tape`; every other line is an
//! [`Entry`]: a line of the agent's stdin, stdout or stderr, something done to the process, or its
//! exit.
//!
//! ```text
//! {"tape":1,"program":"claude","version":"2.1.52","argv":[…]}
//! {"t":0,"dir":"in","line":"{\"type\":\"control_request\",…}"}
//! {"t":412,"dir":"out","line":"{\"type\":\"control_response\",…}"}
//! {"t":431,"dir":"err","line":"…"}
//! {"t":9000,"note":"signal SIGINT"}
//! {"t":9012,"exit":{"code":0,"signal":null}}
//! ```
//!
//! With `"redacted":true` in the header, values were replaced: a host that replays the tape may send anything in their
//! place.
//!
//! - [`Reader`] and [`Writer`]: tapes as streams, compressed or not.
//! - [`Recorder`]: records a conversation without delaying it.
//! - [`check`]: whether every line is understood. [`diff`]: two tapes compared by meaning.
//! - [`redact`]: removes secrets and personal data, so that a tape can be shared.
//! - [`replay`]: replays a tape as the agent for any host, or as the host for any agent.
//! - `Cassette`: records the conversation of a test once and replays it from then on (feature `session`, on by default).
//! - `write_stored`: a stored session of Claude Code as a tape (feature `stored`).
//!
//! [`Reader`] reads a tape, or a plain capture of one direction, as a stream: it holds one line at a
//! time, whatever the size of the file.
//!
//! ```
//! use duologue_tape::{Event, Reader};
//!
//! let tape = concat!(
//!     r#"{"tape":1,"program":"claude"}"#, "\n",
//!     r#"{"t":3,"dir":"out","line":"{\"type\":\"keep_alive\"}"}"#, "\n",
//! );
//! let mut reader = Reader::new(tape.as_bytes());
//! let entry = reader.next_entry()?.unwrap();
//! assert_eq!(entry.millis, Some(3));
//! assert!(matches!(entry.event, Event::ToHost(_)));
//! assert!(reader.next_entry()?.is_none());
//! # Ok::<(), duologue_tape::ReadError>(())
//! ```

#[cfg(feature = "session")]
mod cassette;
pub mod check;
pub mod diff;
mod entry;
mod error;
mod escape;
mod excerpt;
mod reader;
mod recorder;
pub mod redact;
pub mod replay;
#[cfg(feature = "stored")]
mod stored;
mod unpack;
mod writer;

#[cfg(feature = "session")]
pub use cassette::{Cassette, CassetteError, RECORD, Record, TapedSession};
pub use entry::{Entry, Event, Exit, Header};
pub use error::{ReadError, Torn};
pub use reader::Reader;
pub use recorder::{Recorder, RecorderOptions, Stopped, Stream, Tap};
#[cfg(feature = "stored")]
pub use stored::write_stored;
pub use writer::{TapeFile, Writer, is_stream};

/// The examples of the guide compile.
#[cfg(doctest)]
#[cfg(feature = "session")]
#[doc = include_str!("../../../docs/record-and-replay.md")]
struct Guide;

/// The newest version of the format that this crate reads and writes.
pub const FORMAT_VERSION: u64 = 1;

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
