//! [`Streaming`]: the message that is being written.

use std::collections::{BTreeMap, HashMap};

use crate::content::ContentBlock;
use crate::id::{MessageId, ToolUseId};
use crate::lines::{Delta, StreamEvent, StreamLine};
use crate::message::Usage;
use crate::text::Text;

use super::event::{
    BlockAbandonedEvent, TextDeltaEvent, ThinkingDeltaEvent, ToolCallStartedEvent,
    ToolInputDeltaEvent,
};
use super::out::{MessageRef, Out};
use crate::budget::{Budget, Charge};

/// The memory for an open block without its text.
const OVERHEAD: usize = 256;

/// The smallest step in which a text grows.
const STEP: usize = 4 * 1024;

/// The message of one agent that is being written, and its open blocks.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    budget: Budget,
    message: MessageRef,
    open: BTreeMap<u64, OpenBlock>,
    /// The positions of the open tool calls.
    calls: HashMap<ToolUseId, u64>,
}

/// A block of which only pieces have come so far.
#[derive(Debug)]
struct OpenBlock {
    kind: Text,
    id: Option<ToolUseId>,
    /// The pieces so far. A copy: a piece would keep its whole line in memory.
    text: String,
    /// Its share of the budget.
    charge: Charge,
    /// How many bytes did not fit into the budget.
    omitted: u64,
}

impl OpenBlock {
    fn push(&mut self, piece: &str) {
        // After the first omitted piece all others are omitted, so that the beginning is kept.
        if self.omitted > 0 || !self.has_room(piece.len()) {
            self.omitted += piece.len() as u64;
        } else {
            self.text.push_str(piece);
        }
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let missing = (self.text.len() + bytes).saturating_sub(self.text.capacity());
        if missing == 0 {
            return true;
        }
        let more = missing.max(self.text.len() / 4).max(STEP);
        let more = if self.charge.grow(more) {
            more
        } else if self.charge.grow(missing) {
            missing
        } else {
            return false;
        };
        self.text.reserve_exact(more + self.text.capacity() - self.text.len());
        true
    }
}

