//! Permission rules and modes.
//!
//! ```
//! use duologue_embedded::permission::{Permissions, RuleSource, Verdict};
//! use duologue_embedded::tools::Toolbox;
//! use duologue_protocol::RawObject;
//! use duologue_protocol::permission::PermissionBehavior;
//! use serde_json::json;
//!
//! let folder = tempfile::tempdir()?;
//! let mut permissions = Permissions::new(folder.path());
//! permissions.add_rules("Bash(git *)", PermissionBehavior::Allow, RuleSource::CliArg);
//!
//! let toolbox = Toolbox::standard();
//! let bash = toolbox.get("Bash").ok_or("no such tool")?.as_ref();
//! let judge = |command| {
//!     let input = RawObject::of(&json!({ "command": command }))?;
//!     Ok::<_, duologue_protocol::Fault>(permissions.judge(bash, &input, folder.path()))
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
mod read_only;
mod rule;
mod runs;
mod shell;
mod store;
mod suggestions;
mod update;

use std::path::{Path, PathBuf};

use duologue_agent::canonical_tool_name;
use duologue_protocol::RawObject;
use duologue_protocol::permission::{PermissionBehavior, PermissionDestination, PermissionMode};
use thiserror::Error;

use crate::path;
use crate::tools::{self, Access, Tool};
use rule::Places;
use suggestions::{NO_WAY_AROUND, allow_rule};

pub use duologue_agent::{Ask, Denial, Reason, Verdict};
pub use files::HiddenFiles;
pub use rule::{Rule, RuleSource};

/// A mode that cannot be entered.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ModeRefused {
    /// `bypassPermissions` needs a process that was started with it.
    #[error(
        "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions"
    )]
    BypassNotLaunched,
    /// The mode is unknown.
    #[error("Unknown permission mode: {0}")]
    Unknown(String),
}

