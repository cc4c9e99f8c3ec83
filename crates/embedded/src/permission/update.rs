//! Changes of the permissions, in force at once and kept where they belong.

use std::io;
use std::path::PathBuf;

use duologue_protocol::permission::{
    PermissionBehavior, PermissionDestination, PermissionRule, PermissionUpdate,
};
use duologue_protocol::{Field, Text};

use super::store::SettingsFile;
use super::{Permissions, Rule, RuleSource};

impl Permissions {
    /// Changes the permissions: in force at once, and written to the settings file that the update
    /// names. A mode that cannot be entered is left.
    ///
    /// # Errors
    /// If the file cannot be written. What is in memory is in force all the same.
    pub fn apply(&mut self, update: &PermissionUpdate) -> io::Result<()> {
        match update {
            PermissionUpdate::AddRules(update) => {
                let (source, behavior) = about(&update.destination, &update.behavior)?;
                let rules = parse(update.rules.items(), &behavior, source);
                self.keep(source, |file| file.add_rules(behavior.as_str(), &spelled(&rules)))?;
                if self.counts(source) {
                    rules.into_iter().for_each(|rule| self.add_rule(rule));
                }
            }
            PermissionUpdate::ReplaceRules(update) => {
                let (source, behavior) = about(&update.destination, &update.behavior)?;
                let rules = parse(update.rules.items(), &behavior, source);
                let is_old = |rule: &Rule| rule.source == source && rule.behavior == behavior;
                self.rules.retain(|rule| !is_old(rule));
                if self.counts(source) {
                    rules.iter().cloned().for_each(|rule| self.add_rule(rule));
                }
                self.keep(source, |file| file.replace_rules(behavior.as_str(), &spelled(&rules)))?;
            }
            PermissionUpdate::RemoveRules(update) => {
                let (source, behavior) = about(&update.destination, &update.behavior)?;
                let rules = parse(update.rules.items(), &behavior, source);
                self.rules.retain(|rule| !rules.contains(rule));
                self.keep(source, |file| file.remove_rules(behavior.as_str(), &spelled(&rules)))?;
            }
            PermissionUpdate::SetMode(update) => {
                let source = source_of(&update.destination)?;
                if let Some(mode) = update.mode.value()
                    && self.set_mode(mode.clone()).is_ok()
                {
                    let mode = self.mode();
                    self.keep(source, |file| file.set_mode(mode.as_str()))?;
                }
            }
            PermissionUpdate::AddDirectories(update) => {
                let source = source_of(&update.destination)?;
                let folders = texts(update.directories.items());
                if self.counts(source) {
                    folders.iter().for_each(|folder| self.add_directory(folder, source));
                }
                self.keep(source, |file| file.add_directories(&folders))?;
            }
            PermissionUpdate::RemoveDirectories(update) => {
                let source = source_of(&update.destination)?;
                let folders = texts(update.directories.items());
                for folder in &folders {
                    let root = self.root().to_path_buf();
                    let shown = crate::path::absolute(folder, &root, self.home());
                    self.directories.retain(|(other, _, from)| *other != shown || *from != source);
                }
                self.keep(source, |file| file.remove_directories(&folders))?;
            }
            _ => return Err(invalid("an unknown kind of permission update")),
        }
        Ok(())
    }

    /// Whether what is written there is in force.
    fn counts(&self, source: RuleSource) -> bool {
        matches!(source, RuleSource::Session | RuleSource::CliArg) || self.sources.contains(&source)
    }

    fn keep(
        &self,
        source: RuleSource,
        change: impl FnOnce(&mut SettingsFile) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(path) = self.file_of(source) else { return Ok(()) };
        let mut file = SettingsFile::open(path)?;
        change(&mut file)?;
        file.save()
    }

    /// The settings file of a source, if it has one.
    fn file_of(&self, source: RuleSource) -> Option<PathBuf> {
        let folder = self.root().join(".claude");
        match source {
            RuleSource::UserSettings => Some(self.places.config.as_ref()?.join("settings.json")),
            RuleSource::ProjectSettings => Some(folder.join("settings.json")),
            RuleSource::LocalSettings => Some(folder.join("settings.local.json")),
            _ => None,
        }
    }
}

fn about(
    destination: &Field<PermissionDestination>,
    behavior: &Field<PermissionBehavior>,
) -> io::Result<(RuleSource, PermissionBehavior)> {
    let behavior = behavior.value().filter(|behavior| behavior.is_known());
    let behavior = behavior.ok_or_else(|| invalid("a rule must allow, deny or ask"))?;
    Ok((source_of(destination)?, behavior.clone()))
}

fn source_of(destination: &Field<PermissionDestination>) -> io::Result<RuleSource> {
    match destination.value() {
        Some(PermissionDestination::UserSettings) => Ok(RuleSource::UserSettings),
        Some(PermissionDestination::ProjectSettings) => Ok(RuleSource::ProjectSettings),
        Some(PermissionDestination::LocalSettings) => Ok(RuleSource::LocalSettings),
        Some(PermissionDestination::CliArg) => Ok(RuleSource::CliArg),
        Some(PermissionDestination::Session) | None => Ok(RuleSource::Session),
        Some(_) => Err(invalid("an unknown destination")),
    }
}

fn parse(rules: &[PermissionRule], behavior: &PermissionBehavior, source: RuleSource) -> Vec<Rule> {
    rules.iter().map(|rule| Rule::from_wire(rule, behavior.clone(), source)).collect()
}

fn spelled(rules: &[Rule]) -> Vec<String> {
    rules.iter().map(Rule::spelled).collect()
}

fn texts(texts: &[Text]) -> Vec<String> {
    texts.iter().map(|text| text.as_str().to_owned()).collect()
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
