//! Tool calls and their results.

use duologue_protocol::content::{Content, ContentBlock, ToolResultBlock};
use duologue_protocol::hook::{PostToolUse, PostToolUseFailure};
use duologue_protocol::lines::{PermissionDecision, ToolResultMeta};
use duologue_protocol::message::StopReason;
use duologue_protocol::permission::PermissionUpdate;
use duologue_protocol::{RawJson, RawObject, Text, ToolUseId};
use serde_json::Value;

use super::Emitter;
use super::permission::by_host;
use crate::agent::{TurnError, TurnResult};

/// A call of a tool, as the model made it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Names the call.
    pub id: ToolUseId,
    /// The tool.
    pub name: Text,
    /// Its input.
    pub input: RawObject,
}

/// What became of the question whether a tool may run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolUse {
    /// The call.
    pub call: ToolCall,
    /// The input to run with: the host may have changed it.
    pub input: RawObject,
    /// How the host wants the permissions to change.
    pub updates: Vec<PermissionUpdate>,
    /// Who allowed or denied it.
    pub decision: PermissionDecision,
    pub(super) denial: Option<Text>,
    /// What the host gave in place of the tool's result, if it did.
    pub replaced: Option<ToolResult>,
}

impl ToolUse {
    /// Whether it may run. If so, run it and send its [result](Emitter::tool_result).
    pub const fn is_allowed(&self) -> bool {
        self.denial.is_none() && self.replaced.is_none()
    }

    /// Whether it was denied. The result has been sent already.
    pub const fn is_error(&self) -> bool {
        self.denial.is_some()
    }

    /// Why it was denied: what the model reads.
    pub fn denial(&self) -> Option<&str> {
        self.denial.as_deref()
    }
}

/// The name of a tool that has several: `Task` is the older name of `Agent`. Other names are returned as they are.
///
/// ```
/// use duologue_agent::canonical_tool_name;
///
/// assert_eq!(canonical_tool_name("Task"), "Agent");
/// assert_eq!(canonical_tool_name("Bash"), "Bash");
/// ```
pub fn canonical_tool_name(name: &str) -> &str {
    if name == "Task" { "Agent" } else { name }
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// What the model gets.
    pub content: Content,
    /// Whether it failed. Some tools do not report it.
    pub is_error: Option<bool>,
    /// The same in the tool's own shape, for the host.
    pub structured: Option<RawJson>,
}

impl ToolResult {
    /// It went well.
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: content.into(), is_error: None, structured: None }
    }

    /// It failed.
    pub fn error(message: impl Into<Text>) -> Self {
        let message = message.into();
        let structured = RawJson::from(Value::from(format!("Error: {message}")));
        let content = Content::Text(message);
        Self { content, is_error: Some(true), structured: Some(structured) }
    }

    /// Says whether it failed.
    #[must_use]
    pub const fn is_error(mut self, is_error: bool) -> Self {
        self.is_error = Some(is_error);
        self
    }

    /// The same in the tool's own shape, for the host.
    #[must_use]
    pub fn structured(mut self, value: RawJson) -> Self {
        self.structured = Some(value);
        self
    }
}

impl Emitter {
    /// Calls a tool and asks whether it may run: hooks first, then the host. The caller runs it, with
    /// the input that comes back, and sends the [result](Self::tool_result). If it sends something else
    /// instead, the result is empty.
    ///
    /// # Errors
    /// If the turn was interrupted, also by the host's answer.
    pub async fn use_tool(&self, name: &str, input: Value) -> Result<ToolUse, TurnError> {
        let input = RawObject::of(&input).map_err(TurnError::failed)?;
        let call = self.call_tool(name, input).await?;
        self.end_message(StopReason::ToolUse).await?;
        self.permit(&call, duologue_protocol::control::CanUseTool::new()).await
    }

    /// Sends the result of a call. The host's hooks run first; prompts that wait are taken
    /// into the turn after it.
    ///
    /// # Errors
    /// If the turn was interrupted, or a hook stops it.
    pub async fn tool_result(&self, call: &ToolCall, output: ToolResult) -> TurnResult {
        self.check_interrupt()?;
        let meta = ToolResultMeta::new().id(call.id.clone()).permission_decision(by_host());
        self.tool_result_with(call, output, meta).await
    }

    /// The same, with the metadata of who allowed it.
    ///
    /// # Errors
    /// As [`tool_result`](Self::tool_result).
    pub async fn tool_result_with(
        &self,
        call: &ToolCall,
        output: ToolResult,
        meta: ToolResultMeta,
    ) -> TurnResult {
        self.after_hooks(call, &output).await;
        self.check_interrupt()?;
        self.end_message(StopReason::ToolUse).await?;
        self.result_line(call, output, Some(meta)).await;
        self.take_waiting_prompts();
        if self.record().is_stopped { Err(TurnError::Stopped) } else { Ok(()) }
    }

    async fn after_hooks(&self, call: &ToolCall, output: &ToolResult) {
        let run = if output.is_error == Some(true) {
            let input = PostToolUseFailure::new()
                .tool_name(&call.name)
                .tool_input(call.input.clone())
                .tool_use_id(call.id.clone())
                .error(output.content.text());
            self.session.hook(Box::new(input)).await
        } else {
            let response = output.structured.clone();
            let response =
                response.unwrap_or_else(|| RawJson::from(Value::from(output.content.text())));
            let input = PostToolUse::new()
                .tool_name(&call.name)
                .tool_input(call.input.clone())
                .tool_use_id(call.id.clone())
                .tool_response(response);
            self.session.hook(Box::new(input)).await
        };
        let mut record = self.record();
        record.context.extend(run.context());
        record.context.extend(run.block());
        record.is_stopped |= run.stops();
    }

    /// Ends calls that may run and for which the agent sent no result: with an empty one.
    pub(super) async fn close_calls(&self) -> TurnResult {
        if !self.is_main() {
            return Ok(());
        }
        let forgotten = self.record().forgotten();
        for call in forgotten {
            let nothing = format!("({} completed with no output)", call.name);
            Box::pin(self.tool_result(&call, ToolResult::new(nothing).is_error(false))).await?;
        }
        Ok(())
    }

    /// Every call has a result before the turn ends.
    pub(crate) async fn close_open_calls(&self) -> TurnResult {
        self.close_calls().await?;
        let open = self.record().open_calls();
        for call in open {
            let nothing = format!("({} completed with no output)", call.name);
            self.result_line(&call, ToolResult::new(nothing).is_error(false), None).await;
        }
        Ok(())
    }

    /// Sends the result of a call, even in an interrupted turn.
    pub(crate) async fn result_line(
        &self,
        call: &ToolCall,
        output: ToolResult,
        meta: Option<ToolResultMeta>,
    ) {
        let mut block = ToolResultBlock::new().tool_use_id(call.id.clone()).content(output.content);
        block.is_error = output.is_error.into();
        let mut line = self.user_line([ContentBlock::ToolResult(block)].into());
        // The host gets the structured result of the main agent's tools, and of failed ones of sub-agents.
        if self.is_main() || output.is_error == Some(true) {
            line.tool_use_result = output.structured.into();
        }
        if self.is_main() {
            self.record().close(&call.id);
        }
        line.tool_result_meta = meta.map(|meta| vec![meta]).into();
        self.say_user(line).await;
    }

    /// Takes prompts that wait into the turn.
    pub(super) fn take_waiting_prompts(&self) {
        if self.is_main() {
            let time = crate::clock::timestamp();
            let folded = self.session.connection.with(|state| state.link.fold(Some(time)));
            self.record().folded.extend(folded);
        }
    }
}
