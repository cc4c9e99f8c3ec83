//! Finds the CLI and its version.
//!
//! ```no_run
//! # async fn example() -> Result<(), duologue::find::NotFound> {
//! let program = duologue::find::cli(None)?;
//! let version = duologue::find::version(&program, &[]).await;
//! if !version.as_ref().is_some_and(duologue::find::is_tested) {
//!     eprintln!("{} was never tested with this program", program.display());
//! }
//! # Ok(())
//! # }
//! ```

mod search;
mod version;

#[cfg(test)]
mod tests;

pub use search::{Looked, NotFound, Search, Verdict, cli};
pub use version::{TESTED, is_tested, version};