/// The permission rules and the mode of a session.
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

    /// The further directories, each with where it comes from.
    pub(crate) fn further_directories(&self) -> Vec<(PathBuf, RuleSource)> {
        self.directories.iter().map(|(shown, _, source)| (shown.clone(), *source)).collect()
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

    /// Whether a rule denies a whole tool, so that it is not offered.
    pub fn denies_tool(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| {
            rule.behavior == PermissionBehavior::Deny && rule.covers_tool(canonical_tool_name(tool))
        })
    }

    /// Judges a call of a tool, made from this directory.
    pub fn judge(&self, tool: &dyn Tool, input: &RawObject, cwd: &Path) -> Verdict {
        self.judge_access(tool.name(), &tool.access(input), tool.summary(input), cwd)
    }

    /// Judges a call of a tool that is known by its name only, such as one of an MCP server.
    pub fn judge_external(&self, tool: &str, input: &RawObject, cwd: &Path) -> Verdict {
        let description = tools::text(input, "description");
        self.judge_access(canonical_tool_name(tool), &Access::Unknown, description, cwd)
    }

    fn judge_access(
        &self,
        tool: &str,
        access: &Access,
        description: Option<String>,
        cwd: &Path,
    ) -> Verdict {
        if self.denies_tool(tool) {
            return Verdict::deny(
                format!("Permission to use {tool} has been denied."),
                Reason::Rule,
            );
        }
        let verdict = match access {
            Access::Command(command) => self.judge_command(command, cwd),
            Access::Read(path) => self.judge_reading(tool, path, cwd),
            Access::Change(path) => self.judge_changing(tool, path, cwd),
            Access::Subagent(kind) => self.judge_subagent(tool, kind),
            Access::Skill(name) => self.judge_skill(tool, name),
            Access::Web(domain) => self.judge_web(tool, domain),
            Access::Person => {
                let ask = Ask { requires_user_interaction: true, ..Ask::for_tool(tool) };
                Verdict::Ask(Box::new(ask))
            }
            Access::Nothing => Verdict::Allow(Reason::NeverAsked),
            Access::Unknown => self.judge_unknown(tool),
        };
        let asked_always = self
            .rules
            .iter()
            .any(|rule| rule.behavior == PermissionBehavior::Ask && rule.covers_tool(tool));
        let verdict = match verdict {
            Verdict::Allow(_) if asked_always && self.mode != PermissionMode::BypassPermissions => {
                let reason = Some(Reason::Rule);
                Verdict::Ask(Box::new(Ask { decision_reason_type: reason, ..Ask::for_tool(tool) }))
            }
            other => other,
        };
        match verdict {
            Verdict::Ask(_) if self.mode == PermissionMode::DontAsk => Verdict::deny(
                format!(
                    "Permission to use {tool} has been denied because Claude Code is running in don't ask mode. {NO_WAY_AROUND}"
                ),
                Reason::Mode,
            ),
            Verdict::Ask(mut ask) => {
                if ask.description.is_none() {
                    ask.description = description.filter(|text| !text.is_empty());
                }
                Verdict::Ask(ask)
            }
            decided => decided,
        }
    }

    fn judge_subagent(&self, tool: &str, kind: &str) -> Verdict {
        let mut denied = self.rules_of(PermissionBehavior::Deny, tool);
        if denied.any(|rule| rule.content.as_deref() == Some(kind)) {
            return Verdict::deny(format!("Agent type '{kind}' has been denied."), Reason::Rule);
        }
        Verdict::Allow(Reason::NeverAsked)
    }

    fn judge_skill(&self, tool: &str, skill: &str) -> Verdict {
        let covers = |rule: &Rule| match rule.content.as_deref() {
            None => true,
            Some(content) => content
                .strip_suffix(":*")
                .map_or(content == skill, |prefix| skill.starts_with(prefix)),
        };
        if self.rules_of(PermissionBehavior::Deny, tool).any(covers) {
            return Verdict::deny(format!("Skill '{skill}' has been denied."), Reason::Rule);
        }
        if self.mode == PermissionMode::BypassPermissions {
            return Verdict::Allow(Reason::Mode);
        }
        if self.rules_of(PermissionBehavior::Allow, tool).any(covers) {
            return Verdict::Allow(Reason::Rule);
        }
        let to = || PermissionDestination::LocalSettings;
        let suggestions = vec![
            allow_rule(tool, Some(skill), to()),
            allow_rule(tool, Some(&format!("{skill}:*")), to()),
        ];
        Verdict::Ask(Box::new(Ask { suggestions: Some(suggestions), ..Ask::for_tool(tool) }))
    }

    fn judge_web(&self, tool: &str, domain: &str) -> Verdict {
        let content = format!("domain:{domain}");
        let covers = |rule: &Rule| rule.content.as_ref().is_none_or(|rule| *rule == content);
        if self.rules_of(PermissionBehavior::Deny, tool).any(covers) {
            return Verdict::deny(format!("{tool} denied access to {content}."), Reason::Rule);
        }
        if self.mode == PermissionMode::BypassPermissions {
            return Verdict::Allow(Reason::Mode);
        }
        if self.rules_of(PermissionBehavior::Allow, tool).any(covers) {
            return Verdict::Allow(Reason::Rule);
        }
        let rule = allow_rule(tool, Some(&content), PermissionDestination::LocalSettings);
        Verdict::Ask(Box::new(Ask { suggestions: Some(vec![rule]), ..Ask::for_tool(tool) }))
    }

    /// Drops the rules of a source that were added for one turn.
    pub(crate) fn remove_rules(&mut self, rules: &[Rule]) {
        self.rules.retain(|rule| !rules.contains(rule));
    }

    fn judge_unknown(&self, tool: &str) -> Verdict {
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
            ..Ask::for_tool(tool)
        }))
    }

    fn allows_tool(&self, tool: &str) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.behavior == PermissionBehavior::Allow && rule.covers_tool(tool))
    }

    /// Whether a rule or the mode allows this tool or some calls of it.
    pub(crate) fn grants(&self, tool: &str) -> bool {
        let tool = canonical_tool_name(tool);
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

/// Changes one field of a settings file. The rest stays as it is.
///
/// # Errors
/// If the file is not JSON, or cannot be written.
pub(crate) fn set_setting(
    file: PathBuf,
    name: &str,
    value: &serde_json::Value,
) -> std::io::Result<()> {
    store::SettingsFile::open(file)?.set(name, value)
}

/// Whether it is certain that a command changes nothing. The paths that it reads are not checked.
pub fn is_read_only_command(command: &str) -> bool {
    let harmless = |part: &shell::Part| {
        let silent = part.redirects.iter().all(|to| !to.writes || to.target.value == "/dev/null");
        !part.assigns() && silent && read_only::reads(&part.words).is_some()
    };
    shell::read(command).parse(command).is_ok_and(|parts| parts.iter().all(harmless))
}

/// Whether it is certain that a command line prints nothing when it succeeds.
pub(crate) fn is_silent_command(command: &str) -> bool {
    let is_silent = |part: &shell::Part| {
        part.redirects.is_empty() && !part.assigns() && programs::is_silent(part.name())
    };
    shell::read(command).parse(command).is_ok_and(|parts| parts.iter().all(is_silent))
}
