//! Who may do what: rules, modes, and what is not asked.
//!
//! ```
//! use duologue_embedded::permission::{Permissions, RuleSource, Verdict};
//! use duologue_protocol::RawObject;
//! use duologue_protocol::permission::PermissionBehavior;
//! use serde_json::json;
//!
//! let folder = tempfile::tempdir()?;
//! let mut permissions = Permissions::new(folder.path());
//! permissions.add_rules("Bash(git *)", PermissionBehavior::Allow, RuleSource::CliArg);
//!
//! let mut judge = |command| {
//!     let input = RawObject::of(&json!({ "command": command }))?;
//!     Ok::<_, duologue_protocol::Fault>(permissions.judge("Bash", &input, folder.path()))
//! };
//! assert!(judge("git push")?.is_allowed());
//! assert!(judge("ls -la")?.is_allowed());
//! assert!(matches!(judge("git push; make install")?, Verdict::Ask(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commands;
mod files;
mod programs;
mod reach;
mod readonly;
mod rule;
mod runs;
mod shell;
mod store;
mod update;
mod verdict;

use std::path::{Path, PathBuf};

use duologue_protocol::RawObject;
use duologue_protocol::permission::{PermissionBehavior, PermissionDestination, PermissionMode};
use thiserror::Error;

use crate::path;
use crate::tools;
use rule::Places;
use verdict::{NO_WAY_AROUND, allow_rule, deny};

pub use files::HiddenFiles;
pub use rule::{Rule, RuleSource};
pub use verdict::{Ask, Denial, Reason, Verdict};

/// A mode that cannot be entered.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ModeRefused {
    /// `bypassPermissions` takes a process that was started for it.
    #[error(
        "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions"
    )]
    BypassNotLaunched,
    /// There is no such mode here.
    #[error("Unknown permission mode: {0}")]
    Unknown(String),
}

/// Who may do what in a session.
#[derive(Clone, Debug)]
pub struct Permissions {
    mode: PermissionMode,
    may_bypass: bool,
    rules: Vec<Rule>,
    /// As they were given, where they lead, and where they come from.
    directories: Vec<(PathBuf, PathBuf, RuleSource)>,
    readable: Vec<PathBuf>,
    plan_file: Option<PathBuf>,
    sources: Vec<RuleSource>,
    places: Places,
}

impl Permissions {
    /// The permissions of a session in this directory: no rules, the default mode.
    pub fn new(root: impl AsRef<Path>) -> Self {
        let given = std::path::absolute(root.as_ref()).unwrap_or_else(|_| root.as_ref().into());
        let root = path::real(&given).unwrap_or(given);
        Self {
            mode: PermissionMode::Default,
            may_bypass: false,
            rules: Vec::new(),
            directories: Vec::new(),
            readable: Vec::new(),
            plan_file: None,
            sources: vec![
                RuleSource::UserSettings,
                RuleSource::ProjectSettings,
                RuleSource::LocalSettings,
            ],
            places: Places { project: root, home: path::home(), config: None },
        }
    }

    /// The folder of the user's settings.
    pub fn set_config_dir(&mut self, folder: impl Into<PathBuf>) {
        self.places.config = Some(folder.into());
    }

    /// The settings files that count. Updates for others are written but not in force.
    pub fn set_setting_sources(&mut self, sources: Vec<RuleSource>) {
        self.sources = sources;
    }

    /// Lets `bypassPermissions` be entered.
    pub fn allow_bypass(&mut self) {
        self.may_bypass = true;
    }

    /// Changes the mode.
    ///
    /// # Errors
    /// If it cannot be entered.
    pub fn set_mode(&mut self, mode: PermissionMode) -> Result<(), ModeRefused> {
        self.mode = match mode {
            PermissionMode::BypassPermissions if !self.may_bypass => {
                return Err(ModeRefused::BypassNotLaunched);
            }
            PermissionMode::Manual => PermissionMode::Default,
            mode if mode.is_known() && mode != PermissionMode::Auto => mode,
            unknown => return Err(ModeRefused::Unknown(unknown.as_str().to_owned())),
        };
        Ok(())
    }

