//! Answers that a host gives, ready made.

use crate::hook::HookOutput;
use crate::id::RequestId;
use crate::json::RawObject;
use crate::permission::{PermissionMode, PermissionResult, PermissionUpdate};
use crate::text::Text;
use crate::tool::{Answers, AskUserQuestion};

use super::agent_requests::CanUseTool;
use super::envelope::ControlResponse;
use super::host_requests::McpMessageReply;

/// The denial of a question that the user skipped.
const SKIPPED: &str = "User skipped the question";
/// The denial of a plan that the user rejected.
const REJECTED: &str = "User rejected the plan";

impl CanUseTool {
    /// Allows the call as requested.
    ///
    /// ```
    /// use duologue_wire::{Line, ToHost, Wire, control::{AgentRequest, ControlResponse}};
    ///
    /// let line = Line::from(concat!(
    ///     r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","#,
    ///     r#""tool_name":"Bash","input":{"command":"date"},"tool_use_id":"toolu_1"}}"#,
    /// ));
    /// let Some(ToHost::ControlRequest(request)) = line.to_host().into_message() else { panic!() };
    /// let Some(AgentRequest::CanUseTool(ask)) = request.request.value() else { panic!() };
    /// let answer = ControlResponse::permission("r1", &ask.allow());
    /// assert_eq!(
    ///     answer.to_json(),
    ///     concat!(
    ///         r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","#,
    ///         r#""response":{"behavior":"allow","updatedInput":{"command":"date"},"toolUseID":"toolu_1"}}}"#,
    ///     ),
    /// );
    /// ```
    pub fn allow(&self) -> PermissionResult {
        self.allow_with(self.original_input())
    }

    /// Allows the call with another input.
    pub fn allow_with(&self, input: RawObject) -> PermissionResult {
        self.named(PermissionResult::allow(input))
    }

    /// Allows the call and changes the permissions.
    pub fn allow_and_update(&self, updates: impl Into<Vec<PermissionUpdate>>) -> PermissionResult {
        self.named(PermissionResult::allow_and_update(self.original_input(), updates))
    }

    /// Allows the call, and applies all permission suggestions of the request.
    pub fn allow_always(&self) -> PermissionResult {
        self.allow_and_update(self.permission_suggestions.items())
    }

    /// Denies. The model reads the message and continues.
    pub fn deny(&self, message: impl Into<Text>) -> PermissionResult {
        self.named(PermissionResult::deny(message))
    }

    /// Denies and ends the turn.
    pub fn deny_and_interrupt(&self, message: impl Into<Text>) -> PermissionResult {
        self.named(PermissionResult::deny_and_interrupt(message))
    }

    /// Answers a question (`AskUserQuestion`).
    ///
    /// ```
    /// use duologue_wire::{RawObject, control::CanUseTool, tool::Answers};
    /// use serde_json::json;
    ///
    /// let ask = CanUseTool::new().tool_name("AskUserQuestion").input(RawObject::of(&json!({
    ///     "questions": [{ "question": "Which colour?", "options": [{ "label": "Blue" }] }],
    /// }))?);
    /// let answer = ask.answer_question(&Answers::new().choose("Which colour?", "Blue"));
    /// # Ok::<(), duologue_wire::Fault>(())
    /// ```
    pub fn answer_question(&self, answers: &Answers) -> PermissionResult {
        let input = self.original_input();
        let question = input.read::<AskUserQuestion>().unwrap_or_default();
        let answered = question.answered(answers);
        self.allow_with(RawObject::from_wire(&answered).unwrap_or(input))
    }

    /// Skips a question (`AskUserQuestion`).
    pub fn skip_question(&self) -> PermissionResult {
        self.deny(SKIPPED)
    }

    /// Approves a plan (`ExitPlanMode`). The agent continues in the given mode.
    pub fn approve_plan(&self, mode: Option<PermissionMode>) -> PermissionResult {
        match mode {
            Some(mode) => self.allow_and_update([PermissionUpdate::set_mode(mode)]),
            None => self.allow(),
        }
    }

    /// Returns a plan (`ExitPlanMode`) with feedback. The model plans again.
    pub fn revise_plan(&self, feedback: impl Into<Text>) -> PermissionResult {
        self.deny(feedback)
    }

    /// Rejects a plan (`ExitPlanMode`).
    pub fn reject_plan(&self) -> PermissionResult {
        self.deny(REJECTED)
    }

    fn original_input(&self) -> RawObject {
        self.input.value().cloned().unwrap_or_default()
    }

    fn named(&self, result: PermissionResult) -> PermissionResult {
        match self.tool_use_id.value() {
            Some(id) => result.for_tool_use(id.as_str()),
            None => result,
        }
    }
}

impl ControlResponse {
    /// Answers a request for permission.
    pub fn permission(id: impl Into<RequestId>, result: &PermissionResult) -> Self {
        Self::success(id, result)
    }

    /// Answers a hook callback.
    pub fn hook(id: impl Into<RequestId>, output: &HookOutput) -> Self {
        Self::success(id, output)
    }

    /// Answers a message for an MCP server with the server's JSON-RPC response.
    pub fn mcp(id: impl Into<RequestId>, response: RawObject) -> Self {
        Self::success(id, &McpMessageReply::new().mcp_response(response))
    }
}
