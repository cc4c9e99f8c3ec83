//! Whether a tool call may run, in this order: hooks, rules, the host, the grant.
//!
//! 1. The `PreToolUse` hooks may deny the call, allow it, or want the host to be asked. They may change its input.
//! 2. The [rules](PermissionRules) of the agent may deny it or allow it. A deny rule wins over a hook that allows.
//! 3. The host is asked, and the `PermissionRequest` hooks at the same time. The first answer counts.
//! 4. The answer becomes a [`ToolUse`]: a grant, or a denial that is sent as the result of the call.

use std::pin::Pin;

use duologue_protocol::agent_link::{Outcome, REJECTED};
use duologue_protocol::control::{CanUseTool, DecisionReasonType};
use duologue_protocol::hook::{HookSpecificOutput, PermissionRequest, PreToolUse, ToolDecision};
use duologue_protocol::lines::{NonExecutionKind, PermissionDecision, ToolResultMeta};
use duologue_protocol::permission::PermissionResult;
use duologue_protocol::system::{PermissionDenied, System};
use duologue_protocol::{RawJson, RawObject, Text};
use serde_json::Value;

use super::verdict::{Ask, Verdict};
use super::{Emitter, ToolCall, ToolResult, ToolUse};
use crate::agent::TurnError;
use crate::hooks::HookAnswers;

/// The result of a call whose permission answer cannot be read. The words are the CLI's own.
const INVALID: &str = "The canUseTool callback returned an invalid permission result. Expected \
    {behavior: 'allow', updatedInput?: object} or {behavior: 'deny', message: string}. \
    updatedPermissions may hold at most 4096 updates, rules and directories in all.";

const HOOK_TIMEOUT: &str = "PreToolUse hook did not respond before its timeout (host client may be \
    unreachable). The tool call was not executed; other configured hooks may not have completed.";

/// The result of a call whose `PreToolUse` hook answered for another event. The words are the CLI's own.
const HOOK_FAILED: &str = "PreToolUse hook failed with an unexpected error. The tool call was not executed; other \
    configured hooks may not have completed.";

/// Added to the result of a call that was running when the turn was stopped. The words are the CLI's own.
pub const STOPPED: &str = " Correction to the text above: this call was stopped while running, not refused before it ran. It may have run in part or in full, and its changes may have been written. No permission prompt was involved. Work it started elsewhere (a remote command, a background process) may still be running, so check before starting the same work again. The instruction to stop and wait still stands.";

/// An answer in the host's place: a decision, `None` if it cannot be read, or why there is none.
pub type OtherAnswer<'a> =
    Pin<Box<dyn Future<Output = Result<Option<PermissionResult>, String>> + Send + 'a>>;

/// The rules of an agent: what may run without asking, and what may not run at all.
pub trait PermissionRules: Send + Sync {
    /// Judges a call. The hooks have run; the input is the one that they left.
    fn judge(&self, call: &ToolCall) -> Verdict;

    /// The request that is sent to the host.
    fn request(&self, ask: &Ask) -> CanUseTool {
        ask.to_request()
    }

    /// Asks elsewhere if the host does not answer permission requests: `--permission-prompt-tool`.
    fn ask_other<'a>(&'a self, call: &'a ToolCall) -> Option<OtherAnswer<'a>> {
        let _ = call;
        None
    }
}

/// Without rules, every call is asked about.
struct NoRules(CanUseTool);

impl PermissionRules for NoRules {
    fn judge(&self, _: &ToolCall) -> Verdict {
        let requires_user_interaction = self.0.requires_user_interaction.is_true();
        Verdict::Ask(Box::new(Ask { requires_user_interaction, ..Ask::default() }))
    }

    fn request(&self, _: &Ask) -> CanUseTool {
        self.0.clone()
    }
}

/// What the `PreToolUse` hooks want, together.
enum HookOpinion {
    None,
    /// The host is to be asked, for this reason.
    Ask(Text),
    Allow,
    Deny(Text),
    /// The call is put off, and the turn ends.
    Defer,
}

impl Emitter {
    /// Asks whether a call may run: the hooks, then the host. `request` holds what the question says beyond the call itself: a
    /// description, suggestions, a reason. A denial is sent as the result of the call.
    ///
    /// # Errors
    /// If the turn was interrupted, also by the host's answer.
    pub async fn permit(&self, call: &ToolCall, request: CanUseTool) -> Result<ToolUse, TurnError> {
        self.permit_with(call, &NoRules(request)).await
    }

