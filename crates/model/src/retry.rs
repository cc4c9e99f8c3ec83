//! [`Retrying`]: retries failed requests.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use crate::error::ModelError;
use crate::model::{AnswerSender, AnswerStream, Model, Part};
use crate::request::Request;

/// A failure that is retried: the content of `system/api_retry`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// The number of the retry, from 1.
    pub attempt: u32,
    /// The maximum number of retries.
    pub max_retries: u32,
    /// The delay before it.
    pub delay: Duration,
    /// The cause.
    pub error: ModelError,
}

/// Retries transient failures of a model, as the real CLI does.
///
/// The delay is half a second and doubles up to 32 seconds, with up to 25 % of jitter, so that many clients do not retry
/// at once. `retry-after` of the API takes precedence. The third 529 in a row ends the retries. An answer whose content
/// has begun is not retried, because the content would appear twice.
///
/// ```
/// use duologue_model::{Model, Reply, Retrying, Scenario, ScriptedModel};
///
/// let scenario = Scenario::new().reply(Reply::error(500).times(2)).reply(Reply::text("Hello."));
/// let model = Retrying::new(ScriptedModel::new(scenario)?).max_retries(4);
/// assert!(model.notice().is_none());
/// # Ok::<(), duologue_model::ScenarioError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Retrying {
    model: Arc<dyn Model>,
    max_retries: u32,
    jitter: bool,
}

const MAX_RETRIES: u32 = 10;
const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(32);
/// After this many 529 in a row, there is no further retry.
const MOST_529: u32 = 3;
/// Limit for `retry-after`.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

impl Retrying {
    /// Retries this model up to 10 times.
    pub fn new(model: impl Model + 'static) -> Self {
        Self { model: Arc::new(model), max_retries: MAX_RETRIES, jitter: true }
    }

    /// Sets the maximum number of retries.
    #[must_use]
    pub fn max_retries(mut self, most: u32) -> Self {
        self.max_retries = most;
        self
    }

    /// Reads `CLAUDE_CODE_MAX_RETRIES`, if it is a number.
    #[must_use]
    pub fn from_env(self) -> Self {
        self.from_vars(|name| std::env::var(name).ok())
    }

    /// Like [`from_env`](Self::from_env), with the variables from a function.
    #[must_use]
    pub fn from_vars(self, var: impl Fn(&str) -> Option<String>) -> Self {
        match var("CLAUDE_CODE_MAX_RETRIES").and_then(|most| most.trim().parse().ok()) {
            Some(most) => self.max_retries(most),
            None => self,
        }
    }

    /// No jitter: delays are exactly 0.5, 1, 2, 4… seconds.
    #[must_use]
    pub fn without_jitter(mut self) -> Self {
        self.jitter = false;
        self
    }
}

impl Model for Retrying {
    fn ask(&self, request: Request) -> AnswerStream {
        let this = self.clone();
        AnswerStream::new(async move |sender| this.ask_with_retries(request, sender).await)
    }

    fn notice(&self) -> Option<String> {
        self.model.notice()
    }
}

impl Retrying {
    async fn ask_with_retries(
        &self,
        request: Request,
        sender: AnswerSender,
    ) -> Result<(), ModelError> {
        let (mut attempt, mut overloads) = (0, 0);
        loop {
            let (error, has_content) = match once(self.model.ask(request.clone()), &sender).await {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            overloads = if error.status() == Some(529) { overloads + 1 } else { 0 };
            if let ModelError::Api(failure) = &error
                && overloads == MOST_529
            {
                return Err(ModelError::Overloaded(failure.clone()));
            }
            if has_content || attempt >= self.max_retries || !error.is_transient() {
                return Err(error);
            }
            attempt += 1;
            let delay = self.delay(attempt, &error);
            let retry = Retry { attempt, max_retries: self.max_retries, delay, error };
            sender.send(Part::Retry(retry)).await;
            tokio::time::sleep(delay).await;
        }
    }

    fn delay(&self, attempt: u32, error: &ModelError) -> Duration {
        if let Some(asked) = error.api().and_then(|failure| failure.retry_after) {
            return asked.min(LONGEST_WAIT);
        }
        let doubled = FIRST_DELAY.saturating_mul(1 << (attempt - 1).min(16)).min(LONGEST_DELAY);
        if !self.jitter {
            return doubled;
        }
        // The seed of a hasher is random enough.
        let chance = RandomState::new().hash_one(attempt) % 256;
        doubled + doubled.mul_f64(chance as f64 / 1024.0)
    }
}

/// Passes one answer on. A failure comes with whether content had begun.
async fn once(mut answer: AnswerStream, sender: &AnswerSender) -> Result<(), (ModelError, bool)> {
    let mut has_content = false;
    while let Some(part) = answer.next().await {
        let part = part.map_err(|error| (error, has_content))?;
        has_content |= matches!(&part, Part::Event(event) if event.name == "content_block_start");
        sender.send(part).await;
    }
    Ok(())
}
