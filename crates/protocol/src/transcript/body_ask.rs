//! The bodies of events: what is asked and answered.

use crate::id::{CallbackId, MessageId, RequestId, ToolUseId};
use crate::json::{Number, RawJson, RawObject};
use crate::permission::PermissionUpdate;
use crate::text::Text;
use crate::tool::{Answer, Question};
use crate::wire::Map;

use super::body::{Place, Placed, events};

events! {
    /// May this tool be called?
    PermissionAsked = "permission_asked" {
        /// The request.
        request_id: RequestId,
        /// The call.
        tool_use_id: ToolUseId,
        /// The tool.
        tool_name: Text,
        /// Its input.
        input: RawObject,
        /// Why it is asked.
        reason: Text,
        /// What could be allowed for good.
        suggestions: Vec<PermissionUpdate>,
    }
    /// The host has decided.
    PermissionResolved = "permission_resolved" {
        /// The request.
        request_id: RequestId,
        /// `allow` or `deny`; `error` if the host could not decide.
        behavior: Text,
        /// What the model is told.
        message: Text,
        /// The turn ends.
        interrupt: bool,
        /// How the permissions change.
        updates: Vec<PermissionUpdate>,
        /// The input that is used instead, if it is another.
        changed_input: RawObject,
    }
    /// The agent no longer asks.
    PermissionWithdrawn = "permission_withdrawn" {
        /// The request.
        request_id: RequestId,
    }
    /// A tool call was not allowed, and nobody was asked.
    PermissionDenied = "permission_denied" {
        /// The call.
        tool_use_id: ToolUseId,
        /// The tool.
        tool_name: Text,
        /// What the model is told.
        message: Text,
        /// Why.
        reason: Text,
    }
    /// The person is asked something.
    QuestionAsked = "question_asked" {
        /// The request.
        request_id: RequestId,
        /// The call.
        tool_use_id: ToolUseId,
        /// The questions.
        questions: Vec<Question>,
    }
    /// The person has answered.
    QuestionAnswered = "question_answered" {
        /// The request.
        request_id: RequestId,
        /// The answers, by the text of the question.
        answers: Map<Answer>,
    }
    /// The person has not answered.
    QuestionSkipped = "question_skipped" {
        /// The request.
        request_id: RequestId,
        /// What the model is told.
        message: Text,
    }
    /// A plan is to be approved.
    PlanProposed = "plan_proposed" {
        /// The request.
        request_id: RequestId,
        /// The call.
        tool_use_id: ToolUseId,
        /// The plan.
        plan: Text,
    }
    /// The plan was approved.
    PlanApproved = "plan_approved" {
        /// The request.
        request_id: RequestId,
    }
    /// The plan was sent back.
    PlanSentBack = "plan_sent_back" {
        /// The request.
        request_id: RequestId,
        /// What is missing.
        message: Text,
    }
    /// The plan was rejected.
    PlanRejected = "plan_rejected" {
        /// The request.
        request_id: RequestId,
        /// What the model is told.
        message: Text,
    }
    /// A hook of the host is called.
    HookCalled = "hook_called" {
        /// The request.
        request_id: RequestId,
        /// The callback.
        callback_id: CallbackId,
        /// What happened: `PreToolUse`…
        hook_event: Text,
        /// The tool call it is about.
        tool_use_id: ToolUseId,
    }
    /// A hook of the host has answered.
    HookAnswered = "hook_answered" {
        /// The request.
        request_id: RequestId,
        /// What it said.
        output: RawJson,
        /// What went wrong.
        error: Text,
    }
    /// A command hook has run.
    HookRan = "hook_ran" {
        /// The hook.
        hook_name: Text,
        /// What happened: `PreToolUse`…
        hook_event: Text,
        /// How it went.
        outcome: Text,
        /// Its exit code.
        exit_code: Number,
    }
    /// A message for an MCP server in the host.
    McpCall = "mcp_call" {
        /// The request.
        request_id: RequestId,
        /// The server.
        server: Text,
        /// The method.
        method: Text,
        /// The tool, if one is called.
        tool: Text,
    }
    /// The MCP server has answered.
    McpAnswered = "mcp_answered" {
        /// The request.
        request_id: RequestId,
        /// What went wrong.
        error: Text,
    }
}
