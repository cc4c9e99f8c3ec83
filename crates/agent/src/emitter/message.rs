//! A message as lines: finished blocks, and the stream of events around them.

use duologue_protocol::content::{ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock};
use duologue_protocol::lines::{
    AbandonedBlocks, Assistant, ContentBlockDelta, ContentBlockStart, ContentBlockStop, Delta,
    InputJsonDelta, MessageDelta, MessageDeltaBody, MessageStart, MessageStop, SignatureDelta,
    StreamEvent, StreamLine, TextDelta, ThinkingDelta,
};
use duologue_protocol::message::{Message, StopReason, Usage};
use duologue_protocol::system::{Status, StatusKind, System, ThinkingTokens};
use duologue_protocol::{Field, Number, RawObject, Text, ToHost, ToolUseId};

use super::Emitter;
use super::draft::{Draft, Kind};
use crate::clock;

impl Emitter {
    pub(super) fn begin_message(&self, draft: &mut Draft, lines: &mut Vec<ToHost>) {
        if draft.message.is_some() {
            return;
        }
        let id = draft.take_name().unwrap_or_else(|| {
            let id = self.session.new_id().replace('-', "");
            Text::from(format!("msg_{}", id.get(..24).unwrap_or_default()))
        });
        draft.message = Some(id);
        draft.index = 0;
        draft.used = None;
        if !self.streams() {
            return;
        }
        // The first one was announced when the turn began.
        if self.record().first_line.is_some() {
            lines.push(self.requesting());
        }
        let message = self.message(draft, Vec::new());
        self.event(draft, MessageStart::new().message(message), lines);
        let Some(ToHost::StreamEvent(start)) = lines.last_mut() else { return };
        start.ttft_ms = draft.took.take().map(Number::from).into();
        if self.record().first_line.is_none() {
            let prompts = self.session.connection.with(|state| state.link.turn_prompts());
            start.user_message_uuid = prompts.last().cloned().into();
            start.user_message_uuids =
                Some(prompts).filter(|prompts| !prompts.is_empty()).map(Box::new).into();
        }
    }

    /// Reports that the model is being asked.
    pub(crate) fn requesting(&self) -> ToHost {
        let prompts = self.session.connection.with(|state| state.link.turn_prompts());
        let mut line = Status::new()
            .status(StatusKind::Requesting)
            .session_id(self.session.id())
            .uuid(self.session.new_id());
        line.user_message_uuids = Some(prompts).filter(|prompts| !prompts.is_empty()).into();
        ToHost::System(System::from(Box::new(line)))
    }

    pub(super) fn begin_block(&self, draft: &mut Draft, kind: Kind, lines: &mut Vec<ToHost>) {
        if draft.open(kind) && self.streams() {
            let empty = match kind {
                Kind::Text => ContentBlock::Text(TextBlock::new().text("")),
                Kind::Thinking => {
                    ContentBlock::Thinking(ThinkingBlock::new().thinking("").signature(""))
                }
                // It begins with its name: see `begin_tool`.
                Kind::Tool => return,
            };
            let start = ContentBlockStart::new().index(draft.index).content_block(empty);
            self.event(draft, start, lines);
        }
    }

    pub(super) fn more(&self, draft: &mut Draft, piece: &str, lines: &mut Vec<ToHost>) {
        draft.append(piece);
        let delta = match draft.open_kind() {
            Some(Kind::Text) => Delta::Text(TextDelta::new().text(piece)),
            Some(Kind::Tool) => Delta::InputJson(InputJsonDelta::new().partial_json(piece)),
            Some(Kind::Thinking) => {
                if self.is_main() {
                    self.thought(draft, piece, lines);
                }
                Delta::Thinking(ThinkingDelta::new().thinking(piece))
            }
            None => return,
        };
        self.delta_event(draft, delta, lines);
    }

