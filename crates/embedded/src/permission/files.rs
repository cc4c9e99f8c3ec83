//! Whether a file may be read or changed.

use std::path::{Path, PathBuf};

use duologue_protocol::permission::{PermissionBehavior, PermissionDestination, PermissionMode};

use super::rule::Paths;
use super::suggestions::{accept_edits, allow_folder, allow_rule};
use super::{Ask, Permissions, Reason, Verdict};
use crate::path;
use crate::tools::{EditTool, ReadTool, WriteTool};

/// Folders whose files decide what runs later.
const DELICATE_FOLDERS: [&str; 6] =
    [".git", ".claude", ".vscode", ".idea", ".husky", ".devcontainer"];

/// Files that decide what runs later.
const DELICATE_FILES: [&str; 12] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".gitconfig",
    ".gitmodules",
    ".mcp.json",
    ".ripgreprc",
    ".envrc",
];

/// The files that deny rules keep from being read. `Grep` and `Glob` do not find them.
///
/// ```
/// use duologue_embedded::permission::{Permissions, RuleSource};
/// use duologue_protocol::permission::PermissionBehavior;
///
/// let folder = tempfile::tempdir()?;
/// let root = folder.path().canonicalize()?;
/// let mut permissions = Permissions::new(&root);
/// permissions.add_rules("Read(*.pem)", PermissionBehavior::Deny, RuleSource::CliArg);
/// let hidden = permissions.hidden_files();
/// assert!(hidden.contains(&root.join("server.pem")));
/// assert!(!hidden.contains(&root.join("server.rs")));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HiddenFiles {
    rules: Vec<Paths>,
}

impl HiddenFiles {
    /// Whether a file is hidden, by its name or by where that leads.
    pub fn contains(&self, file: &Path) -> bool {
        let covered = |path: &Path| self.rules.iter().any(|rule| rule.contains(path, false));
        !self.rules.is_empty()
            && (covered(file) || path::real(file).is_some_and(|real| covered(&real)))
    }
}

/// A path to be judged: as it was meant, and where it leads.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) shown: PathBuf,
    /// `None` if it leads in circles: then it is nowhere.
    pub(super) real: Option<PathBuf>,
}

impl Judged {
    fn any(&self, mut test: impl FnMut(&Path) -> bool) -> bool {
        test(&self.shown) || self.real.as_deref().is_some_and(test)
    }

    fn all(&self, mut test: impl FnMut(&Path) -> bool) -> bool {
        test(&self.shown) && self.real.as_deref().is_some_and(test)
    }
}

impl Permissions {
    /// Where a path leads.
    pub(super) fn resolve(&self, path: &str, cwd: &Path) -> Judged {
        let expanded = path::expanded(path, cwd, self.home());
        Judged { shown: path::fold(&expanded), real: path::real(&expanded) }
    }

    /// The real path of a folder, if it is in an allowed one.
    pub(super) fn inside(&self, path: &str, cwd: &Path) -> Option<PathBuf> {
        let judged = self.resolve(path, cwd);
        if self.is_inside(&judged) { judged.real } else { None }
    }

    pub(super) fn is_inside(&self, judged: &Judged) -> bool {
        let Some(real) = &judged.real else { return false };
        self.real_directories().any(|folder| real.starts_with(folder))
    }

    /// Whether it is one of the allowed directories itself.
    pub(super) fn is_root(&self, judged: &Judged) -> bool {
        self.real_directories().any(|folder| judged.real.as_deref() == Some(folder))
    }

    /// Whether a change here could make something run later. Only the part below an allowed directory
    /// counts.
    pub(super) fn is_delicate(&self, judged: &Judged) -> bool {
        let delicate = |path: &Path| {
            let below = self.real_directories().filter_map(|root| path.strip_prefix(root).ok());
            let path = below.min_by_key(|below| below.components().count()).unwrap_or(path);
            let folder = path.components().any(|part| {
                let part = part.as_os_str().to_string_lossy().to_lowercase();
                DELICATE_FOLDERS.contains(&part.as_str())
            });
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            folder || DELICATE_FILES.contains(&name.as_str())
        };
        judged.real.is_none() || judged.any(delicate)
    }

    pub(super) fn may_read(&self, judged: &Judged) -> bool {
        let Some(real) = &judged.real else { return false };
        self.is_inside(judged)
            || self.readable().any(|folder| real.starts_with(folder))
            || self.rule_says(
                PermissionBehavior::Allow,
                &[ReadTool::NAME, EditTool::NAME, WriteTool::NAME],
                judged,
            )
    }

    /// The files that deny rules keep from being read.
    pub fn hidden_files(&self) -> HiddenFiles {
        let rules = self.rules_of(PermissionBehavior::Deny, ReadTool::NAME);
        HiddenFiles { rules: rules.filter_map(|rule| rule.paths(self.places())).collect() }
    }

    pub(super) fn forbids_reading(&self, judged: &Judged) -> bool {
        self.rule_says(PermissionBehavior::Deny, &[ReadTool::NAME], judged)
    }

