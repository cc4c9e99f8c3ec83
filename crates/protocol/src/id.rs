//! Ids: newtypes over what a peer chose, never forced to be UUIDs.

use crate::json::{Fault, Parser, Writer};
use crate::text::Text;
use crate::wire::{Wire, id};

/// The inside of every id: its text, and whether the wire had it as a bare number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id {
    text: Text,
    number: bool,
}

impl Id {
    pub(crate) const fn text(text: Text) -> Self {
        Self { text, number: false }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn detach(&self) -> Self {
        Self { text: self.text.detach(), number: self.number }
    }

    #[inline]
    pub(crate) fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        match parser.kind()? {
            crate::json::Kind::String => Ok(Self::text(parser.string()?)),
            crate::json::Kind::Number => Ok(Self { text: parser.number_text()?, number: true }),
            other => Err(parser.wrong_type("an id (a string or a number)", other)),
        }
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        if self.number {
            out.verbatim(&self.text);
        } else {
            self.text.encode(out);
        }
    }
}

id! {
    /// Names one control request among those its sender has open, and its answer.
    RequestId,
    /// Names a conversation. It may change in the middle of a stream (`/clear`, fork).
    SessionId,
    /// Names one call of a tool: `toolu_…`.
    ToolUseId,
    /// Names one message of the model: `msg_…`. All lines of one message share it.
    MessageId,
    /// Names one line, or a prompt by the uuid its host gave it.
    Uuid,
    /// Names a task that runs beside the conversation: a sub-agent or a background command.
    TaskId,
    /// Names a sub-agent.
    AgentId,
    /// Names a hook callback, by the host's own choice: `hook_0`.
    CallbackId,
}
