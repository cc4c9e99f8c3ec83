//! Ids: newtypes over what a peer chose, never forced to be UUIDs.

use crate::json::{Fault, Parser, Writer};
use crate::text::Text;
use crate::wire::{Wire, id};

/// The inside of every id: its text, and whether the wire had it as a bare number.
///
/// Numbers are boxed since they are rare: so an id is no larger than its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Id {
    Text(Text),
    Number(Box<Text>),
}

impl Id {
    pub(crate) const fn text(text: Text) -> Self {
        Self::Text(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(text) => text,
        }
    }

    pub(crate) fn detach(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.detach()),
            Self::Number(text) => Self::Number(Box::new(text.detach())),
        }
    }

    #[inline]
    pub(crate) fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        match parser.kind()? {
            crate::json::Kind::String => parser.string().map(Self::Text),
            crate::json::Kind::Number => Ok(Self::Number(Box::new(parser.number_text()?))),
            other => Err(parser.wrong_type("an id (a string or a number)", other)),
        }
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        match self {
            Self::Text(text) => text.encode(out),
            Self::Number(text) => out.verbatim(text),
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
