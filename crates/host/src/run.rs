//! One prompt, one answer.

use crate::error::Error;
use crate::outcome::TurnOutcome;
use crate::prompt::IntoPrompt;
use crate::session::{Session, SessionBuilder};

/// Starts Claude Code, sends one prompt, and returns its outcome.
///
/// For options, see [`SessionBuilder::run`].
///
/// ```no_run
/// # async fn example() -> Result<(), duologue::Error> {
/// let answer = duologue::run("Name three Rust web frameworks").await?;
/// println!("{}", answer.text());
/// # Ok(())
/// # }
/// ```
///
/// Not cancel safe. If the future is dropped, the agent is killed.
///
/// # Errors
/// If Claude Code is not found, or dies. A turn that failed is not an error: see [`TurnOutcome::error`].
pub async fn run(prompt: impl IntoPrompt) -> Result<TurnOutcome, Error> {
    Session::builder().run(prompt).await
}

impl SessionBuilder {
    /// Starts the agent, sends one prompt, waits for its outcome, and closes the session.
    ///
    /// Not cancel safe. If the future is dropped, the agent is killed.
    ///
    /// # Errors
    /// If the agent cannot be started, or dies. A turn that failed is not an error: see
    /// [`TurnOutcome::error`].
    pub async fn run(self, prompt: impl IntoPrompt) -> Result<TurnOutcome, Error> {
        let session = self.start().await?;
        let outcome = session.prompt(prompt).await?.outcome().await?;
        session.close().await?;
        Ok(outcome)
    }
}
