//! One answer of the model, from the request to the last of its lines.

use std::time::Instant;

use duologue_model::{Event, Model as _, ModelError, Part, Purpose, Request, StreamedMessage};
use duologue_protocol::content::ContentBlock;
use duologue_protocol::message::{StopReason, Usage};
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::system::{Informational, NoticeLevel, System};
use duologue_protocol::{RawObject, Text, Wire as _};
use serde_json::{Value, json};

use super::agent_loop::{AgentLoop, reminder};
use super::api_failures;
use super::shared::lock;
use duologue_agent::ToolCall;
use duologue_agent::TurnError;

/// The message after an answer that broke off.
const CUT: &str = "Your response above was cut off mid-stream. Resume directly from where it stops — \
    no apology, no recap. If none of it survived, answer the request from the start.";

/// The message after an answer that was too long. The words are the CLI's own.
const TOO_LONG: &str = "Output token limit hit. Resume directly — no apology, no recap of what you were doing. \
    Pick up mid-thought if that is where the cut happened. Break remaining work into smaller pieces.";

/// The message after an answer that was withheld. The words are the CLI's own.
const REFUSED: &str = "Your response above was stopped by a safety classifier — this is not a tool or API error. \
    The rest of it was withheld, and tool calls in it that had not finished did not run. \
    Do not produce that content again, even reworded.";

/// How often an answer may break off in a turn.
const MOST_CUTS: u32 = 3;

const MAX_TOKENS: u64 = 32_000;

impl AgentLoop {
    /// Asks the model, and sends its answer. Returns its tool calls.
    pub(super) async fn answer(&self) -> Result<Answered, TurnError> {
        let mut cuts = 0;
        loop {
            let request = self.request()?;
            let model = request.model().to_owned();
            let mut partial = PartialAnswer::default();
            match self.receive(request, &mut partial).await {
                Ok(()) if partial.is_empty() => continue,
                Ok(()) => return self.end(partial, &model).await,
                Err(Failed::Turn(error)) => {
                    self.keep_partial(&partial);
                    return Err(error);
                }
                Err(Failed::Model(ModelError::Overloaded(_))) if self.fall_back(&model).await => {}
                Err(Failed::Model(error)) => {
                    let broke_off = partial.has_content && error.is_transient();
                    if !broke_off || cuts == MOST_CUTS {
                        return Err(TurnError::Api(Box::new(api_failures::failure(
                            &error, &model,
                        ))));
                    }
                    cuts += 1;
                    for line in self.emitter.abort() {
                        self.emitter.session().say_line(line).await;
                    }
                    if !partial.calls.is_empty() {
                        return Ok(Answered { calls: partial.calls, ..Answered::default() });
                    }
                    self.emitter.synthetic_user(CUT).await?;
                    self.conversation.note(CUT);
                }
            }
        }
    }

    /// Switches to a fallback model for the rest of the turn. False if there is none left.
    async fn fall_back(&self, asked: &str) -> bool {
        let models = &self.shared.setup.fallback_models;
        let next = match models.iter().position(|model| model == asked) {
            Some(at) if lock(&self.fallback).is_some() => models.get(at + 1),
            _ => models.iter().find(|model| *model != asked),
        };
        let Some(next) = next.cloned() else { return false };
        let session = self.emitter.session();
        let line =
            api_failures::fell_back(asked, &next).session_id(session.id()).uuid(session.new_id());
        *lock(&self.fallback) = Some(next);
        session.say_line(System::from(Box::new(line))).await;
        true
    }

    fn request(&self) -> Result<Request, TurnError> {
        let agent_kinds = self.shared.agent_kinds().clone();
        let (system, only, model) = match &self.kind {
            None => (
                agent_kinds.main(),
                agent_kinds.chosen().and_then(|kind| agent_kinds.tools(kind)),
                None,
            ),
            Some(kind) => (agent_kinds.sub(kind), agent_kinds.tools(kind), agent_kinds.model(kind)),
        };
        let toolbox = self.shared.toolbox();
        let may = |name: &str| {
            let tool = toolbox.get(name);
            tool.is_none_or(|tool| tool.is_offered())
                && !self
                    .kind
                    .as_deref()
                    .or(agent_kinds.chosen())
                    .is_some_and(|kind| agent_kinds.lacks(kind, name))
                && match (&self.kind, &only) {
                    (None, None) => true,
                    (_, Some(only)) => only.iter().any(|tool| tool == name),
                    (Some(_), None) => tool.is_none_or(|tool| tool.for_subagents()),
                }
        };
        let chosen = match &self.kind {
            None => lock(&self.shared.turn_model).clone(),
            // A call may name a model.
            Some(_) => self.model.clone().or(model),
        };
        let model = chosen.map_or_else(
            || self.emitter.session().model().as_str().to_owned(),
            |name| super::models::full_name(&name),
        );
        let fallback = lock(&self.fallback).clone();
        let model = fallback.unwrap_or(model);
        let messages = self.prefaced(self.conversation.messages());
        self.shared.debug.write(|| format!("Asking {model}, {} messages", messages.len()));
        let mut body = json!({
            "model": model,
            "max_tokens": MAX_TOKENS,
            "messages": messages,
            "tools": self.shared.definitions(Some(&may)),
            "stream": true,
        });
        lock(&self.shared.reasoning).add_to(&model, &mut body);
        if !system.is_empty() {
            body["system"] = Value::from(system);
        }
        let request = Request::new(body).map_err(TurnError::failed)?;
        Ok(match &self.kind {
            None => request.with_purpose(Purpose::Main),
            Some(kind) => request.with_purpose(Purpose::Sub).with_agent(kind),
        })
    }

