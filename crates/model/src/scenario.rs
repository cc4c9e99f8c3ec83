//! Scenarios: the scripted replies of a model.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::purpose::Purpose;

mod block;
mod check;
mod file;
mod reply;
mod table;
mod words;

pub use block::Block;
pub use file::{ScenarioError, schema};
pub use reply::{ApiError, Reply, Usage, When};
pub use words::{Chunk, Times};

/// The replies of the model behind an agent, so that a conversation can be repeated offline.
///
/// A reply with `when` is used as soon as its condition holds. The others are used in order. Each agent
/// has its own replies; a reply that names no agent is for `main`.
///
/// ```
/// use duologue_model::{Reply, Scenario, When};
///
/// let scenario = Scenario::new()
///     .reply(Reply::text("It rains.").when(When::prompt("weather")).always())
///     .reply(Reply::text("Hello."))
///     .reply(Reply::error(529).times(2));
/// scenario.check()?;
/// # Ok::<(), duologue_model::ScenarioError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Scenario {
    /// A title. It has no effect.
    pub title: Option<String>,
    /// The model that replies are attributed to. Default: the model of the request.
    pub model: Option<String>,
    /// A fault of the embedded agent that plays the scenario: `die@3`, or anything else that `duologue agent --fault`
    /// accepts. The flag and `DUOLOGUE_FAULT` take precedence. The server ignores it.
    pub fault: Option<String>,
    /// How agents are recognised, by name. `main` and `sub` need no entry: they are the agent that the host talks to,
    /// and any sub-agent that no entry describes.
    #[serde(deserialize_with = "table::map")]
    #[schemars(transform = not_reserved)]
    pub agents: BTreeMap<String, Who>,
    /// The replies.
    #[serde(deserialize_with = "table::list")]
    pub replies: Vec<Reply>,
}

impl Scenario {
    /// A scenario without replies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the title.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the model that the replies are attributed to.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets a fault of the embedded agent.
    #[must_use]
    pub fn fault(mut self, fault: impl Into<String>) -> Self {
        self.fault = Some(fault.into());
        self
    }

    /// Describes how an agent is recognised.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>, who: Who) -> Self {
        self.agents.insert(name.into(), who);
        self
    }

    /// Adds a reply.
    #[must_use]
    pub fn reply(mut self, reply: Reply) -> Self {
        self.replies.push(reply);
        self
    }
}

/// How an agent is recognised by its requests. Every field that is set must hold.
///
/// ```
/// use duologue_model::{Reply, Scenario, Who};
///
/// let scenario = Scenario::new()
///     .agent("reader", Who::prompt("Read the file"))
///     .reply(Reply::text("I have read it.").agent("reader"));
/// assert!(scenario.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = one_is_set)]
#[non_exhaustive]
pub struct Who {
    /// The system prompt contains this.
    pub system: Option<String>,
    /// The first user message contains this: for a sub-agent, its task.
    pub prompt: Option<String>,
    /// A tool with this name is offered.
    pub tool: Option<String>,
    /// The model's name contains this.
    pub model: Option<String>,
}

/// Adds to the schema that at least one field is set. A field that is null is not.
fn one_is_set(schema: &mut Schema) {
    let fields = schema.get("properties").and_then(Value::as_object);
    let set =
        |name: &String| json!({ "required": [name], "properties": { name: { "type": "string" } } });
    let one: Vec<Value> = fields.map(|fields| fields.keys().map(set).collect()).unwrap_or_default();
    schema.insert("anyOf".to_owned(), one.into());
}

/// Adds to the schema of `agents` that some names are taken.
fn not_reserved(schema: &mut Schema) {
    let reserved = Purpose::ALL.map(Purpose::as_str);
    schema.insert("propertyNames".to_owned(), json!({ "not": { "enum": reserved } }));
}

impl Who {
    /// An agent whose system prompt contains this.
    #[must_use]
    pub fn system(part: impl Into<String>) -> Self {
        Self { system: Some(part.into()), ..Self::default() }
    }

    /// An agent whose first prompt contains this.
    #[must_use]
    pub fn prompt(part: impl Into<String>) -> Self {
        Self { prompt: Some(part.into()), ..Self::default() }
    }

    /// An agent that is offered a tool with this name.
    #[must_use]
    pub fn tool(name: impl Into<String>) -> Self {
        Self { tool: Some(name.into()), ..Self::default() }
    }
}
