//! Blocks: what is known of one, and how it is told.

use crate::content::{ContentBlock, ToolUseBlock};
use crate::json::RawJson;
use crate::lines::Assistant;
use crate::text::Text;
use crate::wire::Field;

use super::body::{OtherBlock, TextFinished, ThinkingFinished, ToolCall};
use super::out::{MessageRef, Out};

/// What is remembered of a block, so that it is known again.
#[derive(Debug)]
pub(super) enum Known {
    Text(Text),
    Thinking(Text),
    Call(Option<Text>),
    Other(RawJson),
}

impl Known {
    pub(super) fn of(block: &ContentBlock) -> Self {
        match block {
            ContentBlock::Text(block) => Self::Text(text(&block.text)),
            ContentBlock::Thinking(block) => Self::Thinking(text(&block.thinking)),
            ContentBlock::ToolUse(call) => Self::Call(call.id.as_str().map(Text::from)),
            other => Self::Other(RawJson::from_wire(other)),
        }
    }

    /// Whether the block is this one, perhaps grown.
    pub(super) fn is_restated_by(&self, block: &ContentBlock) -> bool {
        match (self, block) {
            (Self::Text(known), ContentBlock::Text(block)) => {
                text(&block.text).starts_with(known.as_str())
            }
            (Self::Thinking(known), ContentBlock::Thinking(block)) => {
                text(&block.thinking).starts_with(known.as_str())
            }
            (Self::Call(known), ContentBlock::ToolUse(call)) => {
                known.as_deref() == call.id.as_str()
            }
            (Self::Other(known), block) => *known == RawJson::from_wire(block),
            _ => false,
        }
    }

    /// Takes over a text that has become longer; gives what was added.
    pub(super) fn grow(&mut self, block: &ContentBlock) -> Option<Opening> {
        let (known, now) = match (self, block) {
            (Self::Text(known), ContentBlock::Text(block)) => (known, text(&block.text)),
            (Self::Thinking(known), ContentBlock::Thinking(block)) => {
                (known, text(&block.thinking))
            }
            _ => return None,
        };
        let added = now.get(known.len()..).filter(|added| !added.is_empty()).map(Text::from)?;
        *known = now;
        Some(match block {
            ContentBlock::Thinking(_) => Opening::Thinking(ThinkingFinished::new().text(added)),
            _ => Opening::Text(TextFinished::new().text(added)),
        })
    }

    pub(super) fn text(&self) -> Option<Text> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Thinking(_) | Self::Call(_) | Self::Other(_) => None,
        }
    }
}

fn text(field: &Field<Text>) -> Text {
    field.value().cloned().unwrap_or_default()
}

/// A finished block that is about to be told.
#[derive(Debug)]
pub(super) enum Opening {
    Text(TextFinished),
    Thinking(ThinkingFinished),
    Call(ToolCall),
    Other(OtherBlock),
}

impl Opening {
    pub(super) fn of(block: &ContentBlock, line: &Assistant) -> Self {
        match block {
            ContentBlock::Text(block) => {
                let mut event = TextFinished::new().text(text(&block.text));
                event.aborted = line.aborted;
                event.error = line.error.clone();
                Self::Text(event)
            }
            ContentBlock::Thinking(block) => {
                let mut event = ThinkingFinished::new().text(text(&block.thinking));
                event.aborted = line.aborted;
                Self::Thinking(event)
            }
            ContentBlock::ToolUse(call) => Self::Call(tool_call(call)),
            other => {
                let event = OtherBlock::new().kind(other.tag());
                Self::Other(event.block(RawJson::from_wire(other)))
            }
        }
    }

    /// Whether a snapshot may show more of it later.
    pub(super) fn may_grow(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Thinking(_))
    }

    pub(super) fn replace_text(&mut self, block: &ContentBlock) {
        match (self, block) {
            (Self::Text(event), ContentBlock::Text(block)) => event.text = text(&block.text).into(),
            (Self::Thinking(event), ContentBlock::Thinking(block)) => {
                event.text = text(&block.thinking).into();
            }
            _ => {}
        }
    }

    pub(super) fn emit(self, message: &MessageRef, out: &mut Out<'_>) {
        match self {
            Self::Text(event) => out.emit_in(message, event),
            Self::Thinking(event) => out.emit_in(message, event),
            Self::Call(event) => out.emit_in(message, event),
            Self::Other(event) => out.emit_in(message, event),
        }
    }
}

fn tool_call(call: &ToolUseBlock) -> ToolCall {
    let mut event = ToolCall::new();
    event.id = call.id.clone().or_null();
    event.name = call.name.clone().or_null();
    event.input = call.input.clone().or_null();
    event
}
