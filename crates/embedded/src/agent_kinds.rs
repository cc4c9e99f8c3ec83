//! [`AgentKinds`]: system prompts, and the kinds of sub-agent.

use serde_json::{Map, Value, json};

use super::setup::Setup;

/// The kind of sub-agent that is always there.
pub(super) const GENERAL: &str = "general-purpose";

/// The system prompt of the main agent, and the kinds of sub-agent.
#[derive(Clone, Debug)]
pub(super) struct AgentKinds {
    /// Replaces the default system prompt.
    pub(super) system: Option<String>,
    /// Follows it.
    pub(super) append: Option<String>,
    /// Kinds of sub-agent, by name: `description`, `prompt`, `tools`, `model`.
    pub(super) agents: Map<String, Value>,
    /// The kind of sub-agent that the main agent is.
    chosen: Option<String>,
    cwd: String,
}

impl AgentKinds {
    pub(super) fn new(setup: &Setup) -> Self {
        let mut agents = Map::new();
        agents.insert(
            GENERAL.to_owned(),
            json!({ "description": "Works on a task of any kind by itself, with all tools." }),
        );
        agents.extend(setup.agents.clone());
        Self {
            system: setup.system_prompt.clone(),
            append: setup.append_system_prompt.clone(),
            agents,
            chosen: setup.agent.clone(),
            cwd: setup.cwd.to_string_lossy().into_owned(),
        }
    }

    /// The system prompt of the main agent.
    pub(super) fn main(&self) -> Vec<Value> {
        let own = || {
            format!(
                "You are an agent that helps with software. You work through tools: look before you \
                 change something, and say in the end what you did.\n\n{}",
                self.place()
            )
        };
        let kind = self.chosen().and_then(|kind| self.agents.get(kind)?["prompt"].as_str());
        // A host without a system prompt sends an empty one.
        let given = self.system.clone().filter(|given| kind.is_none() || !given.is_empty());
        let system = given.or_else(|| kind.map(str::to_owned)).unwrap_or_else(own);
        texts([Some(system), self.append.clone()])
    }

    /// The kind of sub-agent that the main agent is, if there is such a kind.
    pub(super) fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref().filter(|kind| self.agents.contains_key(*kind))
    }

    /// The system prompt of a sub-agent.
    pub(super) fn sub(&self, kind: &str) -> Vec<Value> {
        let prompt = self.agents.get(kind).and_then(|agent| agent["prompt"].as_str());
        let own = "You are an agent that works on one task by itself. Do what is asked, no more and no \
                   less, and report in the end: your last message is all that is read.";
        texts([Some(prompt.unwrap_or(own).to_owned()), Some(self.place())])
    }

    fn place(&self) -> String {
        format!("Working directory: {}", self.cwd)
    }

    /// The tools of a kind of sub-agent, if it names them.
    pub(super) fn tools(&self, kind: &str) -> Option<Vec<String>> {
        let tools = &self.agents.get(kind)?["tools"];
        let list = match tools {
            Value::Array(list) => {
                list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Value::String(list) => list.split(',').map(|name| name.trim().to_owned()).collect(),
            _ => return None,
        };
        Some(list)
    }

    /// The model of a kind of sub-agent, if it names one.
    pub(super) fn model(&self, kind: &str) -> Option<String> {
        let model = self.agents.get(kind)?["model"].as_str()?;
        (model != "inherit").then(|| model.to_owned())
    }
}

fn texts(parts: [Option<String>; 2]) -> Vec<Value> {
    let parts = parts.into_iter().flatten().filter(|part| !part.trim().is_empty());
    parts.map(|text| json!({ "type": "text", "text": text })).collect()
}
