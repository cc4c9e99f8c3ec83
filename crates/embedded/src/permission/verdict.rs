//! What comes out of a judgement.

use std::path::{Path, PathBuf};

use duologue_protocol::permission::{
    AddDirectories, AddRules, PermissionBehavior, PermissionDestination, PermissionMode,
    PermissionRule, PermissionUpdate,
};

/// Whether a tool may run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It may.
    Allow(Reason),
    /// It may not.
    Deny(Denial),
    /// Somebody is to be asked.
    Ask(Box<Ask>),
}

impl Verdict {
    /// Whether it may run without anybody being asked.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }
}

/// What decided: `reason_type` on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A rule.
    Rule,
    /// The permission mode, or what is never asked in any mode.
    Mode,
    /// Every part of a command line.
    SubcommandResults,
    /// A path outside of the allowed directories.
    WorkingDir,
    /// A file that is not to be changed by the way.
    SafetyCheck,
    /// It is never asked.
    NeverAsked,
    /// Something else.
    Other,
}

impl Reason {
    /// Its name on the wire: `subcommandResults`. What is never asked needs no reason.
    pub const fn as_str(self) -> Option<&'static str> {
        Some(match self {
            Self::Rule => "rule",
            Self::Mode => "mode",
            Self::SubcommandResults => "subcommandResults",
            Self::WorkingDir => "workingDir",
            Self::SafetyCheck => "safetyCheck",
            Self::Other => "other",
            Self::NeverAsked => return None,
        })
    }
}

/// Why a tool may not run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Denial {
    /// What the model is told.
    pub message: String,
    /// What decided.
    pub reason: Reason,
}

/// What is asked: the fields of `can_use_tool` that permissions know.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ask {
    /// What the person may agree to for good. Absent where the CLI sends none.
    pub suggestions: Option<Vec<PermissionUpdate>>,
    /// The path that it is about.
    pub blocked_path: Option<PathBuf>,
    /// Why it is asked, for people.
    pub decision_reason: Option<String>,
    /// What decided that it is asked.
    pub decision_reason_type: Option<Reason>,
    /// What the call is about, for people.
    pub description: Option<String>,
    /// Whether only a person can answer.
    pub requires_user_interaction: bool,
    /// Whether the CLI marks it so: everything but commands and questions.
    pub server_policy_ask_only: bool,
    /// What the model is told if nobody can be asked.
    pub message: String,
}

/// The text that tells a model not to look for a way around.
pub(super) const NO_WAY_AROUND: &str = "IMPORTANT: You *may* attempt to accomplish this action using other tools that might naturally be used to accomplish this goal, e.g. using head instead of cat. But you *should not* attempt to work around this denial in malicious ways, e.g. do not use your ability to run tests to execute non-test actions. You should only try to work around this restriction in reasonable ways that do not attempt to bypass the intent behind this denial. If you believe this capability is essential to complete the user's request, STOP and explain to the user what you were trying to do and why you need this permission. Let the user decide how to proceed.";

pub(super) fn deny(message: impl Into<String>, reason: Reason) -> Verdict {
    Verdict::Deny(Denial { message: message.into(), reason })
}

/// Suggests to allow what a rule describes.
pub(super) fn allow_rule(
    tool: &str,
    content: Option<&str>,
    destination: PermissionDestination,
) -> PermissionUpdate {
    let mut rule = PermissionRule::new().tool_name(tool);
    if let Some(content) = content {
        rule = rule.rule_content(content);
    }
    let rules = AddRules::new().rules(vec![rule]).behavior(PermissionBehavior::Allow);
    PermissionUpdate::AddRules(rules.destination(destination))
}

/// Suggests to allow a folder for this session.
pub(super) fn allow_folder(folder: &Path) -> PermissionUpdate {
    let folders = vec![folder.to_string_lossy().into_owned().into()];
    let update = AddDirectories::new().directories(folders);
    PermissionUpdate::AddDirectories(update.destination(PermissionDestination::Session))
}

/// Suggests to allow all edits for this session.
pub(super) fn accept_edits() -> PermissionUpdate {
    PermissionUpdate::set_mode(PermissionMode::AcceptEdits)
}
