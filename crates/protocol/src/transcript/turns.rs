//! Turns and agents: how they begin and end, and what they cost.

use crate::control::AgentRequest;
use crate::id::{ToolUseId, Uuid};
use crate::json::Number;
use crate::ledger::{Ended, Reading, Step, named};
use crate::legacy::decode_result;
use crate::lines::{ResultSubtype, TurnResult};
use crate::message::{ModelUsage, Origin, OriginKind};
use crate::text::Text;
use crate::wire::{Field, Map};

use super::Transcript;
use super::agents::{Finished, Started};
use super::event::*;
use super::out::Out;

impl Transcript {
    pub(super) fn begin_turn(&mut self, introduced: bool) {
        self.echoed = None;
        if self.ledger.turns.is_new() {
            self.leave_turn();
        }
        self.ledger.begin(introduced);
        self.report_steps();
    }

    /// Another turn begins while one has no result yet: the messages of that one have ended.
    fn leave_turn(&mut self) {
        let Some(number) = self.ledger.turns.current() else { return };
        let main = self.messages.of(None);
        main.end_turn(&mut Out::new(&mut self.events, Some(number), None));
        let texts = main.last_text();
        if let Some(turn) = self.ledger.turns.running() {
            turn.texts = Some(texts);
        }
    }

    /// Reports what has changed in the ledger.
    pub(super) fn report_steps(&mut self) {
        for step in self.ledger.take_steps() {
            match step {
                Step::Began { turn, prompts } => {
                    let event = TurnStartedEvent::new().prompts(prompts);
                    let event = event.session_id(self.session.clone());
                    Out::new(&mut self.events, Some(turn), None).emit(event);
                }
                Step::Queued { turn, uuid } => {
                    let event = PromptQueuedEvent::new().uuid(uuid);
                    Out::new(&mut self.events, turn, None).emit(event);
                }
                Step::Accepted { turn, uuid, text } => {
                    let event = PromptAcceptedEvent::new().uuid(uuid).text(text);
                    Out::new(&mut self.events, turn, None).emit(event);
                }
                Step::Merged { turn, uuid, with } => {
                    let event = PromptMergedEvent::new().uuid(uuid).with(with);
                    Out::new(&mut self.events, turn, None).emit(event);
                }
                Step::Cancelled { turn, uuid, state } => {
                    let event = PromptCancelledEvent::new().uuid(uuid).state(state);
                    Out::new(&mut self.events, turn, None).emit(event);
                }
            }
        }
    }

    /// Follows a line that could not be decoded.
    pub(super) fn salvaged(&mut self, reading: &Reading) {
        match reading {
            Reading::Ended { result } => {
                // Without an open turn, it ends nothing.
                if self.ledger.has_open_turn() {
                    self.finish_turn(result, false);
                }
            }
            Reading::MayHaveBegun { prompts } => {
                if self.ledger.turns.current().is_none() {
                    self.begin_turn(true);
                }
                self.ledger.take(prompts.iter());
            }
            Reading::Idle => self.idle(),
            other => self.ledger.follow(other),
        }
        self.report_steps();
    }

    /// The agent is idle: a turn that is still open has lost its result.
    pub(super) fn idle(&mut self) {
        while self.ledger.turns.any_begun() {
            let error = "the agent is idle, and the turn has no result";
            let result = TurnResult::new()
                .subtype(ResultSubtype::ErrorDuringExecution)
                .is_error(true)
                .errors([Text::from(error)])
                .origin(Origin::new().kind(OriginKind::Unclassified));
            self.finish_turn(&result, false);
        }
        self.ledger.follow(&Reading::Idle);
    }

    pub(super) fn result(&mut self, result: &TurnResult) {
        self.finish_turn(result, true);
    }

