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

/// How many prompts of a turn are named when another is merged into it.
const MOST_MERGED: usize = 32;

impl Transcript {
    pub(super) fn begin_turn(&mut self) {
        self.echoed = None;
        if self.turns.is_new() {
            self.leave_turn();
        }
        let Some(turn) = self.turns.begin() else { return };
        turn.prompts = std::mem::take(&mut self.taken);
        let prompts = turn.prompts.clone();
        let mut event = TurnStarted::new().prompts(prompts);
        event.session_id = self.session.clone().into();
        self.out(None).emit(event);
    }

    /// Another turn begins while one has no result yet: nothing more comes of its messages.
    fn leave_turn(&mut self) {
        let Some(number) = self.turns.current() else { return };
        let main = self.messages.of(None);
        main.end_turn(&mut Out::new(&mut self.events, Some(number), None));
        let texts = main.last_text();
        if let Some(turn) = self.turns.running() {
            turn.texts = Some(texts);
        }
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
            Some(turn) => &mut turn.prompts,
            None => &mut self.taken,
        };
        prompts.push(name);
        if prompts.len() > 1 {
            let with = named(prompts.get(..MOST_MERGED).unwrap_or(prompts));
            let mut event = PromptMerged::new().with(with);
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
        let running_texts = self.messages.of(None).texts();
        let Some(mut turn) = self.turns.end(result, &running_texts) else { return };
        // Prompts that were folded into the turn and never told of.
        for uuid in uuids {
            if let Some(prompt) = self.prompts.settle(uuid) {
                let mut out = Out::new(&mut self.events, Some(turn.number), None);
                let mut event = PromptAccepted::new();
                event.uuid = prompt.uuid.clone().into();
                out.emit(event);
                turn.prompts.extend(prompt.uuid);
                if turn.prompts.len() > 1 {
                    let with = named(turn.prompts.get(..MOST_MERGED).unwrap_or(&turn.prompts));
                    out.emit(PromptMerged::new().uuid(uuid.clone()).with(with));
                }
            }
        }
        // What sub-agents showed last is complete, too.
        for agent in self.messages.agents() {
            let turn = self.agents.turn(&agent).or(Some(turn.number));
            let mut out = Out::new(&mut self.events, turn, Some(&agent));
            self.messages.of(Some(&agent)).release(&mut out);
        }
        let mut out = Out::new(&mut self.events, Some(turn.number), None);
        let main = self.messages.of(None);
        // A result that was held back says nothing about the turn that runs now.
        let texts = if current == Some(turn.number) {
            main.end_turn(&mut out);
            self.agents.end_turn();
            if !self.host_seen {
                self.asks.clear();
            }
            main.last_text()
        } else {
            turn.texts.take().unwrap_or_default()
        };
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
        event.subtype = Field::from(result.subtype.as_str().map(Text::from)).or_null();
        event.result = result.result.clone();
        event.error = result.error_message().map(Text::from).into();
        event.terminal_reason = result.terminal_reason.as_str().map(Text::from).into();
        let since = result.model_usage_since_last_result.value().map(|models| {
            let costs = models.iter().filter_map(|(_, usage)| usage.cost_usd.as_f64());
            costs.fold(0.0, |sum, cost| sum + cost)
        });
        let cost = self.turns.cost(result.total_cost_usd.value().copied(), since);
        event.cost_usd = Field::from(cost.map(Number::from)).or_null();
        event.total_cost_usd = result.total_cost_usd.or_null();
        event.usage = result.usage.clone().or_null();
        event.models = self.models(result);
        event.agents = Field::Value(self.messages.take_usage());
        event.num_turns = result.num_turns.or_null();
        event.duration_ms = result.duration_ms;
        event.structured_output = result.structured_output.clone();
        event.permission_denials =
            Field::Value(Number::from(result.permission_denials.items().len() as u64));
        event.prompts = Field::Value(named(prompts));
        event.origin = result.origin.clone();
        event.session_id = result.session_id.clone().or_null();
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