impl Streaming {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Handles an event of the stream. Returns the tokens of the message, if the event has them.
    pub(super) fn event<'l>(
        &mut self,
        line: &'l StreamLine,
        out: &mut Out<'_>,
    ) -> Option<(MessageRef, &'l Usage)> {
        match line.event.value()? {
            StreamEvent::ContentBlockDelta(event) => {
                self.switch_to(line.api_message_id.value(), out);
                let index = event.index.as_u64().unwrap_or_default();
                self.delta(index, event.delta.value()?, out);
            }
            StreamEvent::ContentBlockStart(event) => {
                self.switch_to(line.api_message_id.value(), out);
                let index = event.index.as_u64().unwrap_or_default();
                self.start(index, event.content_block.value()?, out);
            }
            StreamEvent::MessageStart(event) => {
                let message = event.message.value()?;
                self.switch_to(message.id.value().or(line.api_message_id.value()), out);
                return Some((self.message.clone(), message.usage.value()?));
            }
            StreamEvent::MessageDelta(event) => {
                return Some((self.message.clone(), event.usage.value()?));
            }
            StreamEvent::MessageStop(_) => {
                if let Some(abandoned) = line.abandoned_blocks.value() {
                    let from = abandoned.from_block_index.as_u64().unwrap_or_default();
                    self.abandon_from(from, out);
                }
            }
            _ => {}
        }
        None
    }

    /// A block is finished.
    pub(super) fn finished(&mut self, block: &ContentBlock) {
        let found = match block {
            ContentBlock::ToolUse(call) => call.id.value().and_then(|id| self.calls.remove(id)),
            other => {
                let mut open = self.open.iter();
                open.find(|(_, open)| open.kind == other.tag()).map(|(index, _)| *index)
            }
        };
        if let Some(index) = found {
            self.open.remove(&index);
        }
    }

    /// A line of a message came. If it is another message, the open blocks are abandoned.
    pub(super) fn on_line(&mut self, id: Option<&MessageId>, out: &mut Out<'_>) {
        if let (Some(id), Some(streamed)) = (id, &self.message.0)
            && id != streamed
            && !self.open.is_empty()
        {
            self.abandon(out);
        }
    }

    /// Abandons the open blocks.
    pub(super) fn abandon(&mut self, out: &mut Out<'_>) {
        self.abandon_from(0, out);
        self.message = MessageRef::default();
    }

    fn abandon_from(&mut self, first: u64, out: &mut Out<'_>) {
        for block in self.open.split_off(&first).into_values() {
            if let Some(id) = &block.id {
                self.calls.remove(id);
            }
            if block.text.is_empty() && block.omitted == 0 && block.id.is_none() {
                continue;
            }
            let event = BlockAbandonedEvent::new()
                .kind(block.kind)
                .text(block.text)
                .id(block.id)
                .omitted_bytes((block.omitted > 0).then_some(block.omitted));
            out.emit_in(&self.message, event);
        }
    }

    fn switch_to(&mut self, id: Option<&MessageId>, out: &mut Out<'_>) {
        if let Some(id) = id
            && self.message.0.as_ref() != Some(id)
        {
            self.abandon(out);
            self.message = MessageRef(Some(id.detach()));
        }
    }

    fn start(&mut self, index: u64, block: &ContentBlock, out: &mut Out<'_>) {
        let mut call_id = None;
        if let ContentBlock::ToolUse(call) = block {
            call_id = call.id.value().map(ToolUseId::detach);
            let event = ToolCallStartedEvent::new()
                .id(call.id.value().cloned().unwrap_or_else(|| ToolUseId::from("")))
                .name(call.name.value().cloned().unwrap_or_default());
            out.emit_in(&self.message, event);
        }
        // Other kinds of blocks come as a whole.
        if matches!(
            block,
            ContentBlock::ToolUse(_) | ContentBlock::Text(_) | ContentBlock::Thinking(_)
        ) {
            self.open(index, block.tag(), call_id);
        }
    }

    /// Opens a block, if it fits into the budget.
    fn open(&mut self, index: u64, kind: &str, id: Option<ToolUseId>) {
        let cost = OVERHEAD + 2 * id.as_ref().map_or(0, |id| id.as_str().len());
        let Some(charge) = self.budget.charge(cost) else { return };
        if let Some(id) = &id {
            self.calls.insert(id.clone(), index);
        }
        let kind = Text::from(kind);
        let block = OpenBlock { kind, id, text: String::new(), charge, omitted: 0 };
        if let Some(before) = self.open.insert(index, block)
            && let Some(id) = before.id
            && self.calls.get(&id) == Some(&index)
            && self.open.get(&index).is_none_or(|open| open.id.as_ref() != Some(&id))
        {
            self.calls.remove(&id);
        }
    }

    fn delta(&mut self, index: u64, delta: &Delta, out: &mut Out<'_>) {
        let kind = match delta {
            Delta::Text(_) => "text",
            Delta::Thinking(_) => "thinking",
            Delta::InputJson(_) => "tool_use",
            _ => return,
        };
        if !self.open.contains_key(&index) {
            self.open(index, kind, None);
        }
        let Self { message, open, .. } = self;
        let mut keep = |piece: &Text| {
            let block = open.get_mut(&index)?;
            block.push(piece);
            block.id.clone()
        };
        match delta {
            Delta::Text(delta) => {
                let Some(text) = delta.text.value() else { return };
                keep(text);
                out.emit_in(message, TextDeltaEvent::new().text(text));
            }
            Delta::Thinking(delta) => {
                let Some(text) = delta.thinking.value() else { return };
                keep(text);
                out.emit_in(message, ThinkingDeltaEvent::new().text(text));
            }
            Delta::InputJson(delta) => {
                let Some(piece) = delta.partial_json.value() else { return };
                let id = keep(piece);
                out.emit_in(message, ToolInputDeltaEvent::new().partial_json(piece).id(id));
            }
            _ => {}
        }
    }
}
