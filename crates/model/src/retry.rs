//! Asking again.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use crate::error::ModelError;
use crate::model::{Answering, Model, Part, Teller};
use crate::request::Request;

/// A failure after which the model is asked again: what `system/api_retry` says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// Which time it is asked again, counted from 1.
    pub attempt: u32,
    /// How often it is asked again at most.
    pub max_retries: u32,
    /// How long is waited before.
    pub delay: Duration,
    /// Why.
    pub error: ModelError,
}

/// A model that is asked again when it fails in a way that may pass, as the real CLI does it.
///
/// The delay is half a second and doubles up to 32 s, with up to a quarter more, by chance, so that many clients do not
/// come back at once. Where the API says how long to wait, that is done. A third 529 in a row is the last. What has
/// begun to say something is not asked again: that would say it twice.
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
/// So many times 529 in a row, and the model is taken to be overloaded for good.
const MOST_529: u32 = 3;
/// What an API asks to wait is done, up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

impl Retrying {
    /// Asks this model again, up to 10 times.
    pub fn new(model: impl Model + 'static) -> Self {
        Self { model: Arc::new(model), max_retries: MAX_RETRIES, jitter: true }
    }

    /// Asks again so often at most.
    #[must_use]
    pub fn max_retries(mut self, most: u32) -> Self {
        self.max_retries = most;
        self
    }

    /// Asks again as often as `CLAUDE_CODE_MAX_RETRIES` says, if that is a number.
    #[must_use]
    pub fn from_env(self) -> Self {
        self.from_vars(|name| std::env::var(name).ok())
    }

    /// The same, from variables that this knows.
    #[must_use]
    pub fn from_vars(self, var: impl Fn(&str) -> Option<String>) -> Self {
        match var("CLAUDE_CODE_MAX_RETRIES").and_then(|most| most.trim().parse().ok()) {
            Some(most) => self.max_retries(most),
            None => self,
        }
    }

    /// Leaves nothing to chance: delays are exactly 0.5, 1, 2, 4… seconds.
    #[must_use]
    pub fn without_jitter(mut self) -> Self {
        self.jitter = false;
        self
    }
}

impl Model for Retrying {
    fn ask(&self, request: Request) -> Answering {
        let this = self.clone();
        Answering::new(async move |teller| this.try_and_again(request, teller).await)
    }

    fn notice(&self) -> Option<String> {
        self.model.notice()
    }
}

impl Retrying {
    async fn try_and_again(&self, request: Request, teller: Teller) -> Result<(), ModelError> {
        let (mut attempt, mut overloads) = (0, 0);
        loop {
            let (error, has_content) = match once(self.model.ask(request.clone()), &teller).await {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            overloads = if error.status() == Some(529) { overloads + 1 } else { 0 };
            if let ModelError::Api(failure) = &error
                && overloads == MOST_529
            {
                return Err(ModelError::Overloaded(failure.clone()));
            }
            if has_content || attempt >= self.max_retries || !error.is_passing() {
                return Err(error);
            }
            attempt += 1;
            let delay = self.delay(attempt, &error);
            let retry = Retry { attempt, max_retries: self.max_retries, delay, error };
            teller.tell(Part::Retry(retry)).await;
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
        // A hasher's own seed is chance enough.
        let chance = RandomState::new().hash_one(attempt) % 256;
        doubled + doubled.mul_f64(chance as f64 / 1024.0)
    }
}

/// Passes one answer on. On failure also says whether it had begun to say something.
async fn once(mut answer: Answering, teller: &Teller) -> Result<(), (ModelError, bool)> {
    let mut has_content = false;
    while let Some(part) = answer.next().await {
        let part = part.map_err(|error| (error, has_content))?;
        has_content |= matches!(&part, Part::Event(event) if event.name == "content_block_start");
        teller.tell(part).await;
    }
    Ok(())
}
