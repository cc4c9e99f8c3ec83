//! What either side asks of the other, while it is open.

use std::collections::HashMap;

use crate::control::{AgentRequest, CanUseTool, ControlResponse, Response};
use crate::hook::HookInput;
use crate::id::{RequestId, ToolUseId};
use crate::json::{RawJson, RawObject};
use crate::permission::PermissionResult;
use crate::text::Text;
use crate::tool::{AskUserQuestion, ExitPlanMode};
use crate::wire::{Field, Wire};

use super::agents::PLAN;
use super::body::*;
use super::out::Out;
use crate::budget::{Budget, Charge};
use crate::ledger::Seen;

/// The tool that asks the person.
const QUESTION: &str = "AskUserQuestion";
/// What hosts say when a plan is rejected, not sent back.
const REJECTED: &str = "User rejected the plan";

/// Something that waits for an answer.
#[derive(Debug)]
pub(super) enum Ask {
    Permission(Box<CanUseTool>),
    Hook,
    Mcp,
    Other,
}

/// Something that waits for an answer, and the agent in which it was asked.
#[derive(Debug)]
pub(super) struct OpenAsk {
    pub(super) ask: Ask,
    pub(super) agent: Option<ToolUseId>,
    /// The room that it takes.
    _charge: Charge,
}

/// What an open request costs beside what is asked.
const OVERHEAD: usize = 1024;

/// The open requests of the agent.
#[derive(Debug, Default)]
pub(super) struct Asks {
    budget: Budget,
    open: HashMap<String, OpenAsk>,
    /// What was asked lately, where the answers are not seen.
    seen: Seen,
    /// The requests for permission, by the tool call they are about.
    by_call: HashMap<String, String>,
}

impl Asks {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// The agent asks. False if this is a request that is open already: it may be delivered again. An
    /// id that is used again after its answer is another request.
    ///
    /// `answers_seen` says whether an answer could be seen. Without that, a request is the same if it has
    /// the same id and asks for the same; and only permissions are kept, which the result of their
    /// tool settles.
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
        // Without room it is told, but not what becomes of it.
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

    /// Nothing that was asked in the turn that has ended can still be answered.
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

    /// The open request for permission of that tool call.
    pub(super) fn permission_of(&self, tool_use_id: &str) -> Option<&str> {
        self.by_call.get(tool_use_id).map(String::as_str)
    }
}

/// Tells what is asked.
///
/// `plan` is what the model wrote in its call, for CLIs that leave it out of the request.
pub(super) fn tell_asked(
    id: &Field<RequestId>,
    request: &AgentRequest,
    plan: Option<Text>,
    out: &mut Out<'_>,
) {
    match request {
        AgentRequest::CanUseTool(ask) => tell_permission(id, ask, plan, out),
        AgentRequest::HookCallback(hook) => {
            let mut event = HookCalled::new();
            event.request_id = id.clone();
            event.callback_id = hook.callback_id.clone();
            event.tool_use_id = hook.tool_use_id.clone();
            let name = hook.input.value().map(HookInput::tag).or(hook.hook_name.as_str());
            event.hook_event = name.map(Text::from).into();
            out.emit(event);
        }
        AgentRequest::McpMessage(message) => {
            let mut event = McpCall::new();
            event.request_id = id.clone();
            event.server = message.server_name.clone();
            let text = |json: Option<RawJson>| json.and_then(|json| json.as_str());
            let body = message.message.value();
            event.method = body.and_then(|body| text(body.get("method"))).into();
            let params = body.and_then(|body| body.get("params"));
            event.tool = params.and_then(|params| text(params.get("name"))).into();
            out.emit(event);
        }
        other => {
            let text = format!("the agent asks: {}", other.tag());
            out.emit(Notice::new().kind(other.tag()).text(text));
        }
    }
}

