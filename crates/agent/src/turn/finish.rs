//! How a turn ends: its result, and the lines of one that was interrupted.

use duologue_protocol::content::ContentBlock;
use duologue_protocol::lines::{
    DeferredToolUse, ResultSubtype, TerminalReason, TurnResult as ResultLine,
};
use duologue_protocol::message::StopReason;
use duologue_protocol::{Field, Text};

use super::Turn;
use crate::agent::{ApiFailure, TurnError, TurnResult};
use crate::connection::Stop;

impl Turn<'_> {
    /// Ends the turn with this outcome.
    pub(crate) async fn finish(&self, outcome: TurnResult) {
        let stop = *self.emitter.stop.borrow();
        let local = self.emitter.record().local.take();
        if let (Ok(()), Stop::No, Some(text)) = (&outcome, stop, local) {
            return self.end_quietly(text, self.command_name()).await;
        }
        match (outcome, stop) {
            (_, Stop::Interrupted { preempted }) => self.interrupted_end(preempted).await,
            (Err(TurnError::Interrupted), Stop::No) => self.interrupted_end(false).await,
            (Ok(()), Stop::No) => self.complete(TerminalReason::Completed).await,
            (Err(TurnError::Stopped), Stop::No) => {
                self.emitter.record().last_text = Text::default();
                self.complete(TerminalReason::HookStopped).await;
            }
            (Err(TurnError::Deferred), Stop::No) => {
                self.emitter.record().last_text = Text::default();
                self.complete(TerminalReason::ToolDeferred).await;
            }
            (Err(TurnError::Api(failure)), Stop::No) => self.api_failed(&failure).await,
            (Err(error), Stop::No) => self.failed(&error).await,
        }
    }

    async fn complete(&self, reason: TerminalReason) {
        let why = if self.emitter.record().open_calls().is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        // Neither can fail: the turn is not interrupted. A message that has ended has its reason.
        if self.emitter.is_in_message() || self.emitter.record().stop_reason.is_none() {
            let _ = self.emitter.end_message(why).await;
        }
        let _ = self.emitter.close_open_calls().await;
        let (text, structured, stop_reason) = {
            let record = self.emitter.record();
            (record.last_text.clone(), record.structured.clone(), record.stop_reason.clone())
        };
        let mut result =
            self.account(ResultLine::new().subtype(ResultSubtype::Success).is_error(false));
        result = result.result(text).terminal_reason(reason);
        result.structured_output = structured.into();
        result.stop_reason = stop_reason.into();
        result.stop_reason = std::mem::take(&mut result.stop_reason).or_null();
        result.api_error_status = Field::Null;
        if let Some(call) = self.emitter.record().deferred.take() {
            let deferred = DeferredToolUse::new().id(call.id).name(call.name).input(call.input);
            result = result.deferred_tool_use(deferred).stop_reason(StopReason::ToolDeferred);
        }
        let first = self.emitter.record().first_line;
        if let Some(first) = first {
            let first = whole_millis(first);
            result = result
                .ttft_ms(first)
                .ttft_stream_ms(first)
                .time_to_request_ms(0_u64)
                .first_content_frame_ms(first);
        }
        self.conclude(result).await;
    }

    /// Keeps what was written, rejects open calls, and reports that the person stopped it.
    async fn interrupted_end(&self, preempted: bool) {
        let rest = self.emitter.abort();
        let calls = self.emitter.record().open_calls();
        let in_tools = !calls.is_empty() || self.emitter.record().is_rejected;
        for call in &calls {
            self.emitter.rejected_line(call).await;
        }
        if !preempted {
            let marker = if in_tools {
                "[Request interrupted by user for tool use]"
            } else {
                "[Request interrupted by user]"
            };
            let line = self.emitter.user_line([ContentBlock::text(marker)].into());
            self.emitter.say_user(line).await;
        }
        for line in rest {
            self.session().say_line(line).await;
        }
        let reason =
            if in_tools { TerminalReason::AbortedTools } else { TerminalReason::AbortedStreaming };
        let stop_reason = in_tools.then_some(StopReason::ToolUse);
        let result = if preempted {
            let text = self.emitter.last_text();
            ResultLine::new().subtype(ResultSubtype::Success).is_error(false).result(text)
        } else {
            let spelled = stop_reason.as_ref().map_or("null", |reason| reason.as_str());
            let diagnosis = format!(
                "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={spelled}"
            );
            ResultLine::new()
                .subtype(ResultSubtype::ErrorDuringExecution)
                .is_error(true)
                .errors([Text::from(diagnosis)])
        };
        let mut result = self.account(result).terminal_reason(reason);
        result.stop_reason = stop_reason.into();
        result.stop_reason = std::mem::take(&mut result.stop_reason).or_null();
        self.conclude(result).await;
    }

    /// The API's failure is a message in the model's place, and the end of the turn.
    async fn api_failed(&self, failure: &ApiFailure) {
        self.flush_aborted().await;
        let mut line = self
            .emitter
            .synthetic_line(&failure.message, StopReason::StopSequence)
            .error(failure.kind.clone())
            .is_api_error_message(true);
        line.api_error_status = failure.status.map(Into::into).into();
        line.api_error_type = failure.api_type.as_deref().map(Text::from).into();
        self.session().say_line(Box::new(line)).await;
        let mut result = self
            .account(ResultLine::new().subtype(ResultSubtype::Success).is_error(true))
            .result(&failure.message)
            .stop_reason(StopReason::StopSequence)
            .terminal_reason(TerminalReason::ApiError);
        result.api_error_status = failure.status.map(Into::into).into();
        result.api_error_status = std::mem::take(&mut result.api_error_status).or_null();
        result.api_error_type = failure.api_type.as_deref().map(Text::from).into();
        self.conclude(result).await;
    }

    async fn failed(&self, error: &TurnError) {
        self.flush_aborted().await;
        let (subtype, reason) = match error {
            TurnError::MaxTurns(_) => (ResultSubtype::ErrorMaxTurns, TerminalReason::MaxTurns),
            TurnError::MaxBudget(_) => {
                (ResultSubtype::ErrorMaxBudgetUsd, TerminalReason::BudgetExhausted)
            }
            _ => (ResultSubtype::ErrorDuringExecution, TerminalReason::ModelError),
        };
        let stop_reason = self.emitter.record().stop_reason.clone();
        let mut result = self
            .account(ResultLine::new().subtype(subtype).is_error(true))
            .errors([Text::from(error.to_string())])
            .terminal_reason(reason);
        result.stop_reason = stop_reason.into();
        result.stop_reason = std::mem::take(&mut result.stop_reason).or_null();
        self.conclude(result).await;
    }

    async fn flush_aborted(&self) {
        for line in self.emitter.abort() {
            self.session().say_line(line).await;
        }
    }

    /// The fields of every result.
    pub(super) fn account(&self, result: ResultLine) -> ResultLine {
        let session = self.session();
        let (cost, models, since, api, stats) = session.connection.with(|state| {
            let since = state.usage.take_since();
            let (usage, stats) = (&state.usage, state.subagents.stats());
            (usage.cost_usd(), usage.model_usage(), since, usage.api_millis, stats)
        });
        let record = self.emitter.record();
        result
            .duration_api_ms(api)
            .session_id(session.id())
            .total_cost_usd(cost)
            .usage(record.usage.clone())
            .model_usage(models)
            .model_usage_since_last_result(since)
            .permission_denials(record.denials.clone())
            .fast_mode_state("off")
            .subagent_stats(stats)
            .safety_stops(duologue_protocol::RawJson::from(serde_json::json!(0)))
            .num_turns(1 + record.user_lines)
            .duration_ms(whole_millis(record.elapsed()))
            .uuid(session.new_id())
    }

    pub(super) async fn conclude(&self, result: ResultLine) {
        let connection = &self.session().connection;
        connection.room().await;
        connection.with(|state| state.link.end_turn(result));
    }
}

fn whole_millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
