//! Resolves the settings that an agent would use, without starting it.
//!
//! Sources, from the lowest to the highest precedence: the user's settings, the project's, the project's local
//! settings, settings of the command line, and managed settings. Objects are merged, lists are joined without
//! duplicates, and any other value replaces the one of a lower source.
//!
//! ```
//! use duologue::settings::{Resolve, SettingsSource};
//!
//! # let folder = std::env::temp_dir().join(format!("duologue-settings-{}", std::process::id()));
//! # std::fs::create_dir_all(folder.join(".claude"))?;
//! let project = folder.join(".claude/settings.json");
//! std::fs::write(&project, r#"{"model": "opus", "permissions": {"allow": ["Read"]}}"#)?;
//! let flags = serde_json::json!({ "permissions": { "allow": ["Grep"] } });
//!
//! let resolved = Resolve::new(&folder).config_dir(folder.join("home")).flag_settings(flags).resolve();
//! assert_eq!(resolved.effective["permissions"]["allow"], serde_json::json!(["Read", "Grep"]));
//! assert_eq!(resolved.source_of("model").unwrap().source, SettingsSource::Project);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Differences from the CLI: a policy helper is not run, and neither settings that a server manages nor those of
//! macOS profiles are read. To see what a running agent uses, ask it with
//! [`Control::request`](crate::Control::request) `get_settings`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// The largest settings file that is read.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// Permission modes that a project must not choose: they run tools without asking.
const ESCALATING: &[&str] = &["bypassPermissions", "auto", "acceptEdits"];

/// Escalating modes that local settings must not choose either.
const ESCALATING_LOCAL: &[&str] = &["bypassPermissions", "auto"];

/// Where settings come from, from the lowest to the highest precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SettingsSource {
    /// `settings.json` in the configuration directory of the user.
    User,
    /// `.claude/settings.json` of the project.
    Project,
    /// `.claude/settings.local.json` of the project, which is not checked in.
    Local,
    /// `--settings` of the command line.
    Flag,
    /// `managed-settings.json` of the machine, and the files in `managed-settings.d`.
    Managed,
}

/// Which settings to resolve.
#[derive(Clone, Debug)]
pub struct Resolve {
    cwd: PathBuf,
    config_dir: Option<PathBuf>,
    managed_dir: PathBuf,
    sources: Vec<SettingsSource>,
    flag: Option<Value>,
}

impl Resolve {
    /// The settings of an agent that is started in this directory, from all sources.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        use SettingsSource::{Local, Project, User};
        let config = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty());
        let home = || std::env::home_dir().map(|home| home.join(".claude"));
        Self {
            cwd: cwd.into(),
            config_dir: config.map(PathBuf::from).or_else(home),
            managed_dir: managed_dir().into(),
            sources: vec![User, Project, Local],
            flag: None,
        }
    }

    /// Sets the configuration directory of the user. The default is `CLAUDE_CONFIG_DIR`, or `.claude` in the home
    /// directory.
    #[must_use]
    pub fn config_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.config_dir = Some(dir.into());
        self
    }

    /// Sets the directory of managed settings. The default is that of the system.
    #[must_use]
    pub fn managed_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.managed_dir = dir.into();
        self
    }

    /// Limits the settings files of user and project, as `--setting-sources` does. Managed settings and those of the
    /// command line always count.
    #[must_use]
    pub fn sources(mut self, sources: impl IntoIterator<Item = SettingsSource>) -> Self {
        self.sources = sources.into_iter().collect();
        self
    }

    /// Sets the settings of the command line.
    #[must_use]
    pub fn flag_settings(mut self, settings: impl Into<Value>) -> Self {
        self.flag = Some(settings.into());
        self
    }

    /// Reads and merges the settings. Missing files are ignored.
    pub fn resolve(&self) -> Resolved {
        let mut resolved = Resolved::default();
        let user = self.config_dir.as_ref().map(|dir| dir.join("settings.json"));
        let project = self.cwd.join(".claude/settings.json");
        let local = self.cwd.join(".claude/settings.local.json");
        for (source, path) in [
            (SettingsSource::User, user),
            (SettingsSource::Project, Some(project)),
            (SettingsSource::Local, Some(local)),
        ] {
            if let Some(path) = path.filter(|_| self.sources.contains(&source)) {
                resolved.add_file(source, &path);
            }
        }
        if let Some(flag) = &self.flag {
            resolved.add(SettingsSource::Flag, None, flag.clone());
        }
        resolved.add_file(SettingsSource::Managed, &self.managed_dir.join("managed-settings.json"));
        for path in drop_ins(&self.managed_dir.join("managed-settings.d")) {
            resolved.add_file(SettingsSource::Managed, &path);
        }
        resolved
    }
}

