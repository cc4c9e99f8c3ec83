//! [`HookEvent`]: when a hook runs.

use crate::wire::words;

use super::HookInput;

words! {
    /// When a hook runs: the `hook_event_name` of its input, and its key in the settings.
    ///
    /// ```
    /// use duologue_wire::hook::HookEvent;
    ///
    /// assert_eq!(HookEvent::from("PreToolUse"), HookEvent::PreToolUse);
    /// assert!(!HookEvent::from("PreToolUSe").is_known());
    /// ```
    HookEvent {
        /// A tool is about to be called.
        PreToolUse = "PreToolUse",
        /// A tool was called.
        PostToolUse = "PostToolUse",
        /// A tool failed.
        PostToolUseFailure = "PostToolUseFailure",
        /// All tools of one message were called.
        PostToolBatch = "PostToolBatch",
        /// The person is to be notified.
        Notification = "Notification",
        /// A prompt came in.
        UserPromptSubmit = "UserPromptSubmit",
        /// A slash command was expanded.
        UserPromptExpansion = "UserPromptExpansion",
        /// A session begins.
        SessionStart = "SessionStart",
        /// A session ends.
        SessionEnd = "SessionEnd",
        /// The agent is about to stop.
        Stop = "Stop",
        /// The agent stopped because the API failed.
        StopFailure = "StopFailure",
        /// A sub-agent begins.
        SubagentStart = "SubagentStart",
        /// A sub-agent is about to stop.
        SubagentStop = "SubagentStop",
        /// The context is about to be compacted.
        PreCompact = "PreCompact",
        /// The context was compacted.
        PostCompact = "PostCompact",
        /// Another model is about to be used.
        PreModelSwitch = "PreModelSwitch",
        /// Another model is used.
        PostModelSwitch = "PostModelSwitch",
        /// Permission is being asked for.
        PermissionRequest = "PermissionRequest",
        /// Permission was not given.
        PermissionDenied = "PermissionDenied",
        /// The project is being set up.
        Setup = "Setup",
        /// A team mate has nothing to do.
        TeammateIdle = "TeammateIdle",
        /// A task was created.
        TaskCreated = "TaskCreated",
        /// A task was completed.
        TaskCompleted = "TaskCompleted",
        /// An MCP server asks the person something.
        Elicitation = "Elicitation",
        /// The person has answered.
        ElicitationResult = "ElicitationResult",
        /// Settings changed.
        ConfigChange = "ConfigChange",
        /// A work tree is being made.
        WorktreeCreate = "WorktreeCreate",
        /// A work tree is being removed.
        WorktreeRemove = "WorktreeRemove",
        /// Instructions were loaded.
        InstructionsLoaded = "InstructionsLoaded",
        /// The working directory changed.
        CwdChanged = "CwdChanged",
        /// A file that is watched changed.
        FileChanged = "FileChanged",
        /// A directory was added.
        DirectoryAdded = "DirectoryAdded",
        /// Text is about to be shown.
        MessageDisplay = "MessageDisplay",
    }
}

impl HookInput {
    /// The event that this input belongs to.
    pub fn event(&self) -> HookEvent {
        HookEvent::from(self.tag())
    }

    /// The name of the tool, for events about one tool call.
    pub fn tool_name(&self) -> Option<&str> {
        // No wildcard: whoever adds an event decides here.
        match self {
            Self::PreToolUse(input) => input.tool_name.as_str(),
            Self::PostToolUse(input) => input.tool_name.as_str(),
            Self::PostToolUseFailure(input) => input.tool_name.as_str(),
            Self::PermissionRequest(input) => input.tool_name.as_str(),
            Self::PermissionDenied(input) => input.tool_name.as_str(),
            Self::PostToolBatch(_)
            | Self::Notification(_)
            | Self::UserPromptSubmit(_)
            | Self::UserPromptExpansion(_)
            | Self::SessionStart(_)
            | Self::SessionEnd(_)
            | Self::Stop(_)
            | Self::StopFailure(_)
            | Self::SubagentStart(_)
            | Self::SubagentStop(_)
            | Self::PreCompact(_)
            | Self::PostCompact(_)
            | Self::PreModelSwitch(_)
            | Self::PostModelSwitch(_)
            | Self::Setup(_)
            | Self::TeammateIdle(_)
            | Self::TaskCreated(_)
            | Self::TaskCompleted(_)
            | Self::Elicitation(_)
            | Self::ElicitationResult(_)
            | Self::ConfigChange(_)
            | Self::WorktreeCreate(_)
            | Self::WorktreeRemove(_)
            | Self::InstructionsLoaded(_)
            | Self::CwdChanged(_)
            | Self::FileChanged(_)
            | Self::DirectoryAdded(_)
            | Self::MessageDisplay(_)
            | Self::Unknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Schemas, Wire as _};

    #[test]
    fn each_known_event_has_an_input_and_each_input_an_event() {
        for name in HookEvent::KNOWN {
            let input = HookInput::from_json(&format!(r#"{{"hook_event_name":"{name}"}}"#));
            assert!(input.unwrap().is_known(), "{name}");
        }
        let inputs = HookInput::known_schema(&mut Schemas::default());
        assert_eq!(inputs.len(), HookEvent::KNOWN.len());
    }
}
