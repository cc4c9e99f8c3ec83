//! Settings files, changed without a change to what else is in them.

use std::fs;
use std::io;
use std::path::PathBuf;

use duologue_protocol::{Map, RawJson, Wire};
use serde_json::json;

use crate::path;
use crate::tools::write_whole;

/// The largest settings file that is read.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// A settings file. Fields that are not touched keep their order and their form.
#[derive(Debug)]
pub(super) struct SettingsFile {
    path: PathBuf,
    settings: Map<RawJson>,
    permissions: Map<RawJson>,
    changed: bool,
}

impl SettingsFile {
    /// Reads a file. A missing one is empty; one that is not JSON is an error.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        // A symbolic link stays a link: its target is written.
        let path = path::real(&path).unwrap_or(path);
        let text = match fs::metadata(&path) {
            Ok(metadata) if metadata.len() > MAX_SIZE => return Err(broken("it is too large")),
            Ok(_) => fs::read_to_string(&path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let settings = match text.trim() {
            "" => Map::new(),
            text => Map::<RawJson>::from_json(text).map_err(broken)?,
        };
        let permissions = match settings.get("permissions") {
            Some(permissions) => Map::from_json(permissions.as_json()).map_err(broken)?,
            None => Map::new(),
        };
        Ok(Self { path, settings, permissions, changed: false })
    }

    pub(super) fn add_rules(&mut self, behavior: &str, rules: &[String]) -> io::Result<()> {
        self.change(behavior, |list| {
            for rule in rules {
                if !list.contains(rule) {
                    list.push(rule.clone());
                }
            }
        })
    }

    pub(super) fn replace_rules(&mut self, behavior: &str, rules: &[String]) -> io::Result<()> {
        self.change(behavior, |list| *list = rules.to_vec())
    }

    pub(super) fn remove_rules(&mut self, behavior: &str, rules: &[String]) -> io::Result<()> {
        self.change(behavior, |list| list.retain(|rule| !rules.contains(rule)))
    }

    pub(super) fn add_directories(&mut self, folders: &[String]) -> io::Result<()> {
        self.add_rules("additionalDirectories", folders)
    }

    pub(super) fn remove_directories(&mut self, folders: &[String]) -> io::Result<()> {
        self.remove_rules("additionalDirectories", folders)
    }

    pub(super) fn set_mode(&mut self, mode: &str) -> io::Result<()> {
        self.permissions.insert("defaultMode", RawJson::from(json!(mode)));
        self.changed = true;
        Ok(())
    }

    /// Sets a field, and writes the file.
    pub(super) fn set(mut self, name: &str, value: &serde_json::Value) -> io::Result<()> {
        self.settings.insert(name, RawJson::from(value));
        let text = format!("{}\n", object(&self.settings, 2)?);
        write_whole(&self.path, text.as_bytes())
    }

    /// Writes the file whole, if anything has changed.
    pub(super) fn save(&self) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        let permissions = object(&self.permissions, 4)?;
        let mut settings = self.settings.clone();
        settings.insert("permissions", RawJson::parse(&permissions).map_err(broken)?);
        let text = format!("{}\n", object(&settings, 2)?);
        write_whole(&self.path, text.as_bytes())
    }

    fn change(&mut self, key: &str, change: impl FnOnce(&mut Vec<String>)) -> io::Result<()> {
        let before: Vec<String> = match self.permissions.get(key) {
            Some(list) => list.to().map_err(broken)?,
            None => Vec::new(),
        };
        let mut list = before.clone();
        change(&mut list);
        if list != before {
            let items: Vec<String> = list.iter().map(|item| json!(item).to_string()).collect();
            let text = match items.is_empty() {
                true => "[]".to_owned(),
                false => format!("[\n      {}\n    ]", items.join(",\n      ")),
            };
            self.permissions.insert(key, RawJson::parse(&text).map_err(broken)?);
            self.changed = true;
        }
        Ok(())
    }
}

/// An object, one field a line. Values keep the form that they were read in.
fn object(map: &Map<RawJson>, indent: usize) -> io::Result<String> {
    let mut lines = Vec::new();
    for (key, value) in map.iter() {
        let key = serde_json::to_string(key.as_str()).map_err(broken)?;
        lines.push(format!("{:indent$}{key}: {}", "", value.as_json()));
    }
    Ok(format!("{{\n{}\n{:outer$}}}", lines.join(",\n"), "", outer = indent - 2))
}

fn broken(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("settings are left alone: {what}"))
}