    /// The messages with what comes before the conversation: instructions and skills.
    fn prefaced(&self, mut messages: Vec<Value>) -> Vec<Value> {
        let mut preface = self.shared.preface(self.kind.as_deref());
        if self.kind.is_none()
            && self.emitter.session().permission_mode() == PermissionMode::Plan
            && let Some(text) = lock(&self.shared.plan_instructions).as_deref()
        {
            preface.push(reminder(text));
        }
        let first = messages.first_mut().filter(|first| first["role"] == "user");
        if let Some(content) = first.and_then(|first| first["content"].as_array_mut()) {
            let blocks = preface.into_iter().map(|text| json!({ "type": "text", "text": text }));
            // The results of tools come first in a message.
            let at = content.iter().take_while(|block| block["type"] == "tool_result").count();
            content.splice(at..at, blocks);
        }
        messages
    }

    async fn receive(&self, request: Request, partial: &mut PartialAnswer) -> Result<(), Failed> {
        let mut answer = self.shared.model.ask(request);
        self.emitter.set_request_id(None);
        loop {
            let part = tokio::select! {
                biased;
                () = self.emitter.interrupted() => return Err(Failed::Turn(TurnError::Interrupted)),
                part = answer.next() => part,
            };
            match part {
                None => return Ok(()),
                Some(Err(error)) => return Err(Failed::Model(error)),
                Some(Ok(Part::Event(event))) => self.event(&event, partial).await?,
                Some(Ok(Part::RequestId(id))) => self.emitter.set_request_id(Some(id.into())),
                Some(Ok(Part::Line(line))) => self.emitter.session().raw(&line).await,
                Some(Ok(Part::Retry(retry))) => {
                    *partial = PartialAnswer::default();
                    let session = self.emitter.session();
                    let line =
                        api_failures::retry(&retry).session_id(session.id()).uuid(session.new_id());
                    session.say_line(System::from(Box::new(line))).await;
                }
                Some(Ok(_)) => {}
            }
        }
    }

    async fn event(&self, event: &Event, partial: &mut PartialAnswer) -> Result<(), TurnError> {
        let finished = partial.folded.add(event).cloned();
        match &*event.name {
            "message_start" => {
                let millis = partial.started.elapsed().as_millis();
                self.emitter.set_time_to_first_event(u64::try_from(millis).unwrap_or(u64::MAX));
                if let Some(id) = partial.folded.id() {
                    self.emitter.set_next_message_id(id);
                }
                if let Some(model) = partial.folded.model() {
                    let usage = partial.folded.message()["usage"].to_string();
                    self.emitter
                        .set_message_model(model, Usage::from_json(&usage).unwrap_or_default());
                }
            }
            "content_block_start" => {
                partial.has_content = true;
                let json = event.json();
                let block = &json["content_block"];
                if let ("tool_use", Some(id), Some(name)) = (
                    block["type"].as_str().unwrap_or_default(),
                    block["id"].as_str(),
                    block["name"].as_str(),
                ) {
                    self.emitter.begin_tool_call(id, name).await?;
                }
            }
            "content_block_delta" => {
                let json = event.json();
                let delta = &json["delta"];
                if let Some(piece) = delta["text"].as_str() {
                    self.emitter.delta(piece).await?;
                } else if let Some(piece) = delta["thinking"].as_str() {
                    self.emitter.thinking_delta(piece).await?;
                } else if let Some(piece) = delta["partial_json"].as_str() {
                    self.emitter.tool_input_delta(piece).await?;
                }
            }
            _ => {}
        }
        if let Some(block) = finished {
            // Kept first, so that the transcript has all that the host has seen.
            let uuid = self.emitter.session().new_id();
            self.conversation.block(&partial.folded.message(), &block, &uuid);
            self.emitter.set_next_line_uuid(uuid);
            self.block(&block, partial).await?;
        }
        Ok(())
    }

