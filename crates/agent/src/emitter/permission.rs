//! Whether a tool may run: the host's hooks, then the host.

use duologue_protocol::agent_link::{Outcome, REJECTED};
use duologue_protocol::control::{CanUseTool, DecisionReasonType};
use duologue_protocol::hook::{HookSpecificOutput, PermissionRequest, PreToolUse, ToolDecision};
use duologue_protocol::lines::{NonExecutionKind, ToolResultMeta};
use duologue_protocol::permission::PermissionResult;
use duologue_protocol::system::{PermissionDenied, System};
use duologue_protocol::{RawJson, RawObject, Text};
use serde_json::Value;

use super::{Emitter, ToolCall, ToolResult, ToolUse};
use crate::agent::TurnError;
use crate::hooks::HookAnswers;

/// What the model is told of an answer that is none. The words are the CLI's own.
const INVALID: &str = "The canUseTool callback returned an invalid permission result. Expected \
    {behavior: 'allow', updatedInput?: object} or {behavior: 'deny', message: string}. \
    updatedPermissions may hold at most 4096 updates, rules and directories in all.";

const HOOK_TIMEOUT: &str = "PreToolUse hook did not respond before its timeout (host client may be \
    unreachable). The tool call was not executed; other configured hooks may not have completed.";

/// Added to the result of a call that was running when the turn was stopped. The words are the CLI's own.
pub const STOPPED: &str = " Correction to the text above: this call was stopped while running, not refused before it ran. It may have run in part or in full, and its changes may have been written. No permission prompt was involved. Work it started elsewhere (a remote command, a background process) may still be running, so check before starting the same work again. The instruction to stop and wait still stands.";

/// What hooks left of the question whether a call may run.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a caller handles each outcome")]
pub enum HookVerdict {
    /// Nothing: it was refused, and the host was told.
    Settled(ToolUse),
    /// It may run with this input, unless something forbids it.
    Allowed(ToolCall),
    /// All of it. A hook may want the host to be asked, for this reason.
    Open(ToolCall, Option<Text>),
}

/// What the hooks decided.
enum Verdict {
    /// Nothing, or that the host is to be asked, with this reason.
    Ask(Option<Text>),
    Allow,
    Deny(Text),
    /// The call is put off, and the turn ends.
    Defer,
}

impl Emitter {
    /// Asks whether a call may run: hooks first, then the host. What the question says beyond the call
    /// itself (a description, suggestions, a reason) is the caller's to add. A refusal is told as the
    /// result of the call.
    ///
    /// # Errors
    /// If the turn was interrupted, also by the host's answer.
    pub async fn permit(&self, call: &ToolCall, ask: CanUseTool) -> Result<ToolUse, TurnError> {
        match self.hooked(call).await? {
            HookVerdict::Settled(used) => Ok(used),
            HookVerdict::Allowed(call) => Ok(self.allowed(call, None)),
            HookVerdict::Open(call, reason) => {
                self.ask_host(&call, ask_because_of_hook(ask, reason)).await
            }
        }
    }

    /// Asks the hooks alone.
    ///
    /// # Errors
    /// If the turn was interrupted, or a hook put the call off.
    pub async fn hooked(&self, call: &ToolCall) -> Result<HookVerdict, TurnError> {
        self.go_on()?;
        let input = PreToolUse::new()
            .tool_name(&call.name)
            .tool_input(call.input.clone())
            .tool_use_id(call.id.clone());
        let run = self.session.hook(Box::new(input)).await;
        self.go_on()?;
        let mut call = call.clone();
        if let Some(changed) = updated_input(&run) {
            call.input = changed;
        }
        {
            let mut record = self.record();
            record.context.extend(run.context());
            record.is_stopped |= run.stops();
        }
        if run.timed_out {
            let used = self.refuse(&call, HOOK_TIMEOUT, "hook", Some("hook")).await;
            return Ok(HookVerdict::Settled(used));
        }
        match verdict(&run, &call.name) {
            Verdict::Deny(why) => {
                Ok(HookVerdict::Settled(self.refuse(&call, why, "hook", Some("hook")).await))
            }
            Verdict::Allow => Ok(HookVerdict::Allowed(call)),
            Verdict::Defer => {
                let mut record = self.record();
                record.close(&call.id);
                record.deferred = Some(call);
                Err(TurnError::Deferred)
            }
            Verdict::Ask(reason) => Ok(HookVerdict::Open(call, reason)),
        }
    }