fn tell_permission(id: &Field<RequestId>, ask: &CanUseTool, plan: Option<Text>, out: &mut Out<'_>) {
    let mut event = PermissionAsked::new();
    event.request_id = id.clone();
    event.tool_use_id = ask.tool_use_id.clone().or_null();
    event.tool_name = ask.tool_name.clone().or_null();
    event.input = ask.input.clone().or_null();
    event.reason = ask.decision_reason.clone();
    event.suggestions = ask.permission_suggestions.clone();
    out.emit(event);
    let input = ask.input.value().cloned().unwrap_or_default();
    match ask.tool_name.as_str() {
        Some(QUESTION) => {
            let mut event = QuestionAsked::new();
            event.request_id = id.clone();
            event.tool_use_id = ask.tool_use_id.clone();
            event.questions = input.read::<AskUserQuestion>().unwrap_or_default().questions;
            out.emit(event);
        }
        Some(PLAN) => {
            let mut event = PlanProposed::new();
            event.request_id = id.clone();
            event.tool_use_id = ask.tool_use_id.clone();
            let asked = input.read::<ExitPlanMode>().unwrap_or_default().plan.into_value();
            event.plan = asked.or(plan).into();
            out.emit(event);
        }
        _ => {}
    }
}

/// Tells what was answered.
pub(super) fn tell_answered(ask: &Ask, response: &ControlResponse, out: &mut Out<'_>) {
    let id = response.request_id().cloned();
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
            tell_resolved(ask, id.into(), result.as_ref(), error, out);
        }
        Ask::Hook => {
            let mut event = HookAnswered::new();
            event.request_id = id.into();
            event.output = payload.cloned().into();
            event.error = error.into();
            out.emit(event);
        }
        Ask::Mcp => {
            let mut event = McpAnswered::new();
            event.request_id = id.into();
            event.error = error.into();
            out.emit(event);
        }
        Ask::Other => {}
    }
}

fn tell_resolved(
    ask: &CanUseTool,
    id: Field<RequestId>,
    result: Option<&PermissionResult>,
    error: Option<Text>,
    out: &mut Out<'_>,
) {
    let mut event = PermissionResolved::new();
    event.request_id = id.clone();
    let message = match result {
        Some(PermissionResult::Allow(allow)) => {
            event.updates = allow.updated_permissions.clone();
            event.changed_input = changed(ask, allow.updated_input.value()).into();
            None
        }
        Some(PermissionResult::Deny(deny)) => {
            event.interrupt = deny.interrupt;
            deny.message.value().cloned()
        }
        _ => error,
    };
    let behavior = result.map_or("error", PermissionResult::tag);
    event.behavior = Field::from(Text::from(behavior));
    event.message = message.clone().into();
    out.emit(event);
    let allowed = match result {
        Some(PermissionResult::Allow(allow)) => Some(allow.updated_input.value()),
        _ => None,
    };
    match (ask.tool_name.as_str(), allowed) {
        (Some(QUESTION), Some(input)) => {
            let read = |input: &RawObject| input.read::<AskUserQuestion>().ok();
            let answers = input.and_then(read).map(|input| input.answers).unwrap_or_default();
            if answers.value().is_some_and(|answers| !answers.is_empty()) {
                let mut event = QuestionAnswered::new();
                (event.request_id, event.answers) = (id, answers);
                out.emit(event);
            } else {
                let mut event = QuestionSkipped::new();
                event.request_id = id;
                out.emit(event);
            }
        }
        (Some(QUESTION), None) => {
            let mut event = QuestionSkipped::new();
            (event.request_id, event.message) = (id, message.into());
            out.emit(event);
        }
        (Some(PLAN), Some(_)) => {
            let mut event = PlanApproved::new();
            event.request_id = id;
            out.emit(event);
        }
        (Some(PLAN), None) if message.as_deref() == Some(REJECTED) => {
            let mut event = PlanRejected::new();
            (event.request_id, event.message) = (id, message.into());
            out.emit(event);
        }
        (Some(PLAN), None) => {
            let mut event = PlanSentBack::new();
            (event.request_id, event.message) = (id, message.into());
            out.emit(event);
        }
        _ => {}
    }
}

/// The new input, if it says something else than the one that was asked about.
fn changed(ask: &CanUseTool, updated: Option<&RawObject>) -> Option<RawObject> {
    let updated = updated?;
    let same = match (ask.input.value()?.to_value(), updated.to_value()) {
        (Ok(asked), Ok(updated)) => asked == updated,
        _ => ask.input.value()?.to_json() == updated.to_json(),
    };
    (!same).then(|| updated.clone())
}
