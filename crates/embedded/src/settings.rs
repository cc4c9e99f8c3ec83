//! Settings files: permissions, command hooks, variables.
//!
//! ```
//! use duologue_embedded::settings::{SettingSource, Settings, SettingsPlaces};
//! use serde_json::json;
//!
//! let folder = tempfile::tempdir()?;
//! let claude = folder.path().join(".claude");
//! std::fs::create_dir(&claude)?;
//! let text = json!({ "permissions": { "allow": ["Bash(git *)"] } }).to_string();
//! std::fs::write(claude.join("settings.json"), text)?;
//!
//! let places = SettingsPlaces::new(folder.path(), folder.path().join("config"));
//! let settings = Settings::load(&places, &SettingSource::ALL, None);
//! assert_eq!(settings.rules[0].spelled(), "Bash(git *)");
//! # Ok::<(), std::io::Error>(())
//! ```

mod hooks;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use duologue_protocol::permission::{PermissionBehavior, PermissionMode};
use serde_json::Value;

use crate::permission::{Permissions, Rule, RuleSource};

pub use hooks::{CommandHook, CommandHookOutcome, CommandHookRun};

/// The largest settings file that is read.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// A settings file that `--setting-sources` may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingSource {
    /// The user's.
    User,
    /// The project's.
    Project,
    /// The project's that is not checked in.
    Local,
}

impl SettingSource {
    /// All of them, the weakest first.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    /// Reads a list as `--setting-sources` has it; an empty one names none.
    ///
    /// # Errors
    /// If a name is unknown: that name.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, String> {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        names
            .map(|name| match name {
                "user" => Ok(Self::User),
                "project" => Ok(Self::Project),
                "local" => Ok(Self::Local),
                other => Err(other.to_owned()),
            })
            .collect()
    }

    /// The source of the rules in it.
    pub const fn rule_source(self) -> RuleSource {
        match self {
            Self::User => RuleSource::UserSettings,
            Self::Project => RuleSource::ProjectSettings,
            Self::Local => RuleSource::LocalSettings,
        }
    }
}

/// Where settings files are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SettingsPlaces {
    /// The project.
    pub project: PathBuf,
    /// The folder of the user's settings.
    pub config: PathBuf,
}

impl SettingsPlaces {
    /// The settings of a project and of a user.
    pub fn new(project: impl Into<PathBuf>, config: impl Into<PathBuf>) -> Self {
        Self { project: project.into(), config: config.into() }
    }

    /// The file of a source.
    pub fn file(&self, source: SettingSource) -> PathBuf {
        match source {
            SettingSource::User => self.config.join("settings.json"),
            SettingSource::Project => self.project.join(".claude/settings.json"),
            SettingSource::Local => self.project.join(".claude/settings.local.json"),
        }
    }
}

/// The content of all settings files.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Rules, with where each comes from.
    pub rules: Vec<Rule>,
    /// The mode to begin in; the strongest source wins.
    pub default_mode: Option<PermissionMode>,
    /// Further directories.
    pub directories: Vec<(PathBuf, RuleSource)>,
    /// Commands to run when something happens.
    pub hooks: Vec<CommandHook>,
    /// Variables for tools.
    pub environment: Vec<(String, String)>,
    /// The model to use.
    pub model: Option<String>,
    /// How answers are styled.
    pub output_style: Option<String>,
    /// What each source has, the weakest first.
    pub sources: Vec<(RuleSource, Value)>,
    /// What could not be read, for the person.
    pub faults: Vec<String>,
    /// Why `--settings` could not be read. It is one of [`faults`](Self::faults).
    pub flag_fault: Option<String>,
}

impl Settings {
    /// Reads the files of these sources, and what `--settings` gave: a file, or JSON itself. What is
    /// missing is skipped; what cannot be read is listed in [`faults`](Self::faults).
    pub fn load(places: &SettingsPlaces, sources: &[SettingSource], flag: Option<&str>) -> Self {
        let mut settings = Self::default();
        for source in SettingSource::ALL.into_iter().filter(|source| sources.contains(source)) {
            settings.take_file(&places.file(source), source.rule_source(), false);
        }
        let before = settings.faults.len();
        match flag {
            Some(json) if json.trim_start().starts_with('{') => {
                settings.take_text(json, RuleSource::FlagSettings, "--settings");
            }
            Some(file) => {
                settings.take_file(&places.project.join(file), RuleSource::FlagSettings, true);
            }
            None => {}
        }
        settings.flag_fault = settings.faults.get(before).cloned();
        settings
    }

    /// Puts rules, directories and the mode in force.
    pub fn apply_to(&self, permissions: &mut Permissions) {
        for rule in &self.rules {
            permissions.add_rule(rule.clone());
        }
        for (folder, source) in &self.directories {
            permissions.add_directory(folder, *source);
        }
        if let Some(mode) = &self.default_mode {
            // A settings file cannot set a mode that the process was not started for.
            let _ = permissions.set_mode(mode.clone());
        }
    }

