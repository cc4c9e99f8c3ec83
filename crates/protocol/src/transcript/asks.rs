//! The open requests of the agent, and the events that report them.

use std::collections::HashMap;

use crate::control::{AgentRequest, CanUseTool, ControlResponse, Response};
use crate::hook::{HookEvent, HookInput};
use crate::id::{RequestId, ToolUseId};
use crate::json::{RawJson, RawObject};
use crate::permission::PermissionResult;
use crate::text::Text;
use crate::tool::{AskUserQuestion, ExitPlanMode};
use crate::wire::Wire;

use super::agents::PLAN;
use super::event::*;
use super::out::Out;
use crate::budget::{Budget, Charge};
use crate::ledger::Seen;

/// The tool that asks the user.
const QUESTION: &str = "AskUserQuestion";
/// The message with which hosts reject a plan. Any other message sends it back.
const REJECTED: &str = "User rejected the plan";

/// A request by kind.
#[derive(Debug)]
pub(super) enum Ask {
    Permission(Box<CanUseTool>),
    Hook,
    Mcp,
    Other,
}

/// An open request, and the agent that made it.
#[derive(Debug)]
pub(super) struct OpenAsk {
    pub(super) ask: Ask,
    pub(super) agent: Option<ToolUseId>,
    /// Its share of the budget.
    _charge: Charge,
}

/// The memory for an open request without its content.
const OVERHEAD: usize = 1024;

/// The open requests of the agent.
#[derive(Debug, Default)]
pub(super) struct Asks {
    budget: Budget,
    open: HashMap<String, OpenAsk>,
    /// Recent requests, if the host's lines are not seen.
    seen: Seen,
    /// The permission requests, by tool call.
    by_call: HashMap<String, String>,
}

impl Asks {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Adds a request. False if it is open already: it may be delivered again. An id that is used again after its answer is
    /// another request.
    ///
    /// `answers_seen`: whether lines of the host are seen. If not, a request with the same id and the same content is the
    /// same request, and only permission requests are kept, which the result of their tool ends.
    pub(super) fn asked(
        &mut self,
        id: &str,
        request: &AgentRequest,
        agent: Option<&ToolUseId>,
        answers_seen: bool,
    ) -> bool {
        if self.open.contains_key(id)
            || (!answers_seen && !self.seen.note(&format!("{id} {}", request.to_json())))
        {
            return false;
        }
        let ask = match request {
            AgentRequest::CanUseTool(ask) => Ask::Permission(ask.clone()),
            AgentRequest::HookCallback(_) => Ask::Hook,
            AgentRequest::McpMessage(_) => Ask::Mcp,
            _ => Ask::Other,
        };
        if !answers_seen && !matches!(ask, Ask::Permission(_)) {
            return true;
        }
        let cost = match &ask {
            Ask::Permission(ask) => ask.input.value().map_or(0, |input| input.as_json().len()),
            Ask::Hook | Ask::Mcp | Ask::Other => 0,
        };
        // If it does not fit into the budget, the request is reported, but not its end.
        let Some(charge) = self.budget.charge(OVERHEAD + id.len() + cost) else { return true };
        if let Ask::Permission(ask) = &ask
            && let Some(call) = ask.tool_use_id.as_str()
        {
            self.by_call.insert(call.to_owned(), id.to_owned());
        }
        let agent = agent.map(ToolUseId::detach);
        self.open.insert(id.to_owned(), OpenAsk { ask, agent, _charge: charge });
        true
    }

    /// The turn has ended, and with it all its requests.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.by_call.clear();
    }

    pub(super) fn take(&mut self, id: &str) -> Option<OpenAsk> {
        let open = self.open.remove(id)?;
        if let Ask::Permission(ask) = &open.ask
            && let Some(call) = ask.tool_use_id.as_str()
        {
            self.by_call.remove(call);
        }
        Some(open)
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// The open permission request of this tool call.
    pub(super) fn permission_of(&self, tool_use_id: &str) -> Option<&str> {
        self.by_call.get(tool_use_id).map(String::as_str)
    }
}

/// Reports a request.
///
/// `plan` is the plan in the tool call, for CLIs that omit it in the request.
pub(super) fn report_request(
    id: &RequestId,
    request: &AgentRequest,
    plan: Option<Text>,
    out: &mut Out<'_>,
) {
    match request {
        AgentRequest::CanUseTool(ask) => report_permission(id, ask, plan, out),
        AgentRequest::HookCallback(hook) => {
            let name = hook.input.value().map(HookInput::tag).or(hook.hook_name.as_str());
            let event = HookCalledEvent::new()
                .request_id(id.clone())
                .callback_id(hook.callback_id.value().cloned().unwrap_or_else(|| "".into()))
                .tool_use_id(hook.tool_use_id.value().cloned())
                .hook_event(name.map(HookEvent::from));
            out.emit(event);
        }
        AgentRequest::McpMessage(message) => {
            let text = |json: Option<RawJson>| json.and_then(|json| json.as_str());
            let body = message.message.value();
            let params = body.and_then(|body| body.get("params"));
            let event = McpCallEvent::new()
                .request_id(id.clone())
                .server(message.server_name.value().cloned().unwrap_or_default())
                .method(body.and_then(|body| text(body.get("method"))))
                .tool(params.and_then(|params| text(params.get("name"))));
            out.emit(event);
        }
        other => {
            let text = format!("request of the agent: {}", other.tag());
            out.emit(NoticeEvent::new().kind(other.tag()).text(Text::from(text)));
        }
    }
}

