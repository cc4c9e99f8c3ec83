//! The output of a hook callback.

use crate::json::{Number, RawObject};
use crate::text::Text;
use crate::wire::{record, words};

use super::events::{HookSpecificOutput, PreToolUseOutput};

record! {
    /// The answer of a hook callback. An empty one has no opinion.
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
        /// Do not wait: the answer comes later, or never.
        is_async "async": bool,
        /// How long it may come later, in milliseconds.
        async_timeout "asyncTimeout": Number,
        /// False: stop after this hook.
        go_on "continue": bool,
        /// Why it stops, for the person.
        stop_reason "stopReason": Text,
        /// Do not show the output.
        suppress_output "suppressOutput": bool,
        /// A message for the person.
        system_message "systemMessage": Text,
        /// Approve or block.
        decision: HookDecision,
        /// Why, for the model.
        reason: Text,
        /// A sequence to send to the terminal.
        terminal_sequence "terminalSequence": Text,
        /// What only this event knows.
        specific "hookSpecificOutput": HookSpecificOutput,
    }
}

impl HookOutput {
    /// Do not wait for this hook.
    pub fn not_waited_for() -> Self {
        Self::new().is_async(true)
    }

    /// Stop the turn, and say why.
    pub fn stop(reason: impl Into<Text>) -> Self {
        Self::new().go_on(false).stop_reason(reason)
    }

    /// Block the action, and tell the model why.
    pub fn block(reason: impl Into<Text>) -> Self {
        Self::new().decision(HookDecision::Block).reason(reason)
    }

    /// PreToolUse: call the tool without asking.
    pub fn allow_tool() -> Self {
        Self::pre_tool_use(PreToolUseOutput::new().permission_decision(ToolDecision::Allow))
    }

    /// PreToolUse: call the tool without asking, with another input.
    pub fn allow_tool_with(input: RawObject) -> Self {
        let output = PreToolUseOutput::new().permission_decision(ToolDecision::Allow);
        Self::pre_tool_use(output.updated_input(input))
    }

    /// PreToolUse: do not call the tool.
    pub fn deny_tool(reason: impl Into<Text>) -> Self {
        Self::decided(ToolDecision::Deny, reason.into())
    }

    /// PreToolUse: ask.
    pub fn ask_about_tool(reason: impl Into<Text>) -> Self {
        Self::decided(ToolDecision::Ask, reason.into())
    }

    /// PreToolUse: put the call off and end the turn.
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
    /// What a hook decides.
    HookDecision {
        /// Go on.
        Approve = "approve",
        /// Do not.
        Block = "block",
    }
}

words! {
    /// What a hook decides about a tool call or a model.
    ToolDecision {
        /// Do it without asking.
        Allow = "allow",
        /// Do not.
        Deny = "deny",
        /// Ask.
        Ask = "ask",
        /// Put it off.
        Defer = "defer",
    }
}
