//! Kinds of sub-agent in files: `.claude/agents/*.md`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::front_matter;

/// The kinds in a folder, by name. Those of a plugin are named after it.
pub(super) fn load(folder: &Path, plugin: Option<&str>) -> Map<String, Value> {
    let mut agents = Map::new();
    for (_, path) in super::markdown(folder) {
        let Some(text) = super::read(&path) else { continue };
        let (fields, body) = front_matter::split(&text);
        // As in the CLI, a file without these is not an agent.
        let (Some(name), Some(description)) =
            (front_matter::text(&fields, "name"), front_matter::text(&fields, "description"))
        else {
            continue;
        };
        let mut agent =
            json!({ "description": description.replace("\\n", "\n"), "prompt": body.trim() });
        for (field, key) in
            [("tools", "tools"), ("disallowedTools", "disallowedTools"), ("skills", "skills")]
        {
            if let Some(list) = front_matter::list(&fields, field) {
                agent[key] = json!(list);
            }
        }
        for field in ["model", "permissionMode", "effort", "color"] {
            if let Some(text) = front_matter::text(&fields, field) {
                agent[field] = json!(text);
            }
        }
        if let Some(turns) =
            front_matter::text(&fields, "maxTurns").and_then(|turns| turns.parse::<u64>().ok())
        {
            agent["maxTurns"] = json!(turns);
        }
        if let Some(background) = front_matter::switch(&fields, "background") {
            agent["background"] = json!(background);
        }
        let name = match plugin {
            Some(plugin) => format!("{plugin}:{name}"),
            None => name.to_owned(),
        };
        agents.insert(name, agent);
    }
    agents
}