const fn managed_dir() -> &'static str {
    if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else {
        "/etc/claude-code"
    }
}

/// The JSON files of a directory, sorted by name.
fn drop_ins(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_json = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_json).collect();
    paths.sort();
    paths
}

/// Resolved settings.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Resolved {
    /// The merged settings.
    pub effective: Map<String, Value>,
    /// The settings of each source, from the lowest to the highest precedence.
    pub sources: Vec<SourceSettings>,
    /// Files that could not be read, and why. The agent may refuse to start with them.
    pub errors: Vec<SettingsError>,
}

/// The settings of one source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceSettings {
    /// The source.
    pub source: SettingsSource,
    /// Its file, if it has one.
    pub path: Option<PathBuf>,
    /// Its settings, before merging.
    pub settings: Map<String, Value>,
}

/// A settings file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("settings in {} could not be read: {reason}", path.display())]
#[non_exhaustive]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

impl Resolved {
    /// The highest source that sets a top-level key.
    pub fn source_of(&self, key: &str) -> Option<&SourceSettings> {
        self.sources.iter().rev().find(|source| source.settings.contains_key(key))
    }

    /// The effective settings without a `permissions.defaultMode` that runs tools without asking and comes from
    /// the project: the CLI ignores such a mode, because a checkout must not grant itself permissions. `auto` and
    /// `bypassPermissions` are ignored in local settings, too.
    pub fn without_escalating_mode(&self) -> Map<String, Value> {
        let mode = |settings: &Map<String, Value>| {
            let mode = settings.get("permissions")?.get("defaultMode")?;
            Some(mode.as_str().unwrap_or_default().to_owned())
        };
        let mut effective = self.effective.clone();
        let last = self
            .sources
            .iter()
            .rev()
            .find_map(|source| mode(&source.settings).map(|mode| (source.source, mode)));
        let Some((source, mode)) = last else { return effective };
        let ignored = match source {
            SettingsSource::Project => ESCALATING.contains(&mode.as_str()),
            SettingsSource::Local => ESCALATING_LOCAL.contains(&mode.as_str()),
            _ => false,
        };
        if ignored && let Some(Value::Object(permissions)) = effective.get_mut("permissions") {
            permissions.remove("defaultMode");
        }
        effective
    }

    fn add_file(&mut self, source: SettingsSource, path: &Path) {
        match read(path) {
            Ok(Some(settings)) => self.add(source, Some(path.to_owned()), settings),
            Ok(None) => {}
            Err(reason) => self.errors.push(SettingsError { path: path.to_owned(), reason }),
        }
    }

    fn add(&mut self, source: SettingsSource, path: Option<PathBuf>, settings: Value) {
        let Value::Object(settings) = settings else { return };
        if settings.is_empty() {
            return;
        }
        for (key, value) in &settings {
            merge(&mut self.effective, key, value);
        }
        self.sources.push(SourceSettings { source, path, settings });
    }
}