    /// The mode.
    pub fn mode(&self) -> PermissionMode {
        self.mode.clone()
    }

    /// Adds rules, separated by commas or spaces as in `--allowedTools`.
    pub fn add_rules(&mut self, list: &str, behavior: PermissionBehavior, source: RuleSource) {
        for text in rule::split_list(list) {
            self.add_rule(Rule::parse(text, behavior.clone(), source));
        }
    }

    /// Adds one rule.
    pub fn add_rule(&mut self, rule: Rule) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Lets tools work in a further directory.
    pub fn add_directory(&mut self, folder: impl AsRef<Path>, source: RuleSource) {
        let given = folder.as_ref().to_string_lossy();
        let shown = path::absolute(&given, &self.places.project, self.home());
        if let Some(real) = path::real(&shown) {
            self.directories.retain(|(other, _, _)| *other != shown);
            self.directories.push((shown, real, source));
        }
    }

    /// The directories that tools may work in, the first of the session first.
    pub fn directories(&self) -> Vec<PathBuf> {
        let further = self.directories.iter().map(|(shown, _, _)| shown.clone());
        std::iter::once(self.places.project.clone()).chain(further).collect()
    }

    /// Lets this folder be read without asking: what the agent itself has written there.
    pub fn add_readable(&mut self, folder: impl Into<PathBuf>) {
        let folder = folder.into();
        self.readable.push(path::real(&folder).unwrap_or(folder));
    }

    /// Lets this file be written in plan mode.
    pub fn set_plan_file(&mut self, file: Option<PathBuf>) {
        self.plan_file = file.map(|file| path::real(&file).unwrap_or(file));
    }

