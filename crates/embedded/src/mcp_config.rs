//! The MCP servers of a user and of a project: `.mcp.json`, `.claude.json`, and `claude mcp`, which changes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::path;
use crate::settings::SettingSource;
use crate::setup::Setup;
use crate::tools::write_whole;

/// Where a server is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// `.claude.json`, for one project.
    Local,
    /// `.mcp.json` of the project.
    Project,
    /// `.claude.json`, for all projects.
    User,
}

impl Scope {
    pub(crate) const ALL: [Self; 3] = [Self::Local, Self::Project, Self::User];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }

    /// The words of the CLI.
    pub(crate) const fn described(self) -> &'static str {
        match self {
            Self::Local => "Local config (private to you in this project)",
            Self::Project => "Project config (shared via .mcp.json)",
            Self::User => "User config (available in all your projects)",
        }
    }
}

/// The files that configure servers.
#[derive(Clone, Debug)]
pub(crate) struct McpFiles {
    /// `.claude.json`.
    pub(crate) user: PathBuf,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    project: PathBuf,
}

impl McpFiles {
    /// The files of this config folder. The file of the usual folder, `~/.claude`, is beside it.
    pub(crate) fn new(config: &Path, cwd: &Path, root: &Path) -> Self {
        let usual = path::home().map(|home| home.join(".claude"));
        let is_named = std::env::var_os("CLAUDE_CONFIG_DIR").is_some_and(|name| !name.is_empty());
        let user = match usual {
            Some(usual) if usual == config && !is_named => usual.with_file_name(".claude.json"),
            _ => config.join(".claude.json"),
        };
        let cwd = path::real(cwd).unwrap_or_else(|| cwd.to_owned());
        Self { user, cwd, project: root.join(".mcp.json") }
    }

    /// Whether the user trusts the working directory, or a folder above it.
    pub(crate) fn is_trusted(&self) -> bool {
        let projects = read(&self.user).unwrap_or_default();
        self.cwd.ancestors().any(|folder| {
            let project = projects["projects"].get(&*folder.to_string_lossy());
            project.is_some_and(|project| project["hasTrustDialogAccepted"] == true)
        })
    }

    /// The file of a scope.
    pub(crate) fn file(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Project => &self.project,
            Scope::Local | Scope::User => &self.user,
        }
    }

    /// The servers of a scope, by name.
    pub(crate) fn servers(&self, scope: Scope) -> Map<String, Value> {
        let value = read(self.file(scope)).unwrap_or_default();
        let servers = match scope {
            Scope::Local => {
                let key = self.cwd.to_string_lossy();
                value["projects"].get(&*key).map_or(&Value::Null, |project| &project["mcpServers"])
            }
            Scope::Project | Scope::User => &value["mcpServers"],
        };
        servers.as_object().cloned().unwrap_or_default()
    }

    /// Changes the servers of a scope. The rest of the file is kept.
    ///
    /// # Errors
    /// If the file is not JSON, or cannot be read or written.
    pub(crate) fn change(
        &self,
        scope: Scope,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> io::Result<()> {
        let path = self.file(scope);
        let mut value = match read(path) {
            Ok(value @ Value::Object(_)) => value,
            Ok(_) => return Err(io::Error::other(format!("{} is not an object", path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => json!({}),
            Err(error) => return Err(error),
        };
        let key = self.cwd.to_string_lossy().into_owned();
        let place = match scope {
            Scope::Local => &mut value["projects"][key.as_str()]["mcpServers"],
            Scope::Project | Scope::User => &mut value["mcpServers"],
        };
        let mut servers = place.as_object().cloned().unwrap_or_default();
        change(&mut servers);
        *place = Value::Object(servers);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string_pretty(&value).map_err(io::Error::other)?;
        write_whole(path, format!("{text}\n").as_bytes())
    }
}

fn read(path: &Path) -> io::Result<Value> {
    let text = fs::read_to_string(path)?;
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_str(&text)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
}

/// The servers that count for a session, each with its scope in `scope`. The nearest scope wins.
pub(crate) fn servers(setup: &Setup) -> Vec<(String, Value)> {
    let files = McpFiles::new(&setup.config, &setup.cwd, setup.project_root());
    let counts = |scope: Scope| {
        let source = match scope {
            Scope::Local => SettingSource::Local,
            Scope::Project => SettingSource::Project,
            Scope::User => SettingSource::User,
        };
        setup.sources.contains(&source)
    };
    let mut found: Vec<(String, Value)> = Vec::new();
    for scope in Scope::ALL.into_iter().filter(|scope| counts(*scope)) {
        for (name, mut server) in files.servers(scope) {
            if !found.iter().any(|(known, _)| *known == name) && server.is_object() {
                server["scope"] = json!(scope.as_str());
                found.push((name, server));
            }
        }
    }
    found
}
