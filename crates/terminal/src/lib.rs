//! Text for a terminal: escaped, styled and printed. Shared by the `duologue` command and its chat.
//!
//! Text from outside (of an agent, a tape, a file, the command line) must never control the terminal. It is held as
//! [`Foreign`], which has no `Display`. [`line()`] and [`block()`] escape it and return a [`Shown`], which is the only type that
//! [`print`](mod@print) accepts for people. [`shown!`] formats literals, numbers and other `Shown` texts. So a forgotten escape does
//! not compile.
//!
//! ```
//! use duologue_terminal::{Foreign, line, shown};
//!
//! let name = Foreign::from("a\u{1b}]0;b");
//! let text = shown!("{:>3} {}", 7_u64, line(&name));
//! assert_eq!(text.as_str(), "  7 a␛]0;b");
//! ```

pub mod checklist;
pub mod print;
pub mod summary;
#[doc(hidden)]
pub mod text;

pub use text::{Foreign, Printable, Shown, block, line, ours};

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
