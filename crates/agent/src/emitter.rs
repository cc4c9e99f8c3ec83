//! [`Emitter`]: what one agent sends, the main one or a sub-agent.

mod draft;
mod message;
mod permission;
mod question;
mod tool;
mod turn_record;
mod verdict;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duologue_protocol::content::{ContentBlock, TextBlock, ThinkingBlock};
use duologue_protocol::lines::{Assistant, Prompt, User};
use duologue_protocol::message::{StopReason, Usage};
use duologue_protocol::{AgentId, RawObject, Text, ToHost, ToolUseId};
use tokio::sync::watch;

use crate::agent::{TurnError, TurnResult};
use crate::clock;
use crate::connection::Stop;
use crate::session::Session;

pub use permission::{OtherAnswer, PermissionRules, STOPPED};
pub use question::PlanVerdict;
pub use tool::{ToolCall, ToolResult, ToolUse, canonical_tool_name};
pub use verdict::{Ask, Denial, Reason, Verdict};

pub(crate) use turn_record::TurnRecord;

use draft::{Draft, Kind};

/// What one agent sends: texts, thinking, tool calls and their results. [`Turn`](crate::Turn) is the
/// emitter of the main agent, [`Subagent`](crate::Subagent) that of another.
///
/// Everything between two tool results is one message of the model.
#[derive(Clone, Debug)]
pub struct Emitter {
    pub(crate) session: Session,
    pub(crate) record: Arc<Mutex<TurnRecord>>,
    draft: Arc<Mutex<Draft>>,
    pub(crate) who: Arc<Who>,
    pub(crate) stop: watch::Receiver<Stop>,
}

/// Which agent it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Who {
    /// The call that started the sub-agent; none for the main agent.
    pub(crate) parent: Option<ToolUseId>,
    pub(crate) agent_id: Option<AgentId>,
    pub(crate) kind: Option<Text>,
    pub(crate) task: Option<Text>,
    /// Whether only its tool calls are sent.
    pub(crate) is_hidden: bool,
}

impl Emitter {
    pub(crate) fn new(
        session: Session,
        record: Arc<Mutex<TurnRecord>>,
        who: Who,
        stop: watch::Receiver<Stop>,
    ) -> Self {
        Self { session, record, draft: Arc::default(), who: Arc::new(who), stop }
    }