    /// Asks the host alone. Without somebody to ask, the answer is no.
    ///
    /// # Errors
    /// If the turn was interrupted, also by the host's answer.
    pub async fn ask_host(
        &self,
        call: &ToolCall,
        mut ask: CanUseTool,
    ) -> Result<ToolUse, TurnError> {
        if ask.display_name.is_absent() {
            ask = ask.display_name(&call.name);
        }
        let mut ask =
            ask.tool_name(&call.name).input(call.input.clone()).tool_use_id(call.id.clone());
        ask.agent_id = self.who.agent_id.clone().into();
        if ask.description.is_absent() {
            let text = |name: &str| call.input.get(name).and_then(|text| text.as_str());
            // A command that nobody describes describes itself.
            let described =
                text("description").or_else(|| text("command").filter(|_| *call.name == *"Bash"));
            ask.description = described.into();
        }
        let options = &self.session.connection.options;
        if !options.prompts && !options.lenient {
            if let Some(used) = self.ask_hooks(call, &ask).await? {
                return Ok(used);
            }
            let why = ask.decision_reason.value().cloned().unwrap_or_else(|| {
                let name = &call.name;
                let why = "but you haven't granted it yet.";
                format!("Claude requested permissions to use {name}, {why}").into()
            });
            return Ok(self.deny_unasked(call, why, None).await);
        }
        let is_gone = self.session.connection.with(|state| state.link.has_ended());
        // Without a way to ask, the call itself is the question: old hosts answer that.
        let answer = self.session.connection.ask(ask.clone().into(), !options.prompts);
        let outcome = tokio::select! {
            biased;
            outcome = answer => outcome,
            // Whoever answers first decides; what was asked of the others is withdrawn.
            Some(decision) = self.decision_of_hooks(call, &ask) => {
                return self.decided_by_hook(call, decision).await;
            }
        };
        match outcome {
            Outcome::Success(success) => self.decided(call, success.read().ok()).await,
            Outcome::Refused(failure) => {
                let why = failure.error.as_str().unwrap_or("Unknown error");
                let why = format!("Tool permission request failed: Error: {why}");
                Ok(self.refuse(call, why, "config", Some("other")).await)
            }
            Outcome::ToolResult(line) => {
                let content = line.content.value().and_then(|content| content.read().ok());
                let mut output = ToolResult::new(content.unwrap_or_else(|| Text::default().into()));
                output.is_error = line.is_error.value().copied();
                self.result_line(call, output.clone(), None).await;
                let mut replaced = self.allowed(call.clone(), None);
                self.record().close(&call.id);
                replaced.replaced = Some(output);
                Ok(replaced)
            }
            Outcome::Withdrawn => {
                self.record().deny(call);
                Err(TurnError::Interrupted)
            }
            _ => {
                let why = if is_gone {
                    "Tool permission request failed: Error: Stream closed"
                } else {
                    "Tool permission request failed: AbortError: Tool permission stream closed \
                     before response received"
                };
                Ok(self.refuse(call, why, "config", Some("other")).await)
            }
        }
    }

