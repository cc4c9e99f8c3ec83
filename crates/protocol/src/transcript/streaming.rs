//! [`Streaming`]: the message that is being written.

use std::collections::{BTreeMap, HashMap};

use crate::content::ContentBlock;
use crate::id::{MessageId, ToolUseId};
use crate::lines::{Delta, StreamEvent, StreamLine};
use crate::message::Usage;
use crate::text::Text;

use super::body::{BlockAbandoned, TextDelta, ThinkingDelta, ToolCallStarted, ToolInputDelta};
use super::out::{MessageRef, Out};

/// The message of one agent that is being written, and its open blocks.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    message: MessageRef,
    open: BTreeMap<u64, OpenBlock>,
    /// Where the open tool calls stand.
    calls: HashMap<ToolUseId, u64>,
}

/// A block of which pieces have come, but not the whole.
#[derive(Debug, Default)]
struct OpenBlock {
    kind: Text,
    id: Option<ToolUseId>,
    /// What has come of it: a copy, as each piece would keep its whole line.
    text: String,
}

impl Streaming {
    /// Takes an event of the stream; gives what the message has used, if the event tells.
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

    /// A finished block came: it is open no longer.
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

    /// A line of a message came: if it is another one, nothing more comes of the open blocks.
    pub(super) fn on_line(&mut self, id: Option<&MessageId>, out: &mut Out<'_>) {
        if let (Some(id), Some(streamed)) = (id, &self.message.0)
            && id != streamed
            && !self.open.is_empty()
        {
            self.abandon(out);
        }
    }

    /// Nothing more comes of the open blocks.
    pub(super) fn abandon(&mut self, out: &mut Out<'_>) {
        self.abandon_from(0, out);
        self.message = MessageRef::default();
    }

    fn abandon_from(&mut self, first: u64, out: &mut Out<'_>) {
        for block in self.open.split_off(&first).into_values() {
            if let Some(id) = &block.id {
                self.calls.remove(id);
            }
            if block.text.is_empty() && block.id.is_none() {
                continue;
            }
            let mut event = BlockAbandoned::new().kind(block.kind).text(block.text);
            event.id = block.id.into();
            out.emit_in(&self.message, event);
        }
    }

    fn switch_to(&mut self, id: Option<&MessageId>, out: &mut Out<'_>) {
        if let Some(id) = id
            && self.message.0.as_ref() != Some(id)
        {
            self.abandon(out);
            self.message = MessageRef(Some(id.clone()));
        }
    }

    fn start(&mut self, index: u64, block: &ContentBlock, out: &mut Out<'_>) {
        let mut open = OpenBlock { kind: block.tag().into(), ..OpenBlock::default() };
        if let ContentBlock::ToolUse(call) = block {
            open.id = call.id.value().cloned();
            if let Some(id) = call.id.value() {
                self.calls.insert(id.clone(), index);
            }
            let mut event = ToolCallStarted::new();
            event.id = call.id.clone();
            event.name = call.name.clone();
            out.emit_in(&self.message, event);
        }
        // Blocks of other kinds come whole: only those with pieces can be left unfinished.
        if matches!(
            block,
            ContentBlock::ToolUse(_) | ContentBlock::Text(_) | ContentBlock::Thinking(_)
        ) {
            self.open.insert(index, open);
        }
    }

    fn delta(&mut self, index: u64, delta: &Delta, out: &mut Out<'_>) {
        let Self { message, open, .. } = self;
        let mut keep = |kind: &'static str, piece: &Text| {
            let block = open.entry(index).or_default();
            if block.kind.is_empty() {
                block.kind = Text::from_static(kind);
            }
            block.text.push_str(piece);
            block.id.clone()
        };
        match delta {
            Delta::Text(delta) => {
                let Some(text) = delta.text.value() else { return };
                keep("text", text);
                out.emit_in(message, TextDelta::new().text(text));
            }
            Delta::Thinking(delta) => {
                let Some(text) = delta.thinking.value() else { return };
                keep("thinking", text);
                out.emit_in(message, ThinkingDelta::new().text(text));
            }
            Delta::InputJson(delta) => {
                let Some(piece) = delta.partial_json.value() else { return };
                let id = keep("tool_use", piece);
                let mut event = ToolInputDelta::new().partial_json(piece);
                event.id = id.into();
                out.emit_in(message, event);
            }
            _ => {}
        }
    }
}
