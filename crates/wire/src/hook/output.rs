//! What a hook callback may answer.

use crate::json::{Number, RawJson, RawObject};
use crate::permission::PermissionResult;
use crate::text::Text;
use crate::wire::{record, union, words};

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

union! {
    /// What only one event knows.
    HookSpecificOutput by "hookEventName" {
        /// A tool is about to be called.
        "PreToolUse" => PreToolUse(PreToolUseOutput),
        /// A tool was called.
        "PostToolUse" => PostToolUse(PostToolUseOutput),
        /// A tool failed.
        "PostToolUseFailure" => PostToolUseFailure(PostToolUseFailureOutput),
        /// All tools of one message were called.
        "PostToolBatch" => PostToolBatch(PostToolBatchOutput),
        /// The person is to be notified.
        "Notification" => Notification(NotificationOutput),
        /// The project is being set up.
        "Setup" => Setup(SetupOutput),
        /// A sub-agent begins.
        "SubagentStart" => SubagentStart(SubagentStartOutput),
        /// A sub-agent is about to stop.
        "SubagentStop" => SubagentStop(SubagentStopOutput),
        /// The agent is about to stop.
        "Stop" => Stop(StopOutput),
        /// Another model is used.
        "PostModelSwitch" => PostModelSwitch(PostModelSwitchOutput),
        /// A prompt came in.
        "UserPromptSubmit" => UserPromptSubmit(UserPromptSubmitOutput),
        /// A slash command was expanded.
        "UserPromptExpansion" => UserPromptExpansion(UserPromptExpansionOutput),
        /// A session begins.
        "SessionStart" => SessionStart(SessionStartOutput),
        /// Another model is about to be used.
        "PreModelSwitch" => PreModelSwitch(PreModelSwitchOutput),
        /// Permission is being asked for.
        "PermissionRequest" => PermissionRequest(PermissionRequestOutput),
        /// Permission was not given.
        "PermissionDenied" => PermissionDenied(PermissionDeniedOutput),
        /// An MCP server asks the person something.
        "Elicitation" => Elicitation(ElicitationOutput),
        /// The person has answered.
        "ElicitationResult" => ElicitationResult(ElicitationResultOutput),
        /// The working directory changed.
        "CwdChanged" => CwdChanged(CwdChangedOutput),
        /// A file that is watched changed.
        "FileChanged" => FileChanged(FileChangedOutput),
        /// A work tree is being made.
        "WorktreeCreate" => WorktreeCreate(WorktreeCreateOutput),
        /// Text is about to be shown.
        "MessageDisplay" => MessageDisplay(MessageDisplayOutput),
    }
}

record! {
    /// For PreToolUse.
    PreToolUseOutput ["hookEventName" = "PreToolUse"] {
        /// Whether the tool is called.
        permission_decision "permissionDecision": ToolDecision,
        /// Why.
        permission_decision_reason "permissionDecisionReason": Text,
        /// The input to call it with.
        updated_input "updatedInput": RawObject,
        /// What the model should know besides.
        additional_context "additionalContext": Text,
        /// How to show the question.
        permission_display "permissionDisplay": RawJson,
    }
}

record! {
    /// For PostToolUse.
    PostToolUseOutput ["hookEventName" = "PostToolUse"] {
        /// What the model should know besides.
        additional_context "additionalContext": Text,
        /// What the classifier of auto mode should know.
        classifier_context "classifierContext": Text,
        /// What the model sees instead of the tool's output.
        updated_tool_output "updatedToolOutput": RawJson,
        /// The same, for MCP tools.
        updated_mcp_tool_output "updatedMCPToolOutput": RawJson,
    }
}