    /// Asks whether a call may run: the hooks, then these rules, then the host. A denial is sent as the result of the call.
    ///
    /// # Errors
    /// If the turn was interrupted, also by the host's answer.
    pub async fn permit_with(
        &self,
        call: &ToolCall,
        rules: &dyn PermissionRules,
    ) -> Result<ToolUse, TurnError> {
        let (call, opinion) = self.run_hooks(call).await?;
        let (hook_allows, hook_reason) = match opinion {
            HookOpinion::Deny(why) => {
                return Ok(self.deny(&call, why, "hook", Some("hook")).await);
            }
            HookOpinion::Defer => {
                let mut record = self.record();
                record.close(&call.id);
                record.deferred = Some(call);
                return Err(TurnError::Deferred);
            }
            HookOpinion::Allow => (true, None),
            HookOpinion::Ask(reason) => (false, Some(reason)),
            HookOpinion::None => (false, None),
        };
        let ask = match rules.judge(&call) {
            Verdict::Deny(denial) => {
                let reason = denial.reason.as_str();
                return Ok(self.deny_without_asking(&call, denial.message.into(), reason).await);
            }
            Verdict::Allow(_) if hook_allows => return Ok(self.grant(call, None, by_hook())),
            Verdict::Allow(reason) if hook_reason.is_none() => {
                let mut decision = accepted("config");
                decision.reason_type = reason.as_str().map(Text::from).into();
                return Ok(self.grant(call, None, decision));
            }
            // A hook wants the host to be asked all the same.
            Verdict::Allow(_) => Ask::default(),
            // A hook cannot answer for a person.
            Verdict::Ask(ask) if hook_allows && !ask.requires_user_interaction => {
                return Ok(self.grant(call, None, by_hook()));
            }
            Verdict::Ask(ask) => *ask,
        };
        let mut request = rules.request(&ask);
        if let Some(reason) = hook_reason {
            request = request
                .decision_reason(reason)
                .decision_reason_type(DecisionReasonType::Hook)
                .decision_reason_hook_event("PreToolUse");
        }
        self.ask(&call, request, &ask.message, rules).await
    }

    /// Asks the host alone. A host that does not answer permission requests denies.
    ///
    /// # Errors
    /// If the turn was interrupted, also by the host's answer.
    pub async fn ask_host(
        &self,
        call: &ToolCall,
        request: CanUseTool,
    ) -> Result<ToolUse, TurnError> {
        self.ask(call, request, "", &NoRules(CanUseTool::new())).await
    }

    /// Runs the `PreToolUse` hooks. The call has the input that they left.
    async fn run_hooks(&self, call: &ToolCall) -> Result<(ToolCall, HookOpinion), TurnError> {
        self.check_interrupt()?;
        let input = PreToolUse::new()
            .tool_name(&call.name)
            .tool_input(call.input.clone())
            .tool_use_id(call.id.clone());
        let answers = self.session.hook(Box::new(input)).await;
        self.check_interrupt()?;
        let mut call = call.clone();
        if let Some(changed) = updated_input(&answers) {
            call.input = changed;
        }
        let mut record = self.record();
        record.context.extend(answers.context());
        record.is_stopped |= answers.stops();
        drop(record);
        let opinion = if answers.timed_out {
            HookOpinion::Deny(HOOK_TIMEOUT.into())
        } else if answers.is_for_other {
            HookOpinion::Deny(HOOK_FAILED.into())
        } else {
            opinion(&answers, &call.name)
        };
        Ok((call, opinion))
    }