    /// The amount of thinking is reported even without partial messages.
    fn thought(&self, draft: &mut Draft, piece: &str, lines: &mut Vec<ToHost>) {
        let tokens = u64::try_from(piece.len() / 4).unwrap_or_default().max(1);
        draft.thought += tokens;
        let mut line = ThinkingTokens::new()
            .estimated_tokens(draft.thought)
            .estimated_tokens_delta(tokens)
            .session_id(self.session.id())
            .uuid(self.session.new_id());
        line.user_message_uuid =
            self.session.connection.with(|state| state.link.turn_prompts()).pop().into();
        lines.push(ToHost::System(System::from(Box::new(line))));
    }

    /// The beginning of a call whose input is still being written.
    pub(super) fn begin_call(
        &self,
        draft: &mut Draft,
        id: &ToolUseId,
        name: &str,
        lines: &mut Vec<ToHost>,
    ) {
        draft.open(Kind::Tool);
        let mut call = ToolUseBlock::new().name(name).input(RawObject::default());
        call.id = id.clone().into();
        let start =
            ContentBlockStart::new().index(draft.index).content_block(ContentBlock::ToolUse(call));
        self.event(draft, start, lines);
    }

    /// The start and the deltas of a block that is sent at once.
    pub(super) fn whole_block(&self, draft: &Draft, block: &ContentBlock, lines: &mut Vec<ToHost>) {
        let mut empty = block.clone();
        let mut input = None;
        if let ContentBlock::ToolUse(call) = block {
            let mut started = ToolUseBlock::new().input(RawObject::default());
            started.id = call.id.clone();
            started.name = call.name.clone();
            input = call.input.value().map(|input| Text::from(input.as_json()));
            empty = ContentBlock::ToolUse(started);
        }
        let start = ContentBlockStart::new().index(draft.index).content_block(empty);
        self.event(draft, start, lines);
        if let Some(json) = input {
            let delta = Delta::InputJson(InputJsonDelta::new().partial_json(json));
            self.delta_event(draft, delta, lines);
        }
    }

    /// A finished block: its line comes before its end in the stream.
    pub(super) fn end_block(
        &self,
        draft: &mut Draft,
        block: ContentBlock,
        lines: &mut Vec<ToHost>,
    ) {
        if let ContentBlock::Thinking(thinking) = &block {
            let signature = thinking.signature.value().cloned().unwrap_or_default();
            let delta = Delta::Signature(SignatureDelta::new().signature(signature));
            self.delta_event(draft, delta, lines);
        }
        let is_tool = matches!(block, ContentBlock::ToolUse(_));
        if is_tool || !self.who.is_hidden {
            lines.push(ToHost::Assistant(Box::new(self.line(draft, block))));
        }
        self.event(draft, ContentBlockStop::new().index(draft.index), lines);
        draft.index += 1;
    }

    /// The end of a block that came to nothing, so that the stream stays balanced.
    pub(super) fn leave_block(&self, draft: &mut Draft, lines: &mut Vec<ToHost>) {
        self.event(draft, ContentBlockStop::new().index(draft.index), lines);
        draft.index += 1;
    }

    pub(super) fn end(
        &self,
        draft: &mut Draft,
        reason: Option<&StopReason>,
        lines: &mut Vec<ToHost>,
    ) {
        if draft.message.is_none() {
            return;
        }
        let mut body = MessageDeltaBody::new();
        body.stop_reason = reason.cloned().into();
        body.stop_reason = std::mem::take(&mut body.stop_reason).or_null();
        body.stop_sequence = Field::Null;
        let used = draft.used.take().unwrap_or_else(|| Usage::new().output_tokens(1_u64));
        let delta = MessageDelta::new().delta(body).usage(used);
        self.event(draft, Box::new(delta), lines);
        self.event(draft, MessageStop::new(), lines);
        draft.message = None;
    }