    /// The conversation as a whole.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// Sends a text, as one block.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn say(&self, text: impl Into<Text> + Send) -> TurnResult {
        let text = text.into();
        self.finish_block().await?;
        self.stream(Kind::Text, &text).await?;
        self.finish_block().await
    }

    /// Sends thinking, as one block.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn think(&self, thinking: impl Into<Text> + Send) -> TurnResult {
        let thinking = thinking.into();
        self.finish_block().await?;
        self.stream(Kind::Thinking, &thinking).await?;
        self.finish_block().await
    }

    /// Sends a piece of a text. The pieces are one block until something else is sent, or
    /// [`finish_block`](Self::finish_block). With partial messages, each piece is sent.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn delta(&self, piece: &str) -> TurnResult {
        self.stream(Kind::Text, piece).await
    }

    /// Sends a piece of thinking.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn thinking_delta(&self, piece: &str) -> TurnResult {
        self.stream(Kind::Thinking, piece).await
    }

    async fn stream(&self, kind: Kind, piece: &str) -> TurnResult {
        if self.draft().open_kind().is_some_and(|open| open != kind) {
            self.finish_block().await?;
        }
        self.check_interrupt()?;
        self.close_calls().await?;
        self.emit(|emitter, draft, lines| {
            emitter.begin_message(draft, lines);
            emitter.begin_block(draft, kind, lines);
            emitter.more(draft, piece, lines);
        })
        .await;
        Ok(())
    }

    /// Ends the block that is being written.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn finish_block(&self) -> TurnResult {
        self.check_interrupt()?;
        self.emit(|emitter, draft, lines| {
            let Some((kind, text)) = draft.take_open() else { return };
            let block = match kind {
                // Only the model knows the input: see `call_tool_as`.
                Kind::Tool => return emitter.leave_block(draft, lines),
                Kind::Text => ContentBlock::Text(TextBlock::new().text(&text)),
                Kind::Thinking => {
                    ContentBlock::Thinking(ThinkingBlock::new().thinking(&text).signature(""))
                }
            };
            if kind == Kind::Text {
                emitter.note_text(&text);
            }
            emitter.end_block(draft, block, lines);
        })
        .await;
        Ok(())
    }

    /// Ends the block that is being written, as this block, which has more than the text.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn finish_block_as(&self, block: ContentBlock) -> TurnResult {
        if self.draft().open_kind().is_none() {
            return self.block(block).await;
        }
        self.check_interrupt()?;
        self.emit(|emitter, draft, lines| {
            draft.take_open();
            emitter.end_block(draft, block, lines);
        })
        .await;
        Ok(())
    }

    /// Sends a block of any kind.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn block(&self, block: ContentBlock) -> TurnResult {
        self.finish_block().await?;
        self.emit(|emitter, draft, lines| {
            emitter.begin_message(draft, lines);
            emitter.whole_block(draft, &block, lines);
            emitter.end_block(draft, block, lines);
        })
        .await;
        Ok(())
    }

    /// Calls a tool. Nothing is asked yet: see [`permit`](Self::permit), or
    /// [`use_tool`](Self::use_tool) for both.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn call_tool(&self, name: &str, input: RawObject) -> Result<ToolCall, TurnError> {
        let id = format!(
            "toolu_{}",
            self.session.new_id().replace('-', "").get(..24).unwrap_or_default()
        );
        self.call_tool_as(id, name, input).await
    }

    /// The same, under an id that the model chose.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn call_tool_as(
        &self,
        id: impl Into<ToolUseId> + Send,
        name: &str,
        input: RawObject,
    ) -> Result<ToolCall, TurnError> {
        let call = ToolCall { id: id.into(), name: Text::from(name), input };
        let block = ContentBlock::tool_use(call.id.clone(), name, call.input.clone());
        self.finish_call(block).await?;
        if self.is_main() {
            self.record().open(&call);
        }
        Ok(call)
    }

    /// Begins a call whose input is still being written. End it with [`call_tool_as`](Self::call_tool_as).
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn begin_tool_call(&self, id: &str, name: &str) -> TurnResult {
        self.finish_block().await?;
        let id = ToolUseId::from(id);
        self.emit(|emitter, draft, lines| {
            emitter.begin_message(draft, lines);
            emitter.begin_call(draft, &id, name, lines);
        })
        .await;
        Ok(())
    }

    /// Adds a piece to the input of the call that has begun.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn tool_input_delta(&self, piece: &str) -> TurnResult {
        self.check_interrupt()?;
        if self.draft().open_kind() == Some(Kind::Tool) {
            self.emit(|emitter, draft, lines| emitter.more(draft, piece, lines)).await;
        }
        Ok(())
    }

    /// Ends the call that has begun, or sends one at once.
    async fn finish_call(&self, block: ContentBlock) -> TurnResult {
        if self.draft().open_kind() != Some(Kind::Tool) {
            return self.block(block).await;
        }
        self.finish_block_as(block).await
    }

    /// Sets the API's request id for the messages that follow.
    pub fn set_request_id(&self, id: Option<Text>) {
        self.draft().request = id;
    }

    /// Sets the uuid of the next line with a block.
    pub fn set_next_line_uuid(&self, uuid: impl Into<Text>) {
        self.draft().line = Some(uuid.into());
    }

    /// Sets how many milliseconds the first event of the next message took.
    pub fn set_time_to_first_event(&self, millis: u64) {
        self.draft().took = Some(millis);
    }

    /// Ends the message: what follows belongs to another.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn end_message(&self, reason: StopReason) -> TurnResult {
        self.finish_block().await?;
        if self.is_main() {
            self.record().stop_reason = Some(reason.clone());
        }
        self.emit(|emitter, draft, lines| emitter.end(draft, Some(&reason), lines)).await;
        Ok(())
    }

    /// Sets the id of the next message. Without it, one is generated.
    pub fn set_next_message_id(&self, id: impl Into<Text>) {
        self.draft().name_next(id.into());
    }

    /// Sets the model of the messages that follow, and the usage that they begin with.
    pub fn set_message_model(&self, model: impl Into<Text>, usage: Usage) {
        self.draft().origin = Some((model.into(), usage));
    }

    /// Records what a message used and cost, before it [ends](Self::end_message). The result has the totals.
    pub fn used(&self, model: &Text, usage: &Usage, cost_usd: f64, api_millis: u64) {
        self.session.connection.with(|state| {
            state.usage.add(model, usage, cost_usd);
            state.usage.api_millis += api_millis;
        });
        self.draft().used = Some(usage.clone());
        if self.is_main() {
            self.record().add_usage(usage);
        }
    }

    /// Takes the prompts that arrived during this turn and belong to it. They arrive after the result of a tool; each is
    /// returned once.
    pub fn take_folded(&self) -> Vec<Prompt> {
        std::mem::take(&mut self.record().folded)
    }

    /// Takes what hooks want the model to know. Each text is returned once.
    pub fn take_context(&self) -> Vec<Text> {
        std::mem::take(&mut self.record().context)
    }

    /// Whether the turn was interrupted.
    pub fn is_interrupted(&self) -> bool {
        *self.stop.borrow() != Stop::No
    }

    /// Waits until the turn is interrupted.
    pub async fn interrupted(&self) {
        let mut stop = self.stop.clone();
        if stop.wait_for(|stop| *stop != Stop::No).await.is_err() {
            // The turn is over and cannot be interrupted any more.
            std::future::pending::<()>().await;
        }
    }

    /// Sends a message in the user's place that the user did not write.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn synthetic_user(&self, text: impl Into<Text> + Send) -> TurnResult {
        self.end_message(StopReason::EndTurn).await?;
        let line = self.user_line([ContentBlock::text(text)].into()).is_synthetic(true);
        self.say_user(line).await;
        Ok(())
    }

    pub(crate) fn check_interrupt(&self) -> TurnResult {
        if self.is_interrupted() { Err(TurnError::Interrupted) } else { Ok(()) }
    }

    /// Whether a message has begun that has not ended.
    pub(crate) fn is_in_message(&self) -> bool {
        self.draft().message.is_some()
    }

    /// Whether this is the main agent, not a sub-agent.
    pub fn is_main(&self) -> bool {
        self.who.parent.is_none()
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, TurnRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draft(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_text(&self, text: &str) {
        if self.is_main() {
            self.record().last_text = Text::from(text);
        }
    }

    /// Whether the answer is streamed.
    fn streams(&self) -> bool {
        self.is_main() && self.session.connection.options.partial
    }

    /// Makes lines and queues them together, so that those of two agents do not mix within a step.
    async fn emit(&self, make: impl FnOnce(&Self, &mut Draft, &mut Vec<ToHost>) + Send) {
        self.session.connection.room().await;
        self.emit_now(make);
    }

    pub(crate) fn emit_now(&self, make: impl FnOnce(&Self, &mut Draft, &mut Vec<ToHost>)) {
        let mut lines = Vec::new();
        let mut draft = self.draft();
        make(self, &mut draft, &mut lines);
        self.session.connection.with(|state| {
            for line in lines {
                state.link.say(line);
            }
        });
    }

    fn attribute(&self, line: &mut Assistant) {
        line.parent_tool_use_id = self.who.parent.clone().into();
        line.parent_tool_use_id = std::mem::take(&mut line.parent_tool_use_id).or_null();
        line.agent_id = self.who.agent_id.clone().into();
        line.subagent_type = self.who.kind.clone().into();
        line.task_description = self.who.task.clone().into();
    }

    /// A line in the user's place, with ids and attribution.
    pub fn user_line(&self, content: duologue_protocol::content::Content) -> User {
        let message = duologue_protocol::lines::UserMessage::new().role("user").content(content);
        let mut line = User::new()
            .message(message)
            .session_id(self.session.id())
            .uuid(self.session.new_id())
            .timestamp(clock::timestamp());
        line.parent_tool_use_id = self.who.parent.clone().into();
        line.parent_tool_use_id = std::mem::take(&mut line.parent_tool_use_id).or_null();
        line.agent_id = self.who.agent_id.clone().into();
        line.subagent_type = self.who.kind.clone().into();
        line.task_description = self.who.task.clone().into();
        line
    }

    /// Sends a line in the user's place. It counts as a step of the turn.
    pub async fn say_user(&self, line: User) {
        if self.is_main() {
            self.record().user_lines += 1;
        }
        self.session.connection.say(Box::new(line)).await;
    }
}