/// An output that only adds context.
macro_rules! context_output {
    ($($(#[doc = $doc:literal])* $name:ident = $event:literal),* $(,)?) => {$(
        record! {
            $(#[doc = $doc])*
            $name ["hookEventName" = $event] {
                /// What the model should know besides.
                additional_context "additionalContext": Text,
            }
        }
    )*};
}

context_output! {
    /// For PostToolUseFailure.
    PostToolUseFailureOutput = "PostToolUseFailure",
    /// For PostToolBatch.
    PostToolBatchOutput = "PostToolBatch",
    /// For Notification.
    NotificationOutput = "Notification",
    /// For Setup.
    SetupOutput = "Setup",
    /// For SubagentStart.
    SubagentStartOutput = "SubagentStart",
    /// For SubagentStop.
    SubagentStopOutput = "SubagentStop",
    /// For Stop.
    StopOutput = "Stop",
    /// For PostModelSwitch.
    PostModelSwitchOutput = "PostModelSwitch",
}

record! {
    /// For UserPromptSubmit.
    UserPromptSubmitOutput ["hookEventName" = "UserPromptSubmit"] {
        /// What the model should know besides.
        additional_context "additionalContext": Text,
        /// A title for the session.
        session_title "sessionTitle": Text,
        /// Do not show the prompt.
        suppress_original_prompt "suppressOriginalPrompt": bool,
    }
}

record! {
    /// For UserPromptExpansion.
    UserPromptExpansionOutput ["hookEventName" = "UserPromptExpansion"] {
        /// What the model should know besides.
        additional_context "additionalContext": Text,
        /// Do not show the prompt.
        suppress_original_prompt "suppressOriginalPrompt": bool,
    }
}

record! {
    /// For SessionStart.
    SessionStartOutput ["hookEventName" = "SessionStart"] {
        /// What the model should know besides.
        additional_context "additionalContext": Text,
        /// A first prompt.
        initial_user_message "initialUserMessage": Text,
        /// A title for the session.
        session_title "sessionTitle": Text,
        /// Files to watch.
        watch_paths "watchPaths": Vec<Text>,
        /// Look for skills again.
        reload_skills "reloadSkills": bool,
    }
}

record! {
    /// For PreModelSwitch.
    PreModelSwitchOutput ["hookEventName" = "PreModelSwitch"] {
        /// Whether the model is switched.
        permission_decision "permissionDecision": ToolDecision,
        /// Why.
        permission_decision_reason "permissionDecisionReason": Text,
    }
}

record! {
    /// For PermissionRequest.
    PermissionRequestOutput ["hookEventName" = "PermissionRequest"] {
        /// The decision.
        decision: PermissionResult,
    }
}

record! {
    /// For PermissionDenied.
    PermissionDeniedOutput ["hookEventName" = "PermissionDenied"] {
        /// Try again.
        retry: bool,
    }
}

/// An output that answers for the person.
macro_rules! elicitation_output {
    ($($(#[doc = $doc:literal])* $name:ident = $event:literal),* $(,)?) => {$(
        record! {
            $(#[doc = $doc])*
            $name ["hookEventName" = $event] {
                /// `accept`, `decline` or `cancel`.
                action: Text,
                /// The answer.
                content: RawJson,
            }
        }
    )*};
}

elicitation_output! {
    /// For Elicitation.
    ElicitationOutput = "Elicitation",
    /// For ElicitationResult.
    ElicitationResultOutput = "ElicitationResult",
}

/// An output that says what to watch.
macro_rules! watch_output {
    ($($(#[doc = $doc:literal])* $name:ident = $event:literal),* $(,)?) => {$(
        record! {
            $(#[doc = $doc])*
            $name ["hookEventName" = $event] {
                /// Files to watch.
                watch_paths "watchPaths": Vec<Text>,
            }
        }
    )*};
}

watch_output! {
    /// For CwdChanged.
    CwdChangedOutput = "CwdChanged",
    /// For FileChanged.
    FileChangedOutput = "FileChanged",
}

record! {
    /// For WorktreeCreate.
    WorktreeCreateOutput ["hookEventName" = "WorktreeCreate"] {
        /// Where the work tree lies. Required.
        worktree_path "worktreePath": Text,
    }
}

record! {
    /// For MessageDisplay.
    MessageDisplayOutput ["hookEventName" = "MessageDisplay"] {
        /// What to show instead.
        display_content "displayContent": Text,
    }
}
