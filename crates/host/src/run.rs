//! One question, one answer.

use crate::error::Error;
use crate::outcome::TurnOutcome;
use crate::prompt::IntoPrompt;
use crate::session::{Session, SessionBuilder};

/// Starts Claude Code, sends one prompt, and gives what came of it.
///
/// For options, [`SessionBuilder::run`].
///
/// ```no_run
/// # async fn example() -> Result<(), duologue::Error> {
/// let answer = duologue::run("Name three Rust web frameworks").await?;
/// println!("{}", answer.text());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If there is no Claude Code, or it dies. That the turn failed is no error: the outcome tells.
pub async fn run(prompt: impl IntoPrompt) -> Result<TurnOutcome, Error> {
    Session::builder().run(prompt).await
}

impl SessionBuilder {
    /// Starts the agent, sends one prompt, waits for what comes of it, and closes the session.
    ///
    /// # Errors
    /// If the agent cannot be started, or dies. That the turn failed is no error: the outcome tells.
    pub async fn run(self, prompt: impl IntoPrompt) -> Result<TurnOutcome, Error> {
        let session = self.start().await?;
        let outcome = session.prompt(prompt).await?.outcome().await?;
        session.close().await?;
        Ok(outcome)
    }
}
