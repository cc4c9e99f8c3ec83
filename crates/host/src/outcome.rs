//! [`TurnOutcome`]: what came of a turn.

use duologue_protocol::Text;
use duologue_protocol::message::Usage;
use duologue_protocol::transcript::{TurnFinishedEvent, TurnStatus};
use duologue_protocol::{RawJson, SessionId};

/// What came of a turn: the text, the money, and whether it went well.
///
/// It derefs to nothing: what has no method here stands in [`finished`](Self::finished).
#[derive(Clone, Debug)]
pub struct TurnOutcome {
    finished: Box<TurnFinishedEvent>,
}

impl TurnOutcome {
    pub(crate) fn new(finished: Box<TurnFinishedEvent>) -> Self {
        Self { finished }
    }

    /// A turn that ended without a result, in a way that this host knows.
    pub(crate) fn without_result(status: TurnStatus, error: Option<&str>) -> Self {
        let finished = TurnFinishedEvent::new()
            .outcome(status)
            .is_error(error.is_some())
            .error(error.map(Text::from));
        Self { finished: Box::new(finished) }
    }

    /// The text of the last message, put together from its blocks.
    pub fn text(&self) -> &str {
        let finished = &self.finished;
        if finished.text.is_empty() {
            finished.result.as_deref().unwrap_or_default()
        } else {
            &finished.text
        }
    }

    /// How the turn ended.
    pub fn status(&self) -> TurnStatus {
        self.finished.outcome.clone()
    }

    /// Whether it went well.
    pub fn is_success(&self) -> bool {
        self.status() == TurnStatus::Success
    }

    /// Whether somebody stopped it.
    pub fn is_interrupted(&self) -> bool {
        self.status() == TurnStatus::Interrupted
    }

    /// Whether its prompt was taken back before it began.
    pub fn is_cancelled(&self) -> bool {
        self.status() == TurnStatus::Cancelled
    }

    /// What went wrong, in the best words there are; `None` if nothing did.
    pub fn error(&self) -> Option<&str> {
        if self.is_success() {
            return None;
        }
        match self.finished.error.as_deref() {
            // What the CLI says of an interrupt is for those who mend it.
            Some(words) if self.is_interrupted() && words.starts_with("[ede_diagnostic]") => {
                Some("the turn was interrupted")
            }
            words => Some(words.unwrap_or("the turn failed without a reason")),
        }
    }

    /// What the turn cost, in USD.
    pub fn cost_usd(&self) -> f64 {
        self.finished.cost_usd.unwrap_or_default()
    }

    /// The tokens of the main agent.
    pub fn usage(&self) -> Option<&Usage> {
        self.finished.usage.as_ref()
    }

    /// How many tool calls were not allowed.
    pub fn denials(&self) -> u64 {
        self.finished.permission_denials
    }

    /// The value that a JSON Schema asked for.
    pub fn structured_output(&self) -> Option<&RawJson> {
        self.finished.structured_output.as_ref()
    }

    /// The conversation.
    pub fn session_id(&self) -> Option<&SessionId> {
        self.finished.session_id.as_ref()
    }

    /// Everything that is known of it.
    pub fn finished(&self) -> &TurnFinishedEvent {
        &self.finished
    }
}
