//! [`TurnOutcome`]: what came of a turn.

use duologue_protocol::message::Usage;
use duologue_protocol::transcript::{Outcome, TurnFinished};
use duologue_protocol::{RawJson, SessionId};

/// What came of a turn: the text, the money, and whether it went well.
///
/// It derefs to nothing: what has no method here stands in [`finished`](Self::finished).
#[derive(Clone, Debug)]
pub struct TurnOutcome {
    finished: Box<TurnFinished>,
}

impl TurnOutcome {
    pub(crate) fn new(finished: Box<TurnFinished>) -> Self {
        Self { finished }
    }

    /// A turn that ended without a result, in a way that this host knows.
    pub(crate) fn without_result(outcome: Outcome, error: Option<&str>) -> Self {
        let mut finished = TurnFinished::new().outcome(outcome).is_error(error.is_some());
        if let Some(error) = error {
            finished = finished.error(error);
        }
        Self { finished: Box::new(finished) }
    }

    /// The text of the last message, put together from its blocks.
    pub fn text(&self) -> &str {
        let finished = &self.finished;
        finished
            .text
            .as_str()
            .filter(|text| !text.is_empty())
            .or(finished.result.as_str())
            .unwrap_or_default()
    }

    /// How the turn ended.
    pub fn outcome(&self) -> Outcome {
        self.finished.outcome.value().cloned().unwrap_or(Outcome::Error)
    }

    /// Whether it went well.
    pub fn is_success(&self) -> bool {
        self.outcome() == Outcome::Success
    }

    /// Whether somebody stopped it.
    pub fn is_interrupted(&self) -> bool {
        self.outcome() == Outcome::Interrupted
    }

    /// Whether its prompt was taken back before it began.
    pub fn is_cancelled(&self) -> bool {
        self.outcome() == Outcome::Cancelled
    }

    /// What went wrong, in the best words there are; `None` if nothing did.
    pub fn error(&self) -> Option<&str> {
        if self.is_success() {
            return None;
        }
        match self.finished.error.as_str() {
            // What the CLI says of an interrupt is for those who mend it.
            Some(words) if self.is_interrupted() && words.starts_with("[ede_diagnostic]") => {
                Some("the turn was interrupted")
            }
            words => Some(words.unwrap_or("the turn failed without a reason")),
        }
    }

    /// What the turn cost, in USD.
    pub fn cost_usd(&self) -> f64 {
        self.finished.cost_usd.value().map_or(0.0, |cost| cost.as_f64())
    }

    /// The tokens of the main agent.
    pub fn usage(&self) -> Option<&Usage> {
        self.finished.usage.value()
    }

    /// How many tool calls were not allowed.
    pub fn denials(&self) -> u64 {
        self.finished.permission_denials.value().and_then(|count| count.as_u64()).unwrap_or(0)
    }

    /// The value that a JSON Schema asked for.
    pub fn structured_output(&self) -> Option<&RawJson> {
        self.finished.structured_output.value()
    }

    /// The conversation.
    pub fn session_id(&self) -> Option<&SessionId> {
        self.finished.session_id.value()
    }

    /// Everything that is known of it.
    pub fn finished(&self) -> &TurnFinished {
        &self.finished
    }
}