    /// Asks the host, or what answers in its place. `message` is the denial if the host cannot be asked.
    async fn ask(
        &self,
        call: &ToolCall,
        request: CanUseTool,
        message: &str,
        rules: &dyn PermissionRules,
    ) -> Result<ToolUse, TurnError> {
        let request = self.complete(request, call);
        let options = &self.session.connection.options;
        if !options.prompts && !options.lenient {
            if let Some(decision) = self.ask_hooks(call, &request).await {
                return self.decide(call, Some(decision), by_hook()).await;
            }
            if let Some(answer) = rules.ask_other(call) {
                let answer = tokio::select! {
                    biased;
                    () = self.interrupted() => return Err(TurnError::Interrupted),
                    answer = answer => answer,
                };
                return match answer {
                    Ok(decision) => self.decide(call, decision, by_host()).await,
                    Err(why) => Ok(self.fail(call, &format!("Error: {why}")).await),
                };
            }
            let why = match (message, request.decision_reason.value()) {
                ("", Some(reason)) => reason.clone(),
                ("", None) => Ask::for_tool(&call.name).message.into(),
                (message, _) => Text::from(message),
            };
            return Ok(self.deny_without_asking(call, why, None).await);
        }
        let host_has_gone = self.session.host_has_gone();
        // A legacy host that answers no permission requests answers the call itself, with its result.
        let answer = self.session.connection.ask(request.clone().into(), !options.prompts);
        let outcome = tokio::select! {
            biased;
            outcome = answer => outcome,
            Some(decision) = self.ask_hooks(call, &request) => {
                return self.decide(call, Some(decision), by_hook()).await;
            }
        };
        match outcome {
            Outcome::Success(success) => self.decide(call, success.read().ok(), by_host()).await,
            Outcome::Refused(failure) => {
                let why = failure.error.as_str().unwrap_or("Unknown error");
                Ok(self.fail(call, &format!("Error: {why}")).await)
            }
            Outcome::ToolResult(line) => {
                let content = line.content.value().and_then(|content| content.read().ok());
                let mut output = ToolResult::new(content.unwrap_or_else(|| Text::default().into()));
                output.is_error = line.is_error.value().copied();
                self.result_line(call, output.clone(), None).await;
                let mut used = self.grant(call.clone(), None, by_host());
                self.record().close(&call.id);
                used.replaced = Some(output);
                Ok(used)
            }
            Outcome::Withdrawn => {
                self.record().deny(call);
                Err(TurnError::Interrupted)
            }
            _ if host_has_gone => Ok(self.fail(call, "Error: Stream closed").await),
            _ => {
                let why = "AbortError: Tool permission stream closed before response received";
                Ok(self.fail(call, why).await)
            }
        }
    }

    /// Fills in what the caller left open.
    fn complete(&self, mut request: CanUseTool, call: &ToolCall) -> CanUseTool {
        if request.display_name.is_absent() {
            request = request.display_name(&call.name);
        }
        request =
            request.tool_name(&call.name).input(call.input.clone()).tool_use_id(call.id.clone());
        request.agent_id = self.who.agent_id.clone().into();
        if request.description.is_absent() {
            let text = |name: &str| call.input.get(name).and_then(|text| text.as_str());
            // A shell command without a description describes itself.
            let command = || text("command").filter(|_| *call.name == *"Bash");
            request.description = text("description").or_else(command).into();
        }
        request
    }

    /// Runs the `PermissionRequest` hooks, which may answer in the host's place.
    async fn ask_hooks(&self, call: &ToolCall, request: &CanUseTool) -> Option<PermissionResult> {
        let mut input =
            PermissionRequest::new().tool_name(&call.name).tool_input(call.input.clone());
        input.permission_suggestions = request.permission_suggestions.clone();
        input.mcp_server = request.mcp_server.clone();
        let answers = self.session.hook(Box::new(input)).await;
        let decision = answers.outputs.iter().find_map(|output| match output.specific.value() {
            Some(HookSpecificOutput::PermissionRequest(specific)) => specific.decision.value(),
            _ => None,
        });
        Some(match decision?.clone() {
            PermissionResult::Deny(deny) if deny.message.value().is_none() => {
                PermissionResult::Deny(deny.message("Permission denied by hook"))
            }
            decision => decision,
        })
    }

    /// Applies a decision, and sends a denial. `None` is an answer that could not be read.
    async fn decide(
        &self,
        call: &ToolCall,
        decision: Option<PermissionResult>,
        by: PermissionDecision,
    ) -> Result<ToolUse, TurnError> {
        match decision {
            Some(PermissionResult::Allow(allow)) => {
                let updates = allow.updated_permissions.items().to_vec();
                self.session.apply(&updates).await;
                let mut used = self.grant(call.clone(), allow.updated_input.into_value(), by);
                used.updates = updates;
                Ok(used)
            }
            Some(PermissionResult::Deny(deny)) if deny.interrupt.is_true() => {
                self.record().deny(call);
                self.rejected_line(call).await;
                self.record().is_rejected = true;
                Err(TurnError::Interrupted)
            }
            Some(PermissionResult::Deny(deny)) if deny.message.value().is_some() => {
                let message = deny.message.into_value().unwrap_or_default();
                Ok(self.deny(call, message, "user_reject", None).await)
            }
            _ => Ok(self.deny(call, INVALID, "config", Some("other")).await),
        }
    }

