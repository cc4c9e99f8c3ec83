//! [`TurnOutcome`]: the outcome of a turn.

use duologue_protocol::Text;
use duologue_protocol::message::Usage;
use duologue_protocol::transcript::{TurnFinishedEvent, TurnStatus};
use duologue_protocol::{RawJson, SessionId};

use crate::usage::UsageMessage;

/// The outcome of a turn: its text, its cost, and whether it succeeded.
///
/// [`finished`](Self::finished) has everything else.
#[derive(Clone, Debug)]
pub struct TurnOutcome {
    finished: Box<TurnFinishedEvent>,
}

impl TurnOutcome {
    pub(crate) fn new(finished: Box<TurnFinishedEvent>) -> Self {
        Self { finished }
    }

    /// A turn that ended without a `result` line.
    pub(crate) fn without_result(status: TurnStatus, error: Option<&str>) -> Self {
        let finished = TurnFinishedEvent::new()
            .outcome(status)
            .is_error(error.is_some())
            .error(error.map(Text::from));
        Self { finished: Box::new(finished) }
    }

    /// The text of the last message.
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

    /// Whether the turn succeeded.
    pub fn is_success(&self) -> bool {
        self.status() == TurnStatus::Success
    }

    /// Whether the turn was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.status() == TurnStatus::Interrupted
    }

    /// Whether the prompt was withdrawn before the turn began.
    pub fn is_cancelled(&self) -> bool {
        self.status() == TurnStatus::Cancelled
    }

    /// The error message; `None` if the turn succeeded.
    pub fn error(&self) -> Option<&str> {
        if self.is_success() {
            return None;
        }
        match self.finished.error.as_deref() {
            // The message of the CLI about an interrupt is for its developers.
            Some(message) if self.is_interrupted() && message.starts_with("[ede_diagnostic]") => {
                Some("the turn was interrupted")
            }
            message => Some(message.unwrap_or("the turn failed without an error message")),
        }
    }

    /// The usage limit that the turn has reached, if that is why it failed.
    ///
    /// The CLI reports limits as text. The [event](crate::Event) `RateLimit` has the time of the reset.
    pub fn usage_limit(&self) -> Option<UsageMessage> {
        let message = self.error()?;
        let found = UsageMessage::of(message).or_else(|| UsageMessage::of(self.text()));
        found.filter(|found| found.is_limit())
    }

    /// The cost of the turn, in USD.
    pub fn cost_usd(&self) -> f64 {
        self.finished.cost_usd.unwrap_or_default()
    }

    /// The tokens that the main agent used.
    pub fn usage(&self) -> Option<&Usage> {
        self.finished.usage.as_ref()
    }

    /// How many tool calls were denied.
    pub fn denials(&self) -> u64 {
        self.finished.permission_denials
    }

    /// The value for the JSON Schema of the session.
    pub fn structured_output(&self) -> Option<&RawJson> {
        self.finished.structured_output.as_ref()
    }

    /// The id of the conversation.
    pub fn session_id(&self) -> Option<&SessionId> {
        self.finished.session_id.as_ref()
    }

    /// All details.
    pub fn finished(&self) -> &TurnFinishedEvent {
        &self.finished
    }
}