/// Reads a settings file; `None` if it does not exist or is empty.
fn read(path: &Path) -> Result<Option<Value>, String> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if found.len() > MAX_SIZE {
        return Err(format!("it has more than {MAX_SIZE} bytes"));
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str(text) {
        Ok(settings @ Value::Object(_)) => Ok(Some(settings)),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Merges a value of a higher source.
fn merge(into: &mut Map<String, Value>, key: &str, value: &Value) {
    match (into.get_mut(key), value) {
        (Some(Value::Object(lower)), Value::Object(higher)) if key != "modelPicker" => {
            for (key, value) in higher {
                merge(lower, key, value);
            }
        }
        (Some(Value::Array(lower)), Value::Array(higher)) if key != "fallbackModel" => {
            for value in higher {
                if !lower.contains(value) {
                    lower.push(value.clone());
                }
            }
        }
        _ => {
            into.insert(key.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn folder(files: &[(&str, Value)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, settings) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, settings.to_string()).unwrap();
        }
        folder
    }

    fn resolve(folder: &TempDir) -> Resolve {
        let path = folder.path();
        Resolve::new(path.join("project"))
            .config_dir(path.join("home"))
            .managed_dir(path.join("managed"))
    }

    #[test]
    fn higher_sources_win_and_lists_are_joined() {
        let folder = folder(&[
            (
                "home/settings.json",
                json!({ "model": "a", "env": { "A": "1", "B": "1" }, "fallbackModel": ["a"] }),
            ),
            (
                "project/.claude/settings.json",
                json!({ "model": "b", "env": { "B": "2" }, "permissions": { "deny": ["X"] } }),
            ),
            (
                "project/.claude/settings.local.json",
                json!({ "permissions": { "deny": ["Y", "X"] }, "fallbackModel": ["b"] }),
            ),
            ("managed/managed-settings.json", json!({ "model": "m" })),
            ("managed/managed-settings.d/20.json", json!({ "model": "last" })),
            (
                "managed/managed-settings.d/10.json",
                json!({ "model": "first", "cleanupPeriodDays": 1 }),
            ),
            ("managed/managed-settings.d/note.txt", json!({ "model": "ignored" })),
        ]);
        let resolved =
            resolve(&folder).flag_settings(json!({ "permissions": { "deny": ["Z"] } })).resolve();
        assert_eq!(
            Value::Object(resolved.effective.clone()),
            json!({
                "model": "last", "env": { "A": "1", "B": "2" }, "fallbackModel": ["b"],
                "permissions": { "deny": ["X", "Y", "Z"] }, "cleanupPeriodDays": 1,
            })
        );
        assert_eq!(resolved.source_of("model").unwrap().source, SettingsSource::Managed);
        assert_eq!(resolved.source_of("permissions").unwrap().source, SettingsSource::Flag);
        assert_eq!(
            resolved.source_of("env").unwrap().path,
            Some(folder.path().join("project/.claude/settings.json"))
        );
        assert!(resolved.source_of("hooks").is_none() && resolved.errors.is_empty());

        let only = resolve(&folder).sources([SettingsSource::User]).resolve();
        assert_eq!(
            (&only.effective["model"], &only.effective["env"]["B"]),
            (&json!("last"), &json!("1"))
        );
    }

    #[test]
    fn broken_files_are_reported_and_empty_ones_are_not() {
        let folder = folder(&[("project/.claude/settings.local.json", json!([1]))]);
        fs::create_dir_all(folder.path().join("home")).unwrap();
        fs::write(folder.path().join("home/settings.json"), "{ broken").unwrap();
        fs::write(folder.path().join("project/.claude/settings.json"), "\u{feff} \n").unwrap();
        let resolved = resolve(&folder).resolve();
        assert!(resolved.effective.is_empty());
        let paths: Vec<_> = resolved.errors.iter().map(|error| error.path.clone()).collect();
        assert_eq!(
            paths,
            [
                folder.path().join("home/settings.json"),
                folder.path().join("project/.claude/settings.local.json")
            ]
        );
    }

    #[test]
    fn a_project_cannot_choose_a_mode_that_runs_tools_without_asking() {
        let mode =
            |mode: &str| json!({ "permissions": { "defaultMode": mode, "allow": ["Read"] } });
        for (source, name, kept) in [
            ("project/.claude/settings.json", "acceptEdits", false),
            ("project/.claude/settings.json", "bypassPermissions", false),
            ("project/.claude/settings.json", "plan", true),
            ("project/.claude/settings.local.json", "acceptEdits", true),
            ("project/.claude/settings.local.json", "auto", false),
            ("home/settings.json", "bypassPermissions", true),
        ] {
            let resolved = resolve(&folder(&[(source, mode(name))])).resolve();
            let permissions = resolved.without_escalating_mode()["permissions"].clone();
            assert_eq!(permissions.get("defaultMode").is_some(), kept, "{source} {name}");
            assert_eq!(permissions["allow"], json!(["Read"]));
        }
    }
}
