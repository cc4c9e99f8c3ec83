//! Replays a tape: as its agent for any host, or as its host for any agent.
//!
//! [`Player`] is a machine without I/O: it takes what the host wrote and returns what the agent does
//! next. It waits for the recorded lines of the host, and answers as recorded. Host lines are
//! matched by meaning, not by bytes: see [`Match`]. Answers contain the ids of this
//! host, not those on the tape.
//!
//! ```
//! use duologue_protocol::Line;
//! use duologue_tape::replay::{Match, Player, Step};
//!
//! let tape = concat!(
//!     r#"{"tape":1,"program":"claude","argv":["claude"]}"#, "\n",
//!     r#"{"t":0,"dir":"in","line":"{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"subtype\":\"interrupt\"}}"}"#, "\n",
//!     r#"{"t":1,"dir":"out","line":"{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"r1\"}}"}"#, "\n",
//! );
//! let mut player = Player::new(|| Ok(tape.as_bytes()), Match::Exact)?;
//! assert!(matches!(player.next_step()?, Step::Wait(_)));
//! player.handle_line(&Line::from(
//!     r#"{"type":"control_request","request_id":"mine","request":{"subtype":"interrupt"}}"#,
//! ))?;
//! let Step::Say(_, _, line) = player.next_step()? else { panic!() };
//! assert!(line.as_str().unwrap().contains(r#""request_id":"mine""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod host;
mod ids;
mod meaning;
mod mismatch;
mod player;

pub use host::{HostPlayer, HostStep};
pub use meaning::Match;
pub use mismatch::Mismatch;
pub use player::{Player, Step, Wait};