    fn finish_turn(&mut self, result: &TurnResult, readable: bool) {
        if self.ledger.turns.current().is_none() {
            self.echoed = None;
        }
        let running_texts = self.messages.of(None).texts();
        let ended = self.ledger.result(result, &running_texts, readable);
        self.report_steps();
        let Some(Ended { mut turn, was_running }) = ended else { return };
        // The last blocks of subagents are complete, too.
        for agent in self.messages.agents() {
            let turn = self.agents.turn(&agent).or(Some(turn.number));
            let mut out = Out::new(&mut self.events, turn, Some(&agent));
            self.messages.of(Some(&agent)).release(&mut out);
        }
        let mut out = Out::new(&mut self.events, Some(turn.number), None);
        let main = self.messages.of(None);
        // A result that was held back does not concern the turn that runs now.
        let texts = if was_running {
            main.end_turn(&mut out);
            self.agents.end_turn();
            if !self.host_seen {
                self.asks.clear();
            }
            main.last_text()
        } else {
            turn.texts.take().unwrap_or_default()
        };
        let event = self.turn_finished(result, &texts.texts, turn.outcome(result), &turn.prompts);
        Out::new(&mut self.events, Some(turn.number), None).emit(event);
        self.limit_reported = false;
    }

    fn turn_finished(
        &mut self,
        result: &TurnResult,
        texts: &[Text],
        status: TurnStatus,
        prompts: &[Uuid],
    ) -> TurnFinishedEvent {
        let result_text = result.result.as_str().unwrap_or_default();
        let mut text: String = texts.iter().map(|text| text.as_str()).collect();
        let differs = !result_text.is_empty()
            && !texts.is_empty()
            && result_text != text
            && texts.last().is_none_or(|last| result_text != last.as_str())
            && decode_result(result_text).as_deref() != Some(text.as_str());
        if texts.is_empty() {
            result_text.clone_into(&mut text);
        }
        let since = result.model_usage_since_last_result.value().map(|models| {
            let costs = models.iter().filter_map(|(_, usage)| usage.cost_usd.as_f64());
            costs.fold(0.0, |sum, cost| sum + cost)
        });
        let cost = self.ledger.turns.cost(result.total_cost_usd.value().copied(), since);
        TurnFinishedEvent::new()
            .outcome(status)
            .is_error(result.is_error.is_true())
            .subtype(result.subtype.as_str().map(Text::from))
            .text(text)
            .result(result.result.value().cloned())
            .text_differs(differs)
            .error(result.error_message().map(Text::from))
            .terminal_reason(result.terminal_reason.as_str().map(Text::from))
            .cost_usd(cost)
            .total_cost_usd(result.total_cost_usd.as_f64())
            .usage(result.usage.value().cloned())
            .models(self.models(result))
            .agents(self.messages.take_usage())
            .num_turns(result.num_turns.as_u64())
            .duration_ms(result.duration_ms.as_u64())
            .structured_output(result.structured_output.value().cloned())
            .permission_denials(result.permission_denials.items().len() as u64)
            .prompts(named(prompts))
            .origin(result.origin.value().cloned())
            .session_id(result.session_id.value().cloned())
    }

    /// Tokens and money by model since the last result.
    fn models(&mut self, result: &TurnResult) -> Option<Map<ModelUsage>> {
        let Some(total) = result.model_usage.value() else {
            return result.model_usage_since_last_result.value().cloned();
        };
        let since = match result.model_usage_since_last_result.value() {
            Some(since) => since.clone(),
            None => total
                .iter()
                .map(|(model, now)| (model, difference(now, self.model_usage.get(model))))
                .collect(),
        };
        self.model_usage = total.clone();
        Some(since)
    }

    pub(super) fn agent_started(&mut self, started: Started) {
        let turn = started.turn.or(self.ledger.turns.current());
        Out::new(&mut self.events, turn, started.parent.as_ref()).emit(started.event);
    }

    pub(super) fn agent_finished(&mut self, finished: Finished) {
        let turn = finished.turn.or(self.ledger.turns.current());
        let agent = &finished.event.tool_use_id;
        let mut out = Out::new(&mut self.events, turn, Some(agent));
        self.messages.of(Some(agent)).end(&mut out);
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

/// What a model has used since `before`. If a number is smaller than before, counting has started again.
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