    /// Asks the hooks that may answer in the host's place, and tells what they decided, if they did.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn ask_hooks(
        &self,
        call: &ToolCall,
        ask: &CanUseTool,
    ) -> Result<Option<ToolUse>, TurnError> {
        match self.decision_of_hooks(call, ask).await {
            Some(decision) => self.decided_by_hook(call, decision).await.map(Some),
            None => Ok(None),
        }
    }

    async fn decision_of_hooks(
        &self,
        call: &ToolCall,
        ask: &CanUseTool,
    ) -> Option<PermissionResult> {
        let mut input =
            PermissionRequest::new().tool_name(&call.name).tool_input(call.input.clone());
        input.permission_suggestions = ask.permission_suggestions.clone();
        input.mcp_server = ask.mcp_server.clone();
        let run = self.session.hook(Box::new(input)).await;
        run.outputs.iter().find_map(|output| match output.specific.value() {
            Some(HookSpecificOutput::PermissionRequest(specific)) => {
                specific.decision.value().cloned()
            }
            _ => None,
        })
    }

    async fn decided_by_hook(
        &self,
        call: &ToolCall,
        decision: PermissionResult,
    ) -> Result<ToolUse, TurnError> {
        let decision = match decision {
            PermissionResult::Deny(mut deny) => {
                if deny.message.value().is_none() {
                    deny = deny.message("Permission denied by hook");
                }
                PermissionResult::Deny(deny)
            }
            other => other,
        };
        let mut used = self.decided(call, Some(decision)).await?;
        used.is_by_hook = true;
        Ok(used)
    }

    /// Applies a decision about a call, and reports a denial. `None` is an answer that could not be read.
    ///
    /// # Errors
    /// If the decision interrupts the turn.
    pub async fn decided(
        &self,
        call: &ToolCall,
        decision: Option<PermissionResult>,
    ) -> Result<ToolUse, TurnError> {
        match decision {
            Some(PermissionResult::Allow(allow)) => {
                let updates = allow.updated_permissions.items().to_vec();
                self.session.apply(&updates).await;
                let mut allowed = self.allowed(call.clone(), allow.updated_input.into_value());
                allowed.updates = updates;
                Ok(allowed)
            }
            Some(PermissionResult::Deny(deny)) if deny.interrupt.is_true() => {
                self.reject(call).await;
                Err(TurnError::Interrupted)
            }
            Some(PermissionResult::Deny(deny)) => match deny.message.value() {
                Some(message) => Ok(self.refuse(call, message, "user_reject", None).await),
                None => Ok(self.refuse(call, INVALID, "config", Some("other")).await),
            },
            _ => Ok(self.refuse(call, INVALID, "config", Some("other")).await),
        }
    }

    /// The call may run, with this input if it was changed.
    pub fn allowed(&self, call: ToolCall, input: Option<RawObject>) -> ToolUse {
        if self.is_main() {
            self.record().permit(&call.id);
        }
        let input = input.unwrap_or_else(|| call.input.clone());
        ToolUse {
            call,
            input,
            updates: Vec::new(),
            refusal: None,
            is_by_hook: false,
            replaced: None,
        }
    }

    /// The host says no, and that the turn ends.
    async fn reject(&self, call: &ToolCall) {
        self.record().deny(call);
        self.rejected_line(call).await;
        self.record().is_rejected = true;
    }

    /// The result of a call that the person stopped.
    pub(crate) async fn rejected_line(&self, call: &ToolCall) {
        let meta = ToolResultMeta::new()
            .id(call.id.clone())
            .non_execution_kind(NonExecutionKind::UserRejected);
        // One that ran may have done something: the model should know.
        let is_stopped = self.record().is_permitted(&call.id);
        let text = if is_stopped { format!("{REJECTED}{STOPPED}") } else { REJECTED.to_owned() };
        let output = ToolResult::error(text)
            .structured(RawJson::from(Value::from("User rejected tool use")));
        self.result_line(call, output, Some(meta)).await;
    }

    /// Denies a call without asking the host, and reports it.
    pub async fn deny_unasked(
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
        self.refuse(call, why, "config", reason_type).await
    }
}

/// A question that a hook wants to be asked.
pub fn ask_because_of_hook(ask: CanUseTool, reason: Option<Text>) -> CanUseTool {
    match reason {
        Some(reason) => ask
            .decision_reason(reason)
            .decision_reason_type(DecisionReasonType::Hook)
            .decision_reason_hook_event("PreToolUse"),
        None => ask,
    }
}

fn updated_input(run: &HookAnswers) -> Option<RawObject> {
    run.outputs.iter().rev().find_map(|output| match output.specific.value() {
        Some(HookSpecificOutput::PreToolUse(specific)) => specific.updated_input.value().cloned(),
        _ => None,
    })
}

/// No beats ask, ask beats yes.
fn verdict(run: &HookAnswers, tool: &str) -> Verdict {
    let denied =
        |reason: &str| Verdict::Deny(format!("PreToolUse:{tool} hook error: {reason}").into());
    if run.failed_and_blocks {
        return denied("the hook failed");
    }
    if let Some(reason) = run.block() {
        return denied(&reason);
    }
    let mut verdict = Verdict::Ask(None);
    for output in &run.outputs {
        let Some(HookSpecificOutput::PreToolUse(specific)) = output.specific.value() else {
            continue;
        };
        let reason = specific.permission_decision_reason.value().cloned();
        match specific.permission_decision.value() {
            Some(ToolDecision::Deny) => return denied(&reason.unwrap_or_default()),
            Some(ToolDecision::Defer) => return Verdict::Defer,
            Some(ToolDecision::Ask) => verdict = Verdict::Ask(Some(reason.unwrap_or_default())),
            Some(ToolDecision::Allow) if matches!(verdict, Verdict::Ask(None)) => {
                verdict = Verdict::Allow;
            }
            _ => {}
        }
    }
    verdict
}