    /// The message is cut short: what was written of a text is a line all the same. The rest of the
    /// stream, which keeps its blocks balanced, is returned: the caller sends it last.
    pub fn abort(&self) -> Vec<ToHost> {
        let mut rest = Vec::new();
        self.emit_now(|emitter, draft, lines| {
            let Some(id) = draft.message.clone() else { return };
            let open = draft.take_open();
            let was_open = open.is_some();
            if let Some((Kind::Text, text)) = open
                && !text.is_empty()
                && !emitter.who.is_hidden
            {
                let line = emitter.line(draft, ContentBlock::text(&text)).aborted(true);
                lines.push(ToHost::Assistant(Box::new(line)));
            }
            if was_open {
                emitter.event(draft, ContentBlockStop::new().index(draft.index), &mut rest);
                draft.index += 1;
            }
            emitter.end(draft, None, &mut rest);
            if let Some(ToHost::StreamEvent(stop)) = rest.last_mut() {
                let from = AbandonedBlocks::new().api_message_id(id).from_block_index(draft.index);
                stop.abandoned_blocks = Field::Value(Box::new(from));
            }
        });
        rest
    }

    fn line(&self, draft: &mut Draft, block: ContentBlock) -> Assistant {
        let uuid = draft.line.take().unwrap_or_else(|| self.session.new_id().into());
        let mut line = Assistant::new()
            .message(self.message(draft, vec![block]))
            .session_id(self.session.id())
            .uuid(uuid)
            .timestamp(clock::timestamp());
        line.request_id = draft.request.clone().into();
        self.attribute(&mut line);
        if self.is_main() && self.record().begins() {
            let prompts = self.session.connection.with(|state| state.link.turn_prompts());
            if let Some(last) = prompts.last() {
                line = line.user_message_uuid(last.clone()).user_message_uuids(prompts);
            }
        }
        line
    }

    pub(super) fn message(&self, draft: &Draft, content: Vec<ContentBlock>) -> Message {
        let (model, usage) = draft.origin.clone().unwrap_or_else(|| {
            (self.session.model(), Usage::new().input_tokens(0_u64).output_tokens(1_u64))
        });
        let mut message = Message::new()
            .id(draft.message.clone().unwrap_or_default())
            .kind("message")
            .role("assistant")
            .model(model)
            .content(content)
            .usage(usage);
        message.stop_reason = Field::Null;
        message.stop_sequence = Field::Null;
        message
    }

    /// A message that no model wrote.
    pub(crate) fn synthetic_line(&self, text: &str, reason: StopReason) -> Assistant {
        let mut message = Message::new()
            .id(self.session.new_id())
            .kind("message")
            .role("assistant")
            .model("<synthetic>")
            .content([ContentBlock::text(text)])
            .stop_reason(reason)
            .stop_sequence("")
            .usage(crate::usage::nothing());
        message.container = Field::Null;
        let mut line = Assistant::new()
            .message(message)
            .session_id(self.session.id())
            .uuid(self.session.new_id())
            .timestamp(clock::timestamp());
        line.parent_tool_use_id = Field::Null;
        line
    }

    /// Sends a message that no model wrote.
    pub(crate) async fn synthetic_assistant(&self, text: &str) {
        let line = self.synthetic_line(text, StopReason::EndTurn);
        self.session.connection.say(Box::new(line)).await;
    }

    fn delta_event(&self, draft: &Draft, delta: Delta, lines: &mut Vec<ToHost>) {
        self.event(draft, ContentBlockDelta::new().index(draft.index).delta(delta), lines);
    }

    fn event(&self, draft: &Draft, event: impl Into<Event>, lines: &mut Vec<ToHost>) {
        if !self.streams() {
            return;
        }
        let mut line = StreamLine::new()
            .event(event.into().0)
            .session_id(self.session.id())
            .uuid(self.session.new_id());
        line.parent_tool_use_id = Field::Null;
        line.api_message_id = draft.message.clone().map(Into::into).into();
        lines.push(ToHost::StreamEvent(Box::new(line)));
    }
}

/// A stream event, boxed or not.
struct Event(StreamEvent);

macro_rules! events {
    ($($plain:ty),* ; $($boxed:ty),*) => {
        $(impl From<$plain> for Event {
            fn from(event: $plain) -> Self {
                Self(event.into())
            }
        })*
        $(impl From<$boxed> for Event {
            fn from(event: $boxed) -> Self {
                Self(Box::new(event).into())
            }
        })*
    };
}

events! {
    ContentBlockDelta, ContentBlockStop, MessageStop, Box<MessageDelta>;
    ContentBlockStart, MessageStart
}