    pub(super) fn forbids_changing(&self, judged: &Judged) -> bool {
        self.rule_says(
            PermissionBehavior::Deny,
            &[ReadTool::NAME, EditTool::NAME, WriteTool::NAME],
            judged,
        )
    }

    /// Whether a rule with a path matches. A deny rule needs one form of the path; an allow rule
    /// needs both.
    fn rule_says(&self, behavior: PermissionBehavior, tools: &[&str], judged: &Judged) -> bool {
        let allows = behavior == PermissionBehavior::Allow;
        tools.iter().flat_map(|tool| self.rules_of(behavior.clone(), tool)).any(|rule| {
            // Rules about whole tools are compared with the tool that is called.
            let test =
                |path: &Path| rule.content.is_some() && rule.matches_path(path, self.places());
            if allows { judged.all(test) } else { judged.any(test) }
        })
    }

    /// Judges `Read`, `Glob` and `Grep`.
    pub(super) fn judge_reading(&self, tool: &str, path: &str, cwd: &Path) -> Verdict {
        let judged = self.resolve(path, cwd);
        if self.forbids_reading(&judged) {
            if tool != ReadTool::NAME {
                let message =
                    format!("Permission to read {} has been denied.", judged.shown.display());
                return Verdict::deny(message, Reason::Rule);
            }
            return denied_path();
        }
        let must_ask = self.rule_says(PermissionBehavior::Ask, &[ReadTool::NAME], &judged);
        if !must_ask {
            if self.mode() == PermissionMode::BypassPermissions || self.is_inside(&judged) {
                return Verdict::Allow(Reason::Mode);
            }
            if self.allows_tool(tool) || self.may_read(&judged) {
                return Verdict::Allow(Reason::Rule);
            }
        }
        let folder = match &judged.real {
            Some(real) if real.is_dir() => judged.shown.as_path(),
            _ => judged.shown.parent().unwrap_or(&judged.shown),
        };
        let content = format!("/{}/**", folder.display());
        let mut ask = self.ask_path(&judged);
        ask.suggestions =
            Some(vec![allow_rule(ReadTool::NAME, Some(&content), PermissionDestination::Session)]);
        Verdict::Ask(Box::new(ask))
    }

    /// Judges `Write`, `Edit` and `NotebookEdit`.
    pub(super) fn judge_changing(&self, tool: &str, path: &str, cwd: &Path) -> Verdict {
        let judged = self.resolve(path, cwd);
        if self.forbids_changing(&judged) {
            return denied_path();
        }
        let must_ask =
            self.rule_says(PermissionBehavior::Ask, &[EditTool::NAME, WriteTool::NAME], &judged);
        let is_plan = judged.real.is_some() && judged.real.as_deref() == self.plan_file();
        if !must_ask {
            if self.mode() == PermissionMode::BypassPermissions || is_plan {
                return Verdict::Allow(Reason::Mode);
            }
            if self.allows_tool(tool)
                || self.rule_says(
                    PermissionBehavior::Allow,
                    &[EditTool::NAME, WriteTool::NAME],
                    &judged,
                )
            {
                return Verdict::Allow(Reason::Rule);
            }
        }
        let mut ask = self.ask_path(&judged);
        if self.mode() == PermissionMode::Plan {
            ask.decision_reason = None;
            ask.decision_reason_type = Some(Reason::Mode);
            ask.server_policy_ask_only = false;
            return Verdict::Ask(Box::new(ask));
        }
        let inside = self.is_inside(&judged);
        if inside && self.is_delicate(&judged) {
            ask.decision_reason = Some("This file decides what runs later".to_owned());
            ask.decision_reason_type = Some(Reason::SafetyCheck);
        } else if inside && !must_ask && self.mode() == PermissionMode::AcceptEdits {
            return Verdict::Allow(Reason::Mode);
        }
        let mut suggestions = Vec::new();
        if self.mode() == PermissionMode::Default {
            suggestions.push(accept_edits());
        }
        if !inside {
            let folder = judged.shown.parent().unwrap_or(&judged.shown);
            suggestions.push(allow_folder(folder));
        }
        ask.suggestions = Some(suggestions);
        Verdict::Ask(Box::new(ask))
    }

    fn ask_path(&self, judged: &Judged) -> Ask {
        let outside = !self.is_inside(judged);
        let shown = judged.shown.strip_prefix(self.root()).unwrap_or(&judged.shown);
        let shown = shown.to_string_lossy().into_owned();
        Ask {
            decision_reason: outside
                .then(|| "Path is outside allowed working directories".to_owned()),
            decision_reason_type: outside.then_some(Reason::WorkingDir),
            message: format!(
                "Claude requested permissions for {shown}, but you haven't granted it yet."
            ),
            description: Some(shown),
            server_policy_ask_only: true,
            ..Ask::default()
        }
    }
}

fn denied_path() -> Verdict {
    Verdict::deny(
        "File is in a directory that is denied by your permission settings.",
        Reason::Rule,
    )
}