fn report_permission(id: &RequestId, ask: &CanUseTool, plan: Option<Text>, out: &mut Out<'_>) {
    let call = ask.tool_use_id.value().cloned();
    let input = ask.input.value().cloned().unwrap_or_default();
    let event = PermissionAskedEvent::new()
        .request_id(id.clone())
        .tool_use_id(call.clone())
        .tool_name(ask.tool_name.value().cloned().unwrap_or_default())
        .input(input.clone())
        .reason(ask.decision_reason.value().cloned())
        .suggestions(ask.permission_suggestions.items());
    out.emit(event);
    match ask.tool_name.as_str() {
        Some(QUESTION) => {
            let asked = input.read::<AskUserQuestion>().unwrap_or_default();
            let event = QuestionAskedEvent::new()
                .request_id(id.clone())
                .tool_use_id(call)
                .questions(asked.questions.into_value().unwrap_or_default());
            out.emit(event);
        }
        Some(PLAN) => {
            let asked = input.read::<ExitPlanMode>().unwrap_or_default().plan.into_value();
            let event = PlanProposedEvent::new()
                .request_id(id.clone())
                .tool_use_id(call)
                .plan(asked.or(plan));
            out.emit(event);
        }
        _ => {}
    }
}

/// Reports an answer.
pub(super) fn report_answer(ask: &Ask, response: &ControlResponse, out: &mut Out<'_>) {
    let Some(id) = response.request_id() else { return };
    let (payload, error) = match response.response.value() {
        Some(Response::Success(success)) => (success.response.value(), None),
        Some(Response::Error(failure)) => {
            (None, Some(failure.error.value().cloned().unwrap_or_default()))
        }
        _ => (None, None),
    };
    match ask {
        Ask::Permission(ask) => {
            let result = payload.and_then(|payload| payload.read().ok());
            report_decision(ask, id, result.as_ref(), error, out);
        }
        Ask::Hook => {
            let event = HookAnsweredEvent::new().request_id(id.clone()).error(error);
            out.emit(event.output(payload.cloned()));
        }
        Ask::Mcp => {
            out.emit(McpAnsweredEvent::new().request_id(id.clone()).error(error));
        }
        Ask::Other => {}
    }
}

fn report_decision(
    ask: &CanUseTool,
    id: &RequestId,
    result: Option<&PermissionResult>,
    error: Option<Text>,
    out: &mut Out<'_>,
) {
    let behavior = result.map_or("error", PermissionResult::tag);
    let mut event = PermissionResolvedEvent::new().request_id(id.clone()).behavior(behavior);
    let message = match result {
        Some(PermissionResult::Allow(allow)) => {
            event.updates = allow.updated_permissions.items().to_vec();
            event.changed_input = changed(ask, allow.updated_input.value());
            None
        }
        Some(PermissionResult::Deny(deny)) => {
            event.interrupt = deny.interrupt.is_true();
            deny.message.value().cloned()
        }
        _ => error,
    };
    event.message.clone_from(&message);
    out.emit(event);
    let allowed = match result {
        Some(PermissionResult::Allow(allow)) => Some(allow.updated_input.value()),
        _ => None,
    };
    match (ask.tool_name.as_str(), allowed) {
        (Some(QUESTION), Some(input)) => {
            let read = |input: &RawObject| input.read::<AskUserQuestion>().ok();
            let answers = input.and_then(read).and_then(|input| input.answers.into_value());
            match answers.filter(|answers| !answers.is_empty()) {
                Some(answers) => {
                    let event = QuestionAnsweredEvent::new().request_id(id.clone());
                    out.emit(event.answers(answers));
                }
                None => out.emit(QuestionSkippedEvent::new().request_id(id.clone())),
            }
        }
        (Some(QUESTION), None) => {
            let event = QuestionSkippedEvent::new().request_id(id.clone());
            out.emit(event.message(message));
        }
        (Some(PLAN), Some(_)) => {
            out.emit(PlanApprovedEvent::new().request_id(id.clone()));
        }
        (Some(PLAN), None) if message.as_deref() == Some(REJECTED) => {
            out.emit(PlanRejectedEvent::new().request_id(id.clone()).message(message));
        }
        (Some(PLAN), None) => {
            out.emit(PlanSentBackEvent::new().request_id(id.clone()).message(message));
        }
        _ => {}
    }
}

/// The new input, if it differs from the requested one.
fn changed(ask: &CanUseTool, updated: Option<&RawObject>) -> Option<RawObject> {
    let updated = updated?;
    let same = match (ask.input.value()?.to_value(), updated.to_value()) {
        (Ok(asked), Ok(updated)) => asked == updated,
        _ => ask.input.value()?.to_json() == updated.to_json(),
    };
    (!same).then(|| updated.clone())
}
