//! Permissions: modes, rules, updates, and the answer to a request.

use crate::id::ToolUseId;
use crate::json::RawObject;
use crate::text::Text;
use crate::wire::{record, union, words};

words! {
    /// How the agent decides what it may do.
    PermissionMode {
        /// Ask, unless a rule decides.
        Default = "default",
        /// Edits inside the working directories are allowed.
        AcceptEdits = "acceptEdits",
        /// Everything is allowed. Only if the process was started for it.
        BypassPermissions = "bypassPermissions",
        /// Look and plan, change nothing.
        Plan = "plan",
        /// Never ask: what is not allowed is denied.
        DontAsk = "dontAsk",
        /// A classifier decides.
        Auto = "auto",
        /// Another name for `default`.
        Manual = "manual",
    }
}

words! {
    /// What a rule does.
    PermissionBehavior {
        /// Allow.
        Allow = "allow",
        /// Deny.
        Deny = "deny",
        /// Ask.
        Ask = "ask",
    }
}

words! {
    /// Where an update of the permissions is kept.
    PermissionDestination {
        /// The user's settings file.
        UserSettings = "userSettings",
        /// The project's settings file.
        ProjectSettings = "projectSettings",
        /// The project's settings file that is not checked in.
        LocalSettings = "localSettings",
        /// In memory, for this session.
        Session = "session",
        /// In memory, as if given on the command line.
        CliArg = "cliArg",
    }
}

record! {
    /// A rule: a tool, and what of it.
    PermissionRule {
        /// The tool.
        tool_name "toolName": Text,
        /// What of it: a command, a prefix such as `git *`, a path pattern; absent for all.
        rule_content "ruleContent": Text,
    }
}

impl PermissionRule {
    /// The rule as settings files and flags spell it: `Bash(git *)`.
    pub fn spelled(&self) -> String {
        let tool = self.tool_name.as_str().unwrap_or_default();
        match self.rule_content.as_str() {
            Some(content) => format!("{tool}({content})"),
            None => tool.to_owned(),
        }
    }
}

union! {
    /// A change of the permissions, suggested by the agent or sent with an answer.
    ///
    /// Sending all suggestions of a request back is what "always allow" means.
    PermissionUpdate by "type" {
        /// Add rules.
        "addRules" => AddRules(AddRules) {
            /// The rules.
            rules: Vec<PermissionRule>,
            /// What the rules do.
            behavior: PermissionBehavior,
            /// Where they are kept.
            destination: PermissionDestination,
        },
        /// Replace all rules of that behaviour at that destination.
        "replaceRules" => ReplaceRules(ReplaceRules) {
            /// The rules.
            rules: Vec<PermissionRule>,
            /// What the rules do.
            behavior: PermissionBehavior,
            /// Where they are kept.
            destination: PermissionDestination,
        },
        /// Remove rules.
        "removeRules" => RemoveRules(RemoveRules) {
            /// The rules.
            rules: Vec<PermissionRule>,
            /// What the rules do.
            behavior: PermissionBehavior,
            /// Where they are kept.
            destination: PermissionDestination,
        },
        /// Change the mode.
        "setMode" => SetMode(SetMode) {
            /// The mode.
            mode: PermissionMode,
            /// Where it is kept.
            destination: PermissionDestination,
        },
        /// Add working directories.
        "addDirectories" => AddDirectories(AddDirectories) {
            /// The directories.
            directories: Vec<Text>,
            /// Where they are kept.
            destination: PermissionDestination,
        },
        /// Remove working directories.
        "removeDirectories" => RemoveDirectories(RemoveDirectories) {
            /// The directories.
            directories: Vec<Text>,
            /// Where they were kept.
            destination: PermissionDestination,
        },
    }
}

impl PermissionUpdate {
    /// Allow what these rules describe, until the session ends.
    ///
    /// ```
    /// use duologue_wire::permission::{PermissionRule, PermissionUpdate};
    ///
    /// let rule = PermissionRule::new().tool_name("Bash").rule_content("git *");
    /// let update = PermissionUpdate::allow_in_session([rule]);
    /// ```
    pub fn allow_in_session(rules: impl Into<Vec<PermissionRule>>) -> Self {
        let update = AddRules::new().rules(rules).behavior(PermissionBehavior::Allow);
        Self::AddRules(update.destination(PermissionDestination::Session))
    }

    /// Change the mode, until the session ends.
    pub fn set_mode(mode: PermissionMode) -> Self {
        Self::SetMode(SetMode::new().mode(mode).destination(PermissionDestination::Session))
    }
}

union! {
    /// The answer to a request for permission.
    ///
    /// ```
    /// use duologue_wire::{RawObject, permission::PermissionResult};
    /// use serde_json::json;
    ///
    /// let yes = PermissionResult::allow(RawObject::of(&json!({ "command": "ls" }))?);
    /// let no = PermissionResult::deny("look, but do not touch");
    /// let stop = PermissionResult::deny_and_interrupt("that is enough");
    /// # Ok::<(), duologue_wire::Fault>(())
    /// ```
    PermissionResult by "behavior" {
        /// Allow.
        "allow" => Allow(Allow) {
            /// The input to run with. Older CLIs require it.
            updated_input "updatedInput": RawObject,
            /// How the permissions change.
            updated_permissions "updatedPermissions": Vec<PermissionUpdate>,
            /// The call.
            tool_use_id "toolUseID": ToolUseId,
            /// Whether the user decided once or permanently.
            decision_classification "decisionClassification": DecisionClassification,
            /// Legacy: one update. CLIs ignore it.
            apply_permission_suggestion "applyPermissionSuggestion": PermissionUpdate => legacy,
        },
        /// Deny.
        "deny" => Deny(Deny) {
            /// The message for the model. Required by the CLI.
            message: Text,
            /// End the turn.
            interrupt: bool,
            /// The call.
            tool_use_id "toolUseID": ToolUseId,
            /// Whether the user decided once or permanently.
            decision_classification "decisionClassification": DecisionClassification,
        },
    }
}

impl PermissionResult {
    /// Allows the call with this input: the requested one, or another.
    pub fn allow(input: RawObject) -> Self {
        Self::Allow(Allow::new().updated_input(input))
    }

    /// Allows the call with this input, and changes the permissions.
    pub fn allow_and_update(input: RawObject, updates: impl Into<Vec<PermissionUpdate>>) -> Self {
        Self::Allow(Allow::new().updated_input(input).updated_permissions(updates))
    }

    /// Denies. The model reads the message and continues.
    pub fn deny(message: impl Into<Text>) -> Self {
        Self::Deny(Deny::new().message(message))
    }

    /// Denies and ends the turn. The model does not see the message.
    pub fn deny_and_interrupt(message: impl Into<Text>) -> Self {
        Self::Deny(Deny::new().message(message).interrupt(true))
    }

    /// The same answer with the id of the tool call. Not required by the CLI.
    #[must_use]
    pub fn for_tool_use(self, id: impl Into<ToolUseId>) -> Self {
        match self {
            Self::Allow(allow) => Self::Allow(allow.tool_use_id(id)),
            Self::Deny(deny) => Self::Deny(deny.tool_use_id(id)),
            Self::Unknown(unknown) => Self::Unknown(unknown),
        }
    }
}

words! {
    /// Whether the user decided once or permanently.
    DecisionClassification {
        /// Allowed once.
        UserTemporary = "user_temporary",
        /// Allowed permanently.
        UserPermanent = "user_permanent",
        /// Denied.
        UserReject = "user_reject",
    }
}