    async fn block(&self, block: &Value, partial: &mut PartialAnswer) -> Result<(), TurnError> {
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        match text("type") {
            "text" => self.emitter.finish_block().await,
            "tool_use" => {
                let mut input = block["input"].clone();
                if let Some(tool) = self.shared.toolbox().get(text("name")) {
                    tool.complete_input(&mut input, &self.context);
                }
                let input = RawObject::of(&input).unwrap_or_default();
                let call = self.emitter.call_tool_as(text("id"), text("name"), input).await?;
                partial.calls.push(call);
                Ok(())
            }
            _ => match ContentBlock::from_json(&block.to_string()) {
                Ok(block) => self.emitter.finish_block_as(block).await,
                Err(_) => Ok(()),
            },
        }
    }

    /// Lets the model continue after an answer that was stopped, and reports it.
    pub(super) async fn continue_after(&self, reason: &str, id: &str) -> Result<(), TurnError> {
        let is_refusal = reason == "refusal";
        let text = if is_refusal { REFUSED } else { TOO_LONG };
        self.conversation.note(text);
        // The host does not see the messages to sub-agents.
        if self.kind.is_some() {
            return Ok(());
        }
        let session = self.emitter.session();
        if is_refusal {
            let who = super::models::title(&session.model());
            let content = format!(
                "{who}'s safeguards stopped the response above · continuing once with that noted"
            );
            session.inform(Informational::new().content(content).level(NoticeLevel::Notice)).await;
        }
        let mut line = self.emitter.user_line([ContentBlock::text(text)].into()).is_synthetic(true);
        line.refused_message_id = is_refusal.then(|| Text::from(id)).into();
        self.emitter.say_user(line).await;
        Ok(())
    }

    async fn end(&self, partial: PartialAnswer, asked: &str) -> Result<Answered, TurnError> {
        let folded = &partial.folded;
        let model = folded.model().unwrap_or(asked);
        let usage = Usage::from_json(&folded.message()["usage"].to_string()).unwrap_or_default();
        lock(&self.stats).message(&folded.tokens());
        self.note_usage();
        let (cost, is_unpriced) = self.shared.cost(model, &folded.tokens());
        let millis = u64::try_from(partial.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.emitter.used(&Text::from(model), &usage, cost, millis);
        let reason = folded.stop_reason().unwrap_or("end_turn");
        self.emitter.end_message(StopReason::from(reason)).await?;
        let (reason, id) = (reason.to_owned(), folded.id().unwrap_or_default().to_owned());
        if is_unpriced {
            self.warn(&format!("The price of {model} is not known: its cost counts as 0.")).await;
        }
        Ok(Answered { calls: partial.calls, reason, id })
    }

    /// Keeps the part of a text that was written before the interrupt.
    fn keep_partial(&self, partial: &PartialAnswer) {
        let done: String =
            partial.folded.content().iter().filter_map(|block| block["text"].as_str()).collect();
        let all = partial.folded.text();
        if let Some(rest) = all.strip_prefix(&done).filter(|rest| !rest.is_empty()) {
            let block = json!({ "type": "text", "text": rest });
            let uuid = self.emitter.session().new_id();
            self.conversation.block(&partial.folded.message(), &block, &uuid);
            self.emitter.set_next_line_uuid(uuid);
        }
    }
}

/// An answer that has come to its end.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// What the model wants done.
    pub(super) calls: Vec<ToolCall>,
    /// Why it stopped.
    pub(super) reason: String,
    /// Its message.
    pub(super) id: String,
}

/// How often in a turn the model continued after a cut.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    too_long: u32,
    refused: u32,
}

impl Cuts {
    /// Whether the model continues after it stopped for this reason.
    pub(super) fn next(&mut self, reason: &str) -> bool {
        let (count, most) = match reason {
            "max_tokens" => (&mut self.too_long, MOST_CUTS),
            "refusal" => (&mut self.refused, 1),
            _ => return false,
        };
        *count += 1;
        *count <= most
    }
}

/// The part of an answer that has arrived.
struct PartialAnswer {
    folded: StreamedMessage,
    calls: Vec<ToolCall>,
    has_content: bool,
    started: Instant,
}

impl PartialAnswer {
    /// The answer is empty: the reply of a script was only lines.
    fn is_empty(&self) -> bool {
        self.folded.id().is_none() && !self.has_content
    }
}

impl Default for PartialAnswer {
    fn default() -> Self {
        Self {
            folded: StreamedMessage::new(),
            calls: Vec::new(),
            has_content: false,
            started: Instant::now(),
        }
    }
}

/// Why an answer did not come to its end.
enum Failed {
    Turn(TurnError),
    Model(ModelError),
}

impl From<TurnError> for Failed {
    fn from(error: TurnError) -> Self {
        Self::Turn(error)
    }
}
