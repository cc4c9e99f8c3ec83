//! Turns and agents: beginning and ending.

use crate::control::AgentRequest;
use crate::id::{ToolUseId, Uuid};
use crate::json::Number;
use crate::legacy::decode_result;
use crate::lines::TurnResult;
use crate::message::ModelUsage;
use crate::text::Text;
use crate::wire::{Field, Map};

use super::Transcript;
use super::agents::{Finished, Started};
use super::body::*;
use super::out::Out;

impl Transcript {
    pub(super) fn begin_turn(&mut self) {
        self.echoed = None;
        let Some(turn) = self.turns.begin() else { return };
        turn.prompts = std::mem::take(&mut self.taken);
        let prompts = turn.prompts.clone();
        let mut event = TurnStarted::new().prompts(prompts);
        event.session_id = self.session.clone().into();
        self.out(None).emit(event);
    }

    /// These prompts are taken: into the turn that runs, or into the next one.
    pub(super) fn take_prompts<'u>(&mut self, uuids: impl Iterator<Item = &'u Uuid>) {
        for uuid in uuids {
            if let Some(prompt) = self.prompts.settle(uuid) {
                self.tell_taken(prompt.uuid, None);
            }
        }
    }

    /// Where the wire does not tell which prompt a turn answers, it is the one that waited longest.
    pub(super) fn take_prompt_by_order(&mut self) {
        let silent = self.turns.running().is_some_and(|turn| turn.prompts.is_empty());
        if silent && let Some(prompt) = self.prompts.settle_oldest() {
            self.tell_taken(prompt.uuid, None);
        }
    }

    /// Tells that a prompt was taken, and notes it in its turn.
    pub(super) fn tell_taken(&mut self, uuid: Option<Uuid>, text: Option<Text>) {
        let mut event = PromptAccepted::new();
        event.uuid = uuid.clone().into();
        event.text = text.into();
        self.out(None).emit(event);
        // A prompt without a name must still be seen to have been taken.
        let name = uuid.clone().unwrap_or_else(|| Uuid::from(""));
        let prompts = match self.turns.running() {
            Some(turn) => {
                turn.prompts.push(name);
                turn.prompts.clone()
            }
            None => {
                self.taken.push(name);
                self.taken.clone()
            }
        };
        if prompts.len() > 1 {
            let mut event = PromptMerged::new().with(named(&prompts));
            event.uuid = uuid.into();
            self.out(None).emit(event);
        }
    }

    pub(super) fn result(&mut self, result: &TurnResult) {
        if self.turns.current().is_none() {
            self.begin_turn();
        }
        let named_by_result = result.user_message_uuid.value().into_iter();
        let uuids: Vec<&Uuid> = named_by_result.chain(result.user_message_uuids.items()).collect();
        if uuids.is_empty() && result.origin.value().is_none() {
            self.take_prompt_by_order();
        }
        let current = self.turns.current();
        let Some(mut turn) = self.turns.end(result) else { return };
        // Prompts that were folded into the turn and never told of.
        for uuid in uuids {
            if let Some(prompt) = self.prompts.settle(uuid) {
                let mut out = Out::new(&mut self.events, Some(turn.number), None);
                let mut event = PromptAccepted::new();
                event.uuid = prompt.uuid.clone().into();
                out.emit(event);
                turn.prompts.extend(prompt.uuid);
                if turn.prompts.len() > 1 {
                    let with = named(&turn.prompts);
                    out.emit(PromptMerged::new().uuid(uuid.clone()).with(with));
                }
            }
        }
        let mut out = Out::new(&mut self.events, Some(turn.number), None);
        let main = self.messages.of(None);
        // A result that was held back says nothing about the turn that runs now.
        let is_running = current == Some(turn.number);
        if is_running {
            main.end_turn(&mut out);
            self.agents.end_turn();
        }
        let texts = if is_running { main.last_text() } else { Vec::new() };
        let event = self.turn_finished(result, &texts, turn.outcome(result), &turn.prompts);
        Out::new(&mut self.events, Some(turn.number), None).emit(event);
    }

    fn turn_finished(
        &mut self,
        result: &TurnResult,
        texts: &[Text],
        outcome: Outcome,
        prompts: &[Uuid],
    ) -> TurnFinished {
        let said = result.result.as_str().unwrap_or_default();
        let mut text: String = texts.iter().map(|text| text.as_str()).collect();
        let differs = !said.is_empty()
            && !texts.is_empty()
            && said != text
            && texts.last().is_none_or(|last| said != last.as_str())
            && decode_result(said).as_deref() != Some(text.as_str());
        if texts.is_empty() {
            said.clone_into(&mut text);
        }
        let mut event = TurnFinished::new().outcome(outcome).text(text).text_differs(differs);
        event.is_error = Field::Value(result.is_error.is_true());
        event.subtype = result.subtype.as_str().map(Text::from).into();
        event.result = result.result.clone();
        event.error = result.error_message().map(Text::from).into();
        event.terminal_reason = result.terminal_reason.as_str().map(Text::from).into();
        event.cost_usd = self.turns.cost(result.total_cost_usd.value().copied()).into_number();
        event.total_cost_usd = result.total_cost_usd;
        event.usage = result.usage.clone();
        event.models = self.models(result);
        event.agents = Field::Value(self.messages.take_usage());
        event.num_turns = result.num_turns;
        event.duration_ms = result.duration_ms;
        event.structured_output = result.structured_output.clone();
        event.permission_denials =
            Field::Value(Number::from(result.permission_denials.items().len() as u64));
        event.prompts = Field::Value(named(prompts));
        event.origin = result.origin.clone();
        event.session_id = result.session_id.clone();
        event
    }

    /// Tokens and money by model since the last result.
    fn models(&mut self, result: &TurnResult) -> Field<Map<ModelUsage>> {
        let Some(total) = result.model_usage.value() else {
            return result.model_usage_since_last_result.clone();
        };
        let since = match result.model_usage_since_last_result.value() {
            Some(since) => since.clone(),
            None => total
                .iter()
                .map(|(model, now)| (model, difference(now, self.model_usage.get(model))))
                .collect(),
        };
        self.model_usage = total.clone();
        Field::Value(since)
    }

    pub(super) fn agent_started(&mut self, started: Started) {
        let turn = started.turn.or(self.turns.current());
        Out::new(&mut self.events, turn, started.parent.as_ref()).emit(started.event);
    }

    pub(super) fn agent_finished(&mut self, finished: Finished) {
        let turn = finished.turn.or(self.turns.current());
        if let Some(agent) = finished.event.tool_use_id.value() {
            let mut out = Out::new(&mut self.events, turn, Some(agent));
            self.messages.of(Some(agent)).end(&mut out);
        }
        Out::new(&mut self.events, turn, finished.parent.as_ref()).emit(finished.event);
    }

    pub(super) fn agent_of_call(&self, tool_use_id: Option<&str>) -> Option<ToolUseId> {
        self.agents.caller(tool_use_id?).cloned()
    }

    pub(super) fn agent_of_request(&self, request: &AgentRequest) -> Option<ToolUseId> {
        match request {
            AgentRequest::CanUseTool(ask) => self.agent_of_call(ask.tool_use_id.as_str()),
            AgentRequest::HookCallback(hook) => self.agent_of_call(hook.tool_use_id.as_str()),
            _ => None,
        }
    }
}

