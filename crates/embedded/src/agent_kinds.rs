//! [`AgentKinds`]: system prompts, and the kinds of sub-agent.

use serde_json::{Map, Value, json};

use super::setup::Setup;

/// The kind of sub-agent that a call without one means.
pub(super) const GENERAL: &str = "general-purpose";

/// A kind of the agent's own: its name, when to use it, its model and its tools.
type BuiltIn = (&'static str, &'static str, Option<&'static str>, Option<&'static [&'static str]>);

/// The kinds that are always there. The descriptions are the CLI's own: hosts show them.
const BUILT_IN: &[BuiltIn] = &[
    (
        "claude",
        "Catch-all for any task that doesn't fit a more specific agent. FleetView's default when no agent name is typed.",
        None,
        None,
    ),
    (
        "Explore",
        "Fast read-only search agent for locating code. Use it to find files by pattern (eg. \"src/components/**/*.tsx\"), grep for symbols or keywords (eg. \"API endpoints\"), or answer \"where is X defined / which files reference Y.\" Do NOT use it for code review, design-doc auditing, cross-file consistency checks, or open-ended analysis — it reads excerpts rather than whole files and will miss content past its read window. When calling, specify search breadth: \"quick\" for a single targeted lookup, \"medium\" for moderate exploration, or \"very thorough\" to search across multiple locations and naming conventions.",
        Some("inherit"),
        Some(READ_ONLY),
    ),
    (
        GENERAL,
        "General-purpose agent for researching complex questions, searching for code, and executing multi-step tasks. When you are searching for a keyword or file and are not confident that you will find the right match in the first few tries use this agent to perform the search for you.",
        None,
        None,
    ),
    (
        "Plan",
        "Software architect agent for designing implementation plans. Use this when you need to plan the implementation strategy for a task. Returns step-by-step plans, identifies critical files, and considers architectural trade-offs.",
        Some("inherit"),
        Some(READ_ONLY),
    ),
    (
        "statusline-setup",
        "Use this agent to configure the user's Claude Code status line setting.",
        Some("sonnet"),
        Some(&["Read", "Edit"]),
    ),
];

/// The tools of the kinds that change nothing.
const READ_ONLY: &[&str] =
    &["Bash", "Glob", "Grep", "Read", "Skill", "ToolSearch", "WebFetch", "WebSearch"];

/// The system prompt of the main agent, and the kinds of sub-agent.
#[derive(Clone, Debug)]
pub(super) struct AgentKinds {
    /// Replaces the default system prompt.
    pub(super) system: Option<String>,
    /// Follows it.
    pub(super) append: Option<String>,
    /// Follows the system prompts of sub-agents.
    pub(super) append_sub: Option<String>,
    /// What the output style asks for.
    pub(super) style: Option<String>,
    /// Kinds of sub-agent, by name: `description`, `prompt`, `tools`, `model`.
    pub(super) agents: Map<String, Value>,
    /// The kind of sub-agent that the main agent is.
    chosen: Option<String>,
    /// Kinds from the command line, which replace those of files.
    given: Map<String, Value>,
    cwd: String,
    pub(super) has_place: bool,
}

impl AgentKinds {
    pub(super) fn new(setup: &Setup) -> Self {
        let mut kinds = Self {
            system: setup.system_prompt.clone(),
            append: setup.append_system_prompt.clone(),
            append_sub: None,
            style: None,
            agents: Map::new(),
            chosen: setup.agent.clone(),
            given: setup.agents.clone(),
            cwd: setup.cwd.to_string_lossy().into_owned(),
            has_place: !setup.exclude_dynamic,
        };
        kinds.set_files(&Map::new());
        kinds
    }

    /// Sets the kinds of files. Kinds of the command line and of the handshake replace those of the same name.
    pub(super) fn set_files(&mut self, files: &Map<String, Value>) {
        let built_in = BUILT_IN.iter().map(|(name, description, model, tools)| {
            let mut agent = json!({ "description": description });
            if let Some(model) = model {
                agent["model"] = json!(model);
            }
            if let Some(tools) = tools {
                agent["tools"] = json!(tools);
            }
            ((*name).to_owned(), agent)
        });
        let files = files.iter().chain(&self.given);
        let files = files.map(|(name, agent)| (name.clone(), agent.clone()));
        self.agents = built_in.chain(files).collect();
    }

    /// Adds the kinds of the handshake.
    pub(super) fn add(&mut self, agents: &Map<String, Value>) {
        let agents = agents.iter().map(|(name, agent)| (name.clone(), agent.clone()));
        let agents: Vec<(String, Value)> = agents.collect();
        self.given.extend(agents.clone());
        self.agents.extend(agents);
    }

    /// The names of the kinds, in the order of the CLI.
    pub(super) fn names(&self) -> Vec<&String> {
        let mut names: Vec<&String> = self.agents.keys().collect();
        names.sort_by_key(|name| name.to_lowercase());
        names
    }

    /// The system prompt of the main agent.
    pub(super) fn main(&self) -> Vec<Value> {
        let own = || {
            let place = self.place().map(|place| format!("\n\n{place}"));
            format!(
                "You are an agent that helps with software. You work through tools: look before you \
                 change something, and say in the end what you did.{}",
                place.unwrap_or_default()
            )
        };
        let kind = self.chosen().and_then(|kind| self.agents.get(kind)?["prompt"].as_str());
        // A host without a system prompt sends an empty one.
        let given = self.system.clone().filter(|given| kind.is_none() || !given.is_empty());
        let system = given.or_else(|| kind.map(str::to_owned)).unwrap_or_else(own);
        texts([Some(system), self.append.clone(), self.style.clone()])
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
        texts([Some(prompt.unwrap_or(own).to_owned()), self.place(), self.append_sub.clone()])
    }

    /// The working directory, for the model.
    pub(super) fn place(&self) -> Option<String> {
        self.has_place.then(|| self.place_text())
    }

    /// The same, even if the system prompt leaves it out.
    pub(super) fn place_text(&self) -> String {
        format!("Working directory: {}", self.cwd)
    }

    /// The tools of a kind of sub-agent, if it names them.
    pub(super) fn tools(&self, kind: &str) -> Option<Vec<String>> {
        let tools = names(&self.agents.get(kind)?["tools"])?;
        (!tools.iter().any(|tool| tool == "*")).then_some(tools)
    }

    /// Whether a kind of sub-agent must not have a tool.
    pub(super) fn lacks(&self, kind: &str, tool: &str) -> bool {
        let lacking = self.agents.get(kind).and_then(|agent| names(&agent["disallowedTools"]));
        lacking.is_some_and(|lacking| lacking.iter().any(|name| name == tool))
    }

    /// The model of a kind of sub-agent, if it names one.
    pub(super) fn model(&self, kind: &str) -> Option<String> {
        let model = self.agents.get(kind)?["model"].as_str()?;
        (model != "inherit").then(|| model.to_owned())
    }

    /// How often the model may be asked for a kind of sub-agent.
    pub(super) fn max_turns(&self, kind: &str) -> Option<u64> {
        self.agents.get(kind)?["maxTurns"].as_u64()
    }

    /// Whether a kind of sub-agent works in the background, if it names that.
    pub(super) fn is_background(&self, kind: &str) -> Option<bool> {
        self.agents.get(kind)?["background"].as_bool()
    }

    /// Whether a kind of sub-agent reads the instructions of the project.
    pub(super) fn has_instructions(&self, kind: &str) -> bool {
        self.agents.get(kind).is_none_or(|agent| agent["omitClaudeMd"] != true)
    }

    /// Whether a kind is one of the agent's own.
    pub(super) fn is_built_in(kind: &str) -> bool {
        BUILT_IN.iter().any(|(name, ..)| *name == kind)
    }

    /// The kinds, for the model.
    pub(super) fn described(&self) -> String {
        let lines = self.names().into_iter().map(|name| {
            let agent = &self.agents[name];
            let what = agent["description"].as_str().unwrap_or_default();
            let tools =
                self.tools(name).map_or_else(|| "All tools".to_owned(), |tools| tools.join(", "));
            format!("- {name}: {what} (Tools: {tools})")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Names in a list, or in a text with commas.
fn names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(list) => {
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Value::String(list) => Some(list.split(',').map(|name| name.trim().to_owned()).collect()),
        _ => None,
    }
}

fn texts(parts: [Option<String>; 3]) -> Vec<Value> {
    let parts = parts.into_iter().flatten().filter(|part| !part.trim().is_empty());
    parts.map(|text| json!({ "type": "text", "text": text })).collect()
}