    /// The call may run, with this input if it was changed.
    fn grant(
        &self,
        call: ToolCall,
        input: Option<RawObject>,
        decision: PermissionDecision,
    ) -> ToolUse {
        if self.is_main() {
            self.record().permit(&call.id);
        }
        let input = input.unwrap_or_else(|| call.input.clone());
        ToolUse { call, input, updates: Vec::new(), decision, denial: None, replaced: None }
    }

    /// Denies a call, sends that as its result, and counts it.
    async fn deny(
        &self,
        call: &ToolCall,
        message: impl Into<Text> + Send,
        source: &str,
        reason_type: Option<&str>,
    ) -> ToolUse {
        let message = message.into();
        self.record().deny(call);
        let mut decision = PermissionDecision::new().decision("reject").source(source);
        decision.reason_type = reason_type.map(Text::from).into();
        let meta = ToolResultMeta::new()
            .id(call.id.clone())
            .non_execution_kind(NonExecutionKind::PermissionRule)
            .permission_decision(decision.clone());
        self.result_line(call, ToolResult::error(&message), Some(meta)).await;
        self.take_waiting_prompts();
        ToolUse {
            call: call.clone(),
            input: call.input.clone(),
            updates: Vec::new(),
            decision,
            denial: Some(message),
            replaced: None,
        }
    }

    /// Denies a call because the host could not be asked.
    async fn fail(&self, call: &ToolCall, why: &str) -> ToolUse {
        let why = format!("Tool permission request failed: {why}");
        self.deny(call, why, "config", Some("other")).await
    }

    /// Denies a call that the host was not asked about, and reports it to the host.
    async fn deny_without_asking(
        &self,
        call: &ToolCall,
        why: Text,
        reason_type: Option<&str>,
    ) -> ToolUse {
        let mut line = PermissionDenied::new()
            .tool_name(&call.name)
            .tool_use_id(call.id.clone())
            .message(&why)
            .uuid(self.session.new_id())
            .session_id(self.session.id());
        line.agent_id = self.who.agent_id.clone().into();
        line.decision_reason_type = reason_type.map(Text::from).into();
        self.session.connection.say(System::from(Box::new(line))).await;
        self.deny(call, why, "config", reason_type).await
    }

    /// Sends the result of a call that the person stopped.
    pub(crate) async fn rejected_line(&self, call: &ToolCall) {
        let meta = ToolResultMeta::new()
            .id(call.id.clone())
            .non_execution_kind(NonExecutionKind::UserRejected);
        // A call that was running may have had effects: the model should know.
        let was_running = self.record().is_permitted(&call.id);
        let text = if was_running { format!("{REJECTED}{STOPPED}") } else { REJECTED.to_owned() };
        let output = ToolResult::error(text)
            .structured(RawJson::from(Value::from("User rejected tool use")));
        self.result_line(call, output, Some(meta)).await;
    }
}

fn accepted(source: &str) -> PermissionDecision {
    PermissionDecision::new().decision("accept").source(source)
}

fn by_hook() -> PermissionDecision {
    accepted("hook").reason_type("hook")
}

pub(super) fn by_host() -> PermissionDecision {
    accepted("user_temporary")
}

fn updated_input(answers: &HookAnswers) -> Option<RawObject> {
    answers.outputs.iter().rev().find_map(|output| match output.specific.value() {
        Some(HookSpecificOutput::PreToolUse(specific)) => specific.updated_input.value().cloned(),
        _ => None,
    })
}

/// What the `PreToolUse` hooks want. Deny overrides ask, ask overrides allow.
fn opinion(answers: &HookAnswers, tool: &str) -> HookOpinion {
    let deny =
        |reason: &str| HookOpinion::Deny(format!("PreToolUse:{tool} hook error: {reason}").into());
    if answers.failed_and_blocks {
        return deny("the hook failed");
    }
    if let Some(reason) = answers.block() {
        return deny(&reason);
    }
    let mut opinion = HookOpinion::None;
    for output in &answers.outputs {
        let Some(HookSpecificOutput::PreToolUse(specific)) = output.specific.value() else {
            continue;
        };
        let reason = specific.permission_decision_reason.value().cloned();
        match specific.permission_decision.value() {
            Some(ToolDecision::Deny) => return deny(&reason.unwrap_or_default()),
            Some(ToolDecision::Defer) => return HookOpinion::Defer,
            Some(ToolDecision::Ask) => opinion = HookOpinion::Ask(reason.unwrap_or_default()),
            Some(ToolDecision::Allow) if matches!(opinion, HookOpinion::None) => {
                opinion = HookOpinion::Allow;
            }
            _ => {}
        }
    }
    opinion
}
