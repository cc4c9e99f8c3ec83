//! Blocks: what is remembered of one, and how it is reported.

use std::hash::{DefaultHasher, Hasher as _};

use crate::content::{ContentBlock, ToolUseBlock};
use crate::id::ToolUseId;
use crate::json::RawJson;
use crate::lines::Assistant;
use crate::text::Text;
use crate::wire::Field;

use super::event::{BlockEvent, TextEvent, ThinkingEvent, ToolCallEvent};
use super::out::{MessageRef, Out};
use crate::budget::{Budget, Charge, compact};

/// The memory for a remembered block without its text.
const OVERHEAD: usize = 128;

/// What is remembered of a block, to recognise it.
#[derive(Debug)]
pub(super) struct Known {
    kind: Kind,
    content: Content,
    /// Its share of the budget.
    _charge: Charge,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call,
    Other,
}

#[derive(Debug)]
enum Content {
    Whole(Text),
    /// It did not fit into the budget: its length and its hash.
    Hash(usize, u64),
}

/// The part of a block by which it is recognised.
fn content(block: &ContentBlock) -> (Kind, Text) {
    match block {
        ContentBlock::Text(block) => (Kind::Text, text(&block.text)),
        ContentBlock::Thinking(block) => (Kind::Thinking, text(&block.thinking)),
        ContentBlock::ToolUse(call) => {
            let id = call.id.as_str();
            // A call without an id differs from one whose id is empty.
            (Kind::Call, id.map_or(Text::from_static("\0"), Text::from))
        }
        other => (Kind::Other, Text::from(RawJson::from_wire(other).as_json())),
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl Content {
    fn new(content: &Text, budget: &Budget) -> (Self, Option<Charge>) {
        let content = compact(content);
        if let Some(charge) = budget.charge(content.retained() + OVERHEAD) {
            return (Self::Whole(content), Some(charge));
        }
        (Self::Hash(content.len(), hash(&content)), budget.charge(OVERHEAD))
    }

    fn len(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Hash(length, _) => *length,
        }
    }

    /// Whether that text begins with this content.
    fn begins(&self, text: &str) -> bool {
        match self {
            Self::Whole(known) => text.starts_with(known.as_str()),
            Self::Hash(length, known) => {
                text.get(..*length).is_some_and(|beginning| hash(beginning) == *known)
            }
        }
    }
}

impl Known {
    /// What is remembered of a block; `None` if the budget is used up.
    pub(super) fn of(block: &ContentBlock, budget: &Budget) -> Option<Self> {
        let (kind, content) = content(block);
        let (content, charge) = Content::new(&content, budget);
        Some(Self { kind, content, _charge: charge? })
    }

    /// Whether the block is this one, or a longer version of it.
    pub(super) fn is_restated_by(&self, block: &ContentBlock) -> bool {
        let (kind, now) = content(block);
        let may_grow = matches!(kind, Kind::Text | Kind::Thinking);
        kind == self.kind
            && (may_grow || now.len() == self.content.len())
            && self.content.begins(&now)
    }

    /// Replaces the text by a longer one. Returns what was added.
    pub(super) fn grow(&mut self, block: &ContentBlock, budget: &Budget) -> Option<FinishedBlock> {
        let (kind, now) = content(block);
        if kind != self.kind || !matches!(kind, Kind::Text | Kind::Thinking) {
            return None;
        }
        let added =
            now.get(self.content.len()..).filter(|added| !added.is_empty()).map(Text::from)?;
        // First free the memory of the shorter text.
        self.content = Content::Hash(0, 0);
        let (content, charge) = Content::new(&now, budget);
        self.content = content;
        if let Some(charge) = charge {
            self._charge = charge;
        }
        Some(match kind {
            Kind::Thinking => FinishedBlock::Thinking(ThinkingEvent::new().text(added)),
            _ => FinishedBlock::Text(TextEvent::new().text(added)),
        })
    }

    /// Whether it is a text that was not kept.
    pub(super) fn is_lost_text(&self) -> bool {
        self.kind == Kind::Text && matches!(self.content, Content::Hash(..))
    }

    pub(super) fn text(&self) -> Option<Text> {
        match (self.kind, &self.content) {
            (Kind::Text, Content::Whole(text)) => Some(text.clone()),
            _ => None,
        }
    }
}

fn text(field: &Field<Text>) -> Text {
    field.value().cloned().unwrap_or_default()
}

/// A finished block that is about to be reported.
#[derive(Debug)]
pub(super) enum FinishedBlock {
    Text(TextEvent),
    Thinking(ThinkingEvent),
    Call(ToolCallEvent),
    Other(BlockEvent),
}

impl FinishedBlock {
    pub(super) fn of(block: &ContentBlock, line: &Assistant) -> Self {
        match block {
            ContentBlock::Text(block) => {
                let event = TextEvent::new()
                    .text(text(&block.text))
                    .aborted(line.aborted.is_true())
                    .error(line.error.value().cloned());
                Self::Text(event)
            }
            ContentBlock::Thinking(block) => {
                let event = ThinkingEvent::new().text(text(&block.thinking));
                Self::Thinking(event.aborted(line.aborted.is_true()))
            }
            ContentBlock::ToolUse(call) => Self::Call(tool_call(call)),
            other => {
                let event = BlockEvent::new().kind(other.tag());
                Self::Other(event.block(RawJson::from_wire(other)))
            }
        }
    }

    /// How many bytes it keeps in memory.
    pub(super) fn retained(&self) -> usize {
        match self {
            Self::Text(event) => event.text.retained(),
            Self::Thinking(event) => event.text.retained(),
            Self::Call(_) | Self::Other(_) => 0,
        }
    }

    /// Whether a snapshot may show more of it later.
    pub(super) fn may_grow(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Thinking(_))
    }

    pub(super) fn replace_text(&mut self, block: &ContentBlock) {
        match (self, block) {
            (Self::Text(event), ContentBlock::Text(block)) => event.text = text(&block.text),
            (Self::Thinking(event), ContentBlock::Thinking(block)) => {
                event.text = text(&block.thinking);
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

fn tool_call(call: &ToolUseBlock) -> ToolCallEvent {
    ToolCallEvent::new()
        .id(call.id.value().cloned().unwrap_or_else(|| ToolUseId::from("")))
        .name(text(&call.name))
        .input(call.input.value().cloned().unwrap_or_default())
}