/// The prompts that have names.
fn named(prompts: &[Uuid]) -> Vec<Uuid> {
    prompts.iter().filter(|uuid| !uuid.as_str().is_empty()).cloned().collect()
}

/// What a model has used since then. A smaller number is a new beginning.
fn difference(now: &ModelUsage, before: Option<&ModelUsage>) -> ModelUsage {
    let Some(before) = before else { return now.clone() };
    let since = |now: Field<Number>, before: Field<Number>| match (now.value(), before.value()) {
        (Some(now), Some(before)) => match (now.as_u64(), before.as_u64()) {
            (Some(now), Some(before)) => {
                Field::Value(Number::from(now.checked_sub(before).unwrap_or(now)))
            }
            _ => {
                let (now, before) = (now.as_f64(), before.as_f64());
                Field::Value(Number::from(if now < before { now } else { now - before }))
            }
        },
        _ => now,
    };
    let mut used = now.clone();
    used.input_tokens = since(now.input_tokens, before.input_tokens);
    used.output_tokens = since(now.output_tokens, before.output_tokens);
    used.cache_read_input_tokens =
        since(now.cache_read_input_tokens, before.cache_read_input_tokens);
    used.cache_creation_input_tokens =
        since(now.cache_creation_input_tokens, before.cache_creation_input_tokens);
    used.web_search_requests = since(now.web_search_requests, before.web_search_requests);
    used.cost_usd = since(now.cost_usd, before.cost_usd);
    used
}

/// An optional amount as a field.
trait IntoNumber {
    fn into_number(self) -> Field<Number>;
}

impl IntoNumber for Option<f64> {
    fn into_number(self) -> Field<Number> {
        self.map(Number::from).into()
    }
}
