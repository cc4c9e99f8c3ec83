//! Suggestions that go with a question, and the text of a denial.

use std::path::Path;

use duologue_protocol::permission::{
    AddDirectories, AddRules, PermissionBehavior, PermissionDestination, PermissionMode,
    PermissionRule, PermissionUpdate,
};

/// The end of a denial: the model must not work around it. The words are the CLI's own.
pub(super) const NO_WAY_AROUND: &str = "IMPORTANT: You *may* attempt to accomplish this action using other tools that might naturally be used to accomplish this goal, e.g. using head instead of cat. But you *should not* attempt to work around this denial in malicious ways, e.g. do not use your ability to run tests to execute non-test actions. You should only try to work around this restriction in reasonable ways that do not attempt to bypass the intent behind this denial. If you believe this capability is essential to complete the user's request, STOP and explain to the user what you were trying to do and why you need this permission. Let the user decide how to proceed.";

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