    /// Whether a rule takes a tool away altogether, so that it is not even offered.
    pub fn takes_away(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| {
            rule.behavior == PermissionBehavior::Deny && rule.covers_tool(canonical(tool))
        })
    }

    /// Whether a tool may run with this input, from this directory.
    pub fn judge(&self, tool: &str, input: &RawObject, cwd: &Path) -> Verdict {
        let tool = canonical(tool);
        if self.takes_away(tool) {
            return deny(format!("Permission to use {tool} has been denied."), Reason::Rule);
        }
        let verdict = self.judge_tool(tool, input, cwd);
        let asked_always = self
            .rules
            .iter()
            .any(|rule| rule.behavior == PermissionBehavior::Ask && rule.covers_tool(tool));
        let verdict = match verdict {
            Verdict::Allow(_) if asked_always && self.mode != PermissionMode::BypassPermissions => {
                Verdict::Ask(Box::new(Ask {
                    decision_reason_type: Some(Reason::Rule),
                    message: not_granted(tool),
                    ..Ask::default()
                }))
            }
            other => other,
        };
        match verdict {
            Verdict::Ask(_) if self.mode == PermissionMode::DontAsk => deny(
                format!(
                    "Permission to use {tool} has been denied because Claude Code is running in don't ask mode. {NO_WAY_AROUND}"
                ),
                Reason::Mode,
            ),
            Verdict::Ask(mut ask) => {
                if ask.description.is_none() {
                    ask.description = text(input, "description").filter(|text| !text.is_empty());
                }
                Verdict::Ask(ask)
            }
            decided => decided,
        }
    }

    fn judge_tool(&self, tool: &str, input: &RawObject, cwd: &Path) -> Verdict {
        let field = |name| text(input, name).unwrap_or_default();
        match tool {
            "Bash" => self.judge_command(&field("command"), cwd),
            "Read" => self.judge_reading(tool, &field("file_path"), cwd),
            "Grep" => self.judge_reading(tool, &field("path"), cwd),
            "Glob" => {
                let (folder, _) = tools::search_root(&field("path"), &field("pattern"));
                self.judge_reading(tool, &folder, cwd)
            }
            "Write" | "Edit" => self.judge_changing(tool, &field("file_path"), cwd),
            "NotebookEdit" => self.judge_changing(tool, &field("notebook_path"), cwd),
            "AskUserQuestion" | "ExitPlanMode" => Verdict::Ask(Box::new(Ask {
                requires_user_interaction: true,
                message: not_granted(tool),
                ..Ask::default()
            })),
            "Agent" => {
                let kind = field("subagent_type");
                let denied = self
                    .rules_of(PermissionBehavior::Deny, tool)
                    .any(|rule| rule.content.as_deref() == Some(kind.as_str()));
                if denied {
                    return deny(format!("Agent type '{kind}' has been denied."), Reason::Rule);
                }
                Verdict::Allow(Reason::NeverAsked)
            }
            "TodoWrite" | "EnterPlanMode" | "StructuredOutput" | "ToolSearch" => {
                Verdict::Allow(Reason::NeverAsked)
            }
            _ => self.judge_other(tool),
        }
    }

    /// Judges a tool of which nothing is known, such as one of an MCP server.
    fn judge_other(&self, tool: &str) -> Verdict {
        if self.mode == PermissionMode::BypassPermissions {
            return Verdict::Allow(Reason::Mode);
        }
        if self.allows_tool(tool) {
            return Verdict::Allow(Reason::Rule);
        }
        let suggestion = allow_rule(tool, None, PermissionDestination::LocalSettings);
        Verdict::Ask(Box::new(Ask {
            suggestions: Some(vec![suggestion]),
            server_policy_ask_only: true,
            message: not_granted(tool),
            ..Ask::default()
        }))
    }

    fn allows_tool(&self, tool: &str) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.behavior == PermissionBehavior::Allow && rule.covers_tool(tool))
    }

    /// Whether somebody has allowed this tool at all: by a rule, or by a mode in which less is asked.
    pub(crate) fn grants(&self, tool: &str) -> bool {
        let tool = canonical(tool);
        let asks = matches!(self.mode, PermissionMode::Default | PermissionMode::Plan);
        !asks
            || self.allows_tool(tool)
            || self.rules_of(PermissionBehavior::Allow, tool).any(|_| true)
    }

    fn rules_of<'a>(
        &'a self,
        behavior: PermissionBehavior,
        tool: &'a str,
    ) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| rule.behavior == behavior && rule.tool == tool)
    }

    fn root(&self) -> &Path {
        &self.places.project
    }

    fn home(&self) -> Option<&Path> {
        self.places.home.as_deref()
    }

    const fn places(&self) -> &Places {
        &self.places
    }

    fn plan_file(&self) -> Option<&Path> {
        self.plan_file.as_deref()
    }

    fn readable(&self) -> impl Iterator<Item = &Path> {
        self.readable.iter().map(PathBuf::as_path)
    }

    fn real_directories(&self) -> impl Iterator<Item = &Path> {
        let further = self.directories.iter().map(|(_, real, _)| real.as_path());
        std::iter::once(self.root()).chain(further)
    }
}

/// Whether it is certain that a command changes nothing. Where it reads is not looked at.
pub fn is_read_only_command(command: &str) -> bool {
    let harmless = |part: &shell::Part| {
        let silent = part.redirects.iter().all(|to| !to.writes || to.target.value == "/dev/null");
        !part.assigns() && silent && readonly::reads(&part.words).is_some()
    };
    shell::read(command).parse(command).is_ok_and(|parts| parts.iter().all(harmless))
}

/// The commands of a command line, by name, if it is certain which they are and none of them is
/// redirected.
pub(crate) fn command_names(command: &str) -> Option<Vec<String>> {
    let script = shell::read(command);
    let parts = script.parse(command).ok()?;
    let plain = parts.iter().all(|part| part.redirects.is_empty() && !part.assigns());
    plain.then(|| parts.iter().map(|part| part.name().to_owned()).collect())
}

fn not_granted(tool: &str) -> String {
    format!("Claude requested permissions to use {tool}, but you haven't granted it yet.")
}

fn text(input: &RawObject, name: &str) -> Option<String> {
    Some(input.get(name)?.as_str()?.as_str().to_owned())
}

/// `Task` is the older name of `Agent`.
fn canonical(tool: &str) -> &str {
    if tool == "Task" { "Agent" } else { tool }
}
