//! The output of a hook callback.

use crate::json::{Number, RawObject};
use crate::text::Text;
use crate::wire::{record, words};

use super::events::{HookSpecificOutput, PreToolUseOutput};

record! {
    /// The output of a hook callback. An empty output decides nothing.
    ///
    /// ```
    /// use duologue_wire::{Wire, hook::HookOutput};
    ///
    /// let output = HookOutput::deny_tool("not on this branch");
    /// assert_eq!(
    ///     output.to_json(),
    ///     concat!(
    ///         r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","#,
    ///         r#""permissionDecision":"deny","permissionDecisionReason":"not on this branch"}}"#,
    ///     ),
    /// );
    /// ```
    HookOutput {
        /// Do not wait for the output.
        is_async "async": bool,
        /// The timeout of the asynchronous hook, in milliseconds.
        async_timeout "asyncTimeout": Number,
        /// False: stop the turn after this hook.
        go_on "continue": bool,
        /// The reason for the stop, for the user.
        stop_reason "stopReason": Text,
        /// Do not show the output.
        suppress_output "suppressOutput": bool,
        /// A message for the user.
        system_message "systemMessage": Text,
        /// Approve or block.
        decision: HookDecision,
        /// The reason, for the model.
        reason: Text,
        /// A sequence to send to the terminal.
        terminal_sequence "terminalSequence": Text,
        /// The output that only this event has.
        specific "hookSpecificOutput": HookSpecificOutput,
    }
}

impl HookOutput {
    /// An asynchronous output: the agent does not wait.
    pub fn not_waited_for() -> Self {
        Self::new().is_async(true)
    }

    /// Stops the turn, with a reason.
    pub fn stop(reason: impl Into<Text>) -> Self {
        Self::new().go_on(false).stop_reason(reason)
    }

    /// Blocks the action, with a reason for the model.
    pub fn block(reason: impl Into<Text>) -> Self {
        Self::new().decision(HookDecision::Block).reason(reason)
    }

    /// PreToolUse: allow the call without asking.
    pub fn allow_tool() -> Self {
        Self::pre_tool_use(PreToolUseOutput::new().permission_decision(ToolDecision::Allow))
    }

    /// PreToolUse: allow the call without asking, with another input.
    pub fn allow_tool_with(input: RawObject) -> Self {
        let output = PreToolUseOutput::new().permission_decision(ToolDecision::Allow);
        Self::pre_tool_use(output.updated_input(input))
    }

    /// PreToolUse: deny the call.
    pub fn deny_tool(reason: impl Into<Text>) -> Self {
        Self::decided(ToolDecision::Deny, reason.into())
    }

    /// PreToolUse: ask for permission.
    pub fn ask_about_tool(reason: impl Into<Text>) -> Self {
        Self::decided(ToolDecision::Ask, reason.into())
    }

    /// PreToolUse: defer the call and end the turn.
    pub fn defer_tool(reason: impl Into<Text>) -> Self {
        Self::decided(ToolDecision::Defer, reason.into())
    }

    fn decided(decision: ToolDecision, reason: Text) -> Self {
        let output = PreToolUseOutput::new().permission_decision(decision);
        Self::pre_tool_use(output.permission_decision_reason(reason))
    }

    fn pre_tool_use(output: PreToolUseOutput) -> Self {
        Self::new().specific(HookSpecificOutput::PreToolUse(output))
    }
}

words! {
    /// The decision of a hook.
    HookDecision {
        /// Approve.
        Approve = "approve",
        /// Deny.
        Block = "block",
    }
}

words! {
    /// The decision of a hook about a tool call or a model.
    ToolDecision {
        /// Allow without asking.
        Allow = "allow",
        /// Deny.
        Deny = "deny",
        /// Ask.
        Ask = "ask",
        /// Defer.
        Defer = "defer",
    }
}