    /// The hooks of an event that match this subject: the tool, the source, the trigger.
    pub fn hooks_for<'a>(
        &'a self,
        event: &'a str,
        subject: Option<&'a str>,
    ) -> impl Iterator<Item = &'a CommandHook> {
        self.hooks.iter().filter(move |hook| hook.event == event && hook.matches(subject))
    }

    fn take_file(&mut self, path: &Path, source: RuleSource, must_exist: bool) {
        match read(path) {
            Ok(text) => self.take_text(&text, source, &path.to_string_lossy()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => {}
            Err(error) => self.faults.push(format!("{}: {error}", path.display())),
        }
    }

    fn take_text(&mut self, text: &str, source: RuleSource, name: &str) {
        match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Object(_)) => self.take(&value, source),
            Ok(_) => self.faults.push(format!("{name}: not an object")),
            Err(_) if text.trim().is_empty() => {}
            Err(error) => self.faults.push(format!("{name}: {error}")),
        }
    }

    /// Takes out what a project that is not trusted must not have: rules that allow, and further directories. Returns the
    /// rules, and a message for each kind.
    pub(crate) fn distrust(&mut self, how: &str) -> (Vec<Rule>, Vec<String>) {
        let is_grant = |rule: &Rule| {
            rule.source == RuleSource::ProjectSettings && rule.behavior == PermissionBehavior::Allow
        };
        let (grants, rest): (Vec<Rule>, Vec<Rule>) =
            std::mem::take(&mut self.rules).into_iter().partition(is_grant);
        self.rules = rest;
        let before = self.directories.len();
        self.directories.retain(|(_, source)| *source != RuleSource::ProjectSettings);
        let counts = [
            ("permissions.allow", grants.len()),
            ("permissions.additionalDirectories", before - self.directories.len()),
        ];
        let messages = counts.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| {
            let entries = if count == 1 { "entry" } else { "entries" };
            format!("Ignoring {count} {what} {entries} from .claude/settings.json: this workspace has not been trusted. {how}")
        });
        (grants, messages.collect())
    }

    /// All sources together. Objects are merged, lists are joined, and of other values the strongest counts.
    pub fn effective(&self) -> Value {
        let mut all = Value::Object(serde_json::Map::new());
        for (_, value) in &self.sources {
            merge(&mut all, value);
        }
        all
    }

    /// Adds managed settings: a file, or JSON itself. Only what restricts counts.
    pub(crate) fn restrict(&mut self, given: &str, folder: &Path) {
        let text = match given.trim_start().starts_with('{') {
            true => Ok(given.to_owned()),
            false => read(&folder.join(given)),
        };
        let value = text.map_err(|error| error.to_string());
        let value = value.and_then(|text| {
            serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())
        });
        match value {
            Ok(value) => self.take_restrictions(&value),
            Err(error) => self.faults.push(format!("--managed-settings: {error}")),
        }
    }

    /// The rules of managed settings that deny or ask.
    pub(crate) fn take_restrictions(&mut self, value: &Value) {
        for behavior in [PermissionBehavior::Deny, PermissionBehavior::Ask] {
            for text in texts(&value["permissions"][behavior.as_str()]) {
                self.rules.push(Rule::parse(text, behavior.clone(), RuleSource::FlagSettings));
            }
        }
    }

    fn take(&mut self, value: &Value, source: RuleSource) {
        self.sources.push((source, value.clone()));
        if let Some(style) = value["outputStyle"].as_str() {
            self.output_style = Some(style.to_owned());
        }
        let permissions = &value["permissions"];
        let behaviors =
            [PermissionBehavior::Allow, PermissionBehavior::Deny, PermissionBehavior::Ask];
        for behavior in behaviors {
            for text in texts(&permissions[behavior.as_str()]) {
                self.rules.push(Rule::parse(text, behavior.clone(), source));
            }
        }
        if let Some(mode) = permissions["defaultMode"].as_str() {
            self.default_mode = Some(mode.into());
        }
        let directories = texts(&permissions["additionalDirectories"]);
        self.directories.extend(directories.map(|folder| (PathBuf::from(folder), source)));
        for (name, value) in value["env"].as_object().into_iter().flatten() {
            if let Some(value) = value.as_str() {
                self.environment.push((name.clone(), value.to_owned()));
            }
        }
        if let Some(model) = value["model"].as_str() {
            self.model = Some(model.to_owned());
        }
        self.hooks.extend(hooks::read(&value["hooks"], source));
        if value["disableAllHooks"] == true {
            self.hooks.clear();
        }
    }
}

/// Adds a stronger value to a weaker one.
pub(crate) fn merge(weak: &mut Value, strong: &Value) {
    match (weak, strong) {
        (Value::Object(weak), Value::Object(strong)) => {
            for (name, value) in strong {
                merge(weak.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(weak), Value::Array(strong)) => {
            for value in strong {
                if !weak.contains(value) {
                    weak.push(value.clone());
                }
            }
        }
        (weak, strong) => *weak = strong.clone(),
    }
}

/// The command hooks of a plugin.
pub(crate) fn plugin_hooks(value: &Value) -> Vec<CommandHook> {
    hooks::read(value, RuleSource::Session)
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_SIZE {
        return Err(io::Error::other("it is too large"));
    }
    fs::read_to_string(path)
}
