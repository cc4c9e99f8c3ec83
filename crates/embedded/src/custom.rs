//! [`Custom`]: what users, projects and plugins add to the agent: commands, skills, kinds of sub-agent, output styles,
//! instructions.

mod agents;
mod commands;
mod front_matter;
mod instructions;
mod plugins;
mod styles;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::settings::SettingSource;
use crate::setup::Setup;

pub(crate) use commands::Command;
pub(crate) use instructions::Instructions;
pub(crate) use plugins::Plugin;
pub(crate) use styles::OutputStyle;

/// The largest file that is read.
const MAX_SIZE: u64 = 1024 * 1024;

/// How deep folders of commands may be nested.
const MAX_DEPTH: usize = 8;

/// What users, projects and plugins add to the agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Custom {
    /// Commands and skills, in the order in which they are listed.
    pub(crate) commands: Vec<Command>,
    /// Kinds of sub-agent, by name.
    pub(crate) agents: Map<String, Value>,
    /// Output styles.
    pub(crate) styles: Vec<OutputStyle>,
    /// Plugins.
    pub(crate) plugins: Vec<Plugin>,
    /// `CLAUDE.md` and the files that it imports.
    pub(crate) instructions: Instructions,
}

/// The folders that are searched.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The folder of the user's settings, if it counts.
    user: Option<PathBuf>,
    /// The `.claude` folder of the project, if it counts.
    project: Option<PathBuf>,
    /// The working directory.
    cwd: PathBuf,
    sources: Vec<SettingSource>,
    plugins: Vec<(PathBuf, bool)>,
    has_commands: bool,
    is_bare: bool,
}

impl Places {
    /// The folders that count for this setup.
    pub(crate) fn new(setup: &Setup) -> Self {
        let has = |source| setup.sources.contains(&source) && !setup.bare;
        Self {
            user: has(SettingSource::User).then(|| setup.config.clone()),
            project: has(SettingSource::Project).then(|| setup.project_root().join(".claude")),
            cwd: setup.cwd.clone(),
            sources: setup.sources.clone(),
            plugins: setup.plugins.clone(),
            has_commands: !setup.no_slash_commands,
            is_bare: setup.bare,
        }
    }

    /// Adds a plugin, and whether its MCP servers count.
    pub(crate) fn add_plugin(&mut self, folder: PathBuf, has_servers: bool) {
        if !self.plugins.iter().any(|(known, _)| *known == folder) {
            self.plugins.push((folder, has_servers));
        }
    }

    /// Reads everything. A file that cannot be read is skipped.
    pub(crate) fn load(&self) -> Custom {
        let mut custom = Custom::default();
        for (folder, has_servers) in &self.plugins {
            custom.plugins.push(Plugin::load(folder, *has_servers));
        }
        if self.has_commands {
            commands::load(&mut custom.commands, self.project.as_deref(), self.user.as_deref());
            for plugin in &custom.plugins {
                custom.commands.extend(plugin.commands());
            }
        }
        // The project's agents come before the user's of the same name.
        for plugin in &custom.plugins {
            custom.agents.extend(plugin.agents());
        }
        for folder in [&self.user, &self.project].into_iter().flatten() {
            custom.agents.extend(agents::load(&folder.join("agents"), None));
        }
        for folder in [&self.user, &self.project].into_iter().flatten() {
            for style in styles::load(&folder.join("output-styles")) {
                custom.styles.retain(|known| known.name != style.name);
                custom.styles.push(style);
            }
        }
        if !self.is_bare {
            custom.instructions =
                Instructions::load(self.user.as_deref(), &self.cwd, &self.sources);
        }
        custom
    }
}

impl Custom {
    /// The command of this name.
    pub(crate) fn command(&self, name: &str) -> Option<&Command> {
        let is_it = |command: &&Command| command.name == name;
        let is_alias = |command: &&Command| command.aliases.iter().any(|alias| alias == name);
        self.commands.iter().find(is_it).or_else(|| self.commands.iter().find(is_alias))
    }

    /// The prompt of an output style. `None` if there is no such style, or it adds nothing.
    pub(crate) fn style(&self, name: &str) -> Option<String> {
        styles::prompt(&self.styles, name)
    }

    /// The names of the output styles.
    pub(crate) fn style_names(&self) -> Vec<String> {
        styles::names(&self.styles)
    }
}

/// The Markdown files in a folder and its folders, sorted, each with its name: `sub:deep` for `sub/deep.md`.
fn markdown(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    collect(folder, "", 0, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if path.is_dir() {
            if depth < MAX_DEPTH {
                collect(&path, &format!("{prefix}{stem}:"), depth + 1, found);
            }
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            found.push((format!("{prefix}{stem}"), path));
        }
    }
}

/// Reads a text file. `None` if it is missing, too large or not a file.
fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_SIZE {
        return None;
    }
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
