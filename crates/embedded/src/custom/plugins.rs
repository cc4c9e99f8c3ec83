//! [`Plugin`]: a folder with commands, agents, skills, hooks and MCP servers.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::commands::{self, Command, Scope};
use super::{agents, read};

/// A plugin.
#[derive(Clone, Debug)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) version: Option<String>,
    manifest: Value,
    has_servers: bool,
}

impl Plugin {
    /// Reads the manifest. A folder without one is a plugin of the folder's name.
    pub(super) fn load(folder: &Path, has_servers: bool) -> Self {
        let text = read(&folder.join(".claude-plugin/plugin.json"));
        let manifest: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let name = manifest["name"].as_str().map(str::to_owned);
        let of_folder = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Self {
            name: name.or_else(of_folder).unwrap_or_default(),
            folder: folder.to_owned(),
            version: manifest["version"].as_str().map(str::to_owned),
            manifest,
            has_servers,
        }
    }

    /// For `init`.
    pub(crate) fn listed(&self) -> Value {
        let mut listed = json!({
            "name": self.name, "path": self.folder.to_string_lossy(),
            "source": format!("{}@inline", self.name),
        });
        if let Some(version) = &self.version {
            listed["version"] = json!(version);
        }
        listed
    }

    /// The folders or files that the manifest names for a part, and the usual one.
    fn paths(&self, part: &str) -> Vec<PathBuf> {
        let named = match &self.manifest[part] {
            Value::String(path) => vec![path.clone()],
            Value::Array(paths) => {
                paths.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let named = named.into_iter().map(|path| self.folder.join(path.trim_start_matches("./")));
        std::iter::once(self.folder.join(part)).chain(named).collect()
    }

    pub(super) fn commands(&self) -> Vec<Command> {
        let scope = Scope::Plugin(self.name.clone());
        let mut found = Vec::new();
        for folder in self.paths("commands") {
            found.extend(commands::files(&folder, &scope));
        }
        for folder in self.paths("skills") {
            found.extend(commands::skills(&folder, &scope));
        }
        for command in &mut found {
            command.body = self.expanded(&command.body);
            command.plugin_root = Some(self.folder.clone());
        }
        found
    }

    pub(super) fn agents(&self) -> Map<String, Value> {
        self.paths("agents")
            .iter()
            .flat_map(|folder| agents::load(folder, Some(&self.name)))
            .collect()
    }

    /// The hooks, as settings have them.
    pub(crate) fn hooks(&self) -> Value {
        let file = read(&self.folder.join("hooks/hooks.json"));
        let named = self.manifest["hooks"].as_str();
        let named = named.and_then(|path| read(&self.folder.join(path.trim_start_matches("./"))));
        let text = file.or(named).map(|text| self.expanded(&text));
        let value: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        match (&value["hooks"], &self.manifest["hooks"]) {
            (hooks @ Value::Object(_), _) => hooks.clone(),
            (_, inline @ Value::Object(_)) => {
                serde_json::from_str(&self.expanded(&inline.to_string())).unwrap_or_default()
            }
            _ => Value::Null,
        }
    }

    /// The MCP servers, by the names under which they are listed.
    pub(crate) fn servers(&self) -> Vec<(String, Value)> {
        if !self.has_servers {
            return Vec::new();
        }
        let text = read(&self.folder.join(".mcp.json")).map(|text| self.expanded(&text));
        let file: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let inline = self.expanded(&self.manifest["mcpServers"].to_string());
        let inline: Value = serde_json::from_str(&inline).unwrap_or_default();
        let all = [&file["mcpServers"], &inline].into_iter().filter_map(Value::as_object).flatten();
        let all =
            all.map(|(name, server)| (format!("plugin:{}:{name}", self.name), server.clone()));
        all.collect()
    }

    /// A text with the folder of the plugin in place of its variable.
    fn expanded(&self, text: &str) -> String {
        text.replace("${CLAUDE_PLUGIN_ROOT}", &self.folder.to_string_lossy())
    }
}
