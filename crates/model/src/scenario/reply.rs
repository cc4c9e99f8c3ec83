//! A reply, and its condition.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::json;

use super::{Block, Chunk, Times, block};

/// One answer of the model: its content, or an error.
///
/// ```
/// use duologue_model::{Block, Chunk, Reply};
/// use serde_json::json;
///
/// let reply = Reply::new()
///     .say(Block::thinking("They want a file."))
///     .say("I make one.")
///     .say(Block::tool("Write", json!({ "file_path": "/a", "content": "a" })))
///     .chunk(Chunk::Words);
/// assert_eq!(reply.say.len(), 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = makes_sense)]
#[non_exhaustive]
pub struct Reply {
    /// Which agent gets this reply: `main` (the default), `sub` for any sub-agent, a name from `agents`, or a request
    /// that the CLI makes by itself: `title`, `topic`, `quota`, `summary`, `warmup`, `helper`.
    pub agent: Option<String>,
    /// The condition for this reply. Default: none, so that the reply is given in its order.
    #[serde(deserialize_with = "super::table::option")]
    pub when: Option<When>,
    /// How often it is given: a number, or `"always"`. Default: 1.
    pub times: Times,
    /// The content: a text, a block, or a list of them.
    #[serde(deserialize_with = "block::one_or_many")]
    #[schemars(schema_with = "block::one_or_many_schema")]
    pub say: Vec<Block>,
    /// An API error: a status, or a table. With `say`, the error comes in the stream, after the content.
    pub error: Option<ApiError>,
    /// How texts are cut into deltas: a number of characters, `"words"`, `"lines"` or `"whole"`. Default: pieces of 24
    /// characters, or longer ones so that there are at most 200.
    pub chunk: Chunk,
    /// Milliseconds before the response begins. Default: 0.
    pub delay_ms: u64,
    /// Milliseconds before each event of the stream. Default: 0.
    pub pause_ms: u64,
    /// The stop reason. Default: `tool_use` if the reply calls a tool, else `end_turn`.
    pub stop: Option<String>,
    /// The token counts.
    #[serde(deserialize_with = "super::table::one")]
    pub usage: Usage,
    /// The connection drops after this many events of the stream. Default: never.
    pub cut_after: Option<usize>,
    /// The stream stalls after this many events, until the client gives up or the server shuts down. Default: never.
    pub stall_after: Option<usize>,
    /// HTTP headers of the response. Only the server sends them.
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z0-9_-]+$" }))]
    #[schemars(extend("additionalProperties" = { "type": "string", "pattern": "^[ -~]*$" }))]
    pub headers: BTreeMap<String, String>,
    /// Lines that the embedded agent writes to stdout unchanged, before its own output. An API cannot send them: the server
    /// skips a reply that has nothing else.
    #[schemars(inner(regex(pattern = r"^[^\n]*$")))]
    pub lines: Vec<String>,
}

/// Adds to the schema what [`Scenario::check`](super::Scenario::check) requires of a reply.
fn makes_sense(schema: &mut Schema) {
    let says = json!({
        "required": ["say"],
        "properties": { "say": { "anyOf": [{ "not": { "type": "array" } }, { "minItems": 1 }] } },
    });
    let given = |field: &str| json!({ "required": [field], "properties": { field: { "not": { "type": "null" } } } });
    let (fails, cut, stalls) = (given("error"), given("cut_after"), given("stall_after"));
    let writes = json!({ "required": ["lines"], "properties": { "lines": { "minItems": 1 } } });
    schema.insert("anyOf".to_owned(), json!([says, fails, writes]));
    schema.insert(
        "allOf".to_owned(),
        json!([
            { "not": { "allOf": [cut, stalls] } },
            { "not": { "allOf": [fails, { "not": says }, { "anyOf": [cut, stalls] }] } },
        ]),
    );
}

impl Reply {
    /// Creates an empty reply.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a reply with this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().say(Block::text(text))
    }

    /// A reply that fails with this status.
    #[must_use]
    pub fn error(error: impl Into<ApiError>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }

    /// Adds a block.
    #[must_use]
    pub fn say(mut self, block: impl Into<Block>) -> Self {
        self.say.push(block.into());
        self
    }

    /// Sets the agent that gets it.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(name.into());
        self
    }

    /// Sets the condition.
    #[must_use]
    pub fn when(mut self, when: When) -> Self {
        self.when = Some(when);
        self
    }

    /// Sets how often it is used.
    #[must_use]
    pub fn times(mut self, count: u32) -> Self {
        self.times = Times::Only(count);
        self
    }

    /// It can be used any number of times.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = Times::Always;
        self
    }

    /// Sets how it is cut into deltas.
    #[must_use]
    pub fn chunk(mut self, chunk: Chunk) -> Self {
        self.chunk = chunk;
        self
    }

    /// Sets the delay before the response begins.
    #[must_use]
    pub fn delay_ms(mut self, delay: u64) -> Self {
        self.delay_ms = delay;
        self
    }

    /// Sets the delay before each event.
    #[must_use]
    pub fn pause_ms(mut self, pause: u64) -> Self {
        self.pause_ms = pause;
        self
    }

    /// Sets the stop reason.
    #[must_use]
    pub fn stop(mut self, reason: impl Into<String>) -> Self {
        self.stop = Some(reason.into());
        self
    }

    /// Sets the token counts.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Adds an error after the content.
    #[must_use]
    pub fn then_error(mut self, error: impl Into<ApiError>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// Drops the connection after this many events.
    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.cut_after = Some(events);
        self
    }

    /// Stalls after this many events.
    #[must_use]
    pub fn stall_after(mut self, events: usize) -> Self {
        self.stall_after = Some(events);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Adds a line that an embedded agent writes unchanged.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Whether it has lines and nothing that an API could send.
    #[must_use]
    pub fn is_only_lines(&self) -> bool {
        !self.lines.is_empty() && self.say.is_empty() && self.error.is_none()
    }
}

/// The condition for a reply: every field that is set must hold. *New* means since the last answer of the model; text that
/// the CLI adds inside `<system-reminder>` is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = super::one_is_set)]
#[non_exhaustive]
pub struct When {
    /// The user's new text contains this.
    pub prompt: Option<String>,
    /// A new tool result contains this.
    pub tool_result: Option<String>,
    /// Any text or tool result of the request contains this, new or old: also after a resume or a compaction.
    pub history: Option<String>,
    /// The system prompt contains this.
    pub system: Option<String>,
    /// A tool with this name is offered.
    pub tool: Option<String>,
    /// The model's name contains this.
    pub model: Option<String>,
}

impl When {
    /// The new text of the user contains this.
    #[must_use]
    pub fn prompt(part: impl Into<String>) -> Self {
        Self { prompt: Some(part.into()), ..Self::default() }
    }

    /// A new tool result contains this.
    #[must_use]
    pub fn tool_result(part: impl Into<String>) -> Self {
        Self { tool_result: Some(part.into()), ..Self::default() }
    }

    /// Any text or tool result of the request contains this.
    #[must_use]
    pub fn history(part: impl Into<String>) -> Self {
        Self { history: Some(part.into()), ..Self::default() }
    }

    /// The system prompt contains this.
    #[must_use]
    pub fn system(part: impl Into<String>) -> Self {
        Self { system: Some(part.into()), ..Self::default() }
    }
}

impl fmt::Display for When {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("prompt", &self.prompt),
            ("tool_result", &self.tool_result),
            ("history", &self.history),
            ("system", &self.system),
            ("tool", &self.tool),
            ("model", &self.model),
        ];
        let given = parts.iter().filter_map(|(name, part)| part.as_ref().map(|part| (name, part)));
        for (index, (name, part)) in given.enumerate() {
            let and = if index == 0 { "" } else { " and " };
            write!(formatter, "{and}{name} {part:?}")?;
        }
        Ok(())
    }
}

/// The token counts of a reply. Default: 10 in, a quarter of the bytes of the reply out (at least 1), no cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Usage {
    /// Input tokens. Default: 10.
    pub input_tokens: Option<u64>,
    /// Output tokens. Default: a quarter of the bytes of the reply, at least 1.
    pub output_tokens: Option<u64>,
    /// Tokens read from the cache. Default: 0.
    pub cache_read_input_tokens: Option<u64>,
    /// Tokens written to the cache. Default: 0.
    pub cache_creation_input_tokens: Option<u64>,
}

impl Usage {
    /// Input and output tokens.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input_tokens: Some(input), output_tokens: Some(output), ..Self::default() }
    }
}

/// An error of the API. In a file, its status is enough: `error = 529`.
///
/// The CLI retries most of them: a 400 up to five times, others for minutes. `times` sets how often the error occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiError {
    /// Its HTTP status.
    pub status: u16,
    /// Its type. Default: the one that belongs to the status.
    pub kind: Option<String>,
    /// The message.
    pub message: Option<String>,
    /// The seconds of its `retry-after` header.
    pub retry_after: Option<u64>,
}

impl ApiError {
    /// An error with this status.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self { status, kind: None, message: None, retry_after: None }
    }

    /// Sets the message.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets the type.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets the seconds of `retry-after`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl From<u16> for ApiError {
    fn from(status: u16) -> Self {
        Self::new(status)
    }
}

#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ErrorTable {
    /// The HTTP status, from 400 to 599.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// The error type. Default: the one that belongs to the status.
    kind: Option<String>,
    /// The message. Default: the one that belongs to the status.
    message: Option<String>,
    /// The seconds of the `retry-after` header. Default: no such header.
    retry_after: Option<u64>,
}

impl<'de> Deserialize<'de> for ApiError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatusOrTable;

        impl<'de> Visitor<'de> for StatusOrTable {
            type Value = ApiError;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a status such as 529, or a table with `status`")
            }

            fn visit_u64<E: Error>(self, status: u64) -> Result<ApiError, E> {
                // A number that does not fit is refused later, with other invalid ones.
                Ok(ApiError::new(u16::try_from(status).unwrap_or(0)))
            }

            fn visit_i64<E: Error>(self, status: i64) -> Result<ApiError, E> {
                Ok(ApiError::new(u16::try_from(status).unwrap_or(0)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ApiError, A::Error> {
                let table = ErrorTable::deserialize(MapAccessDeserializer::new(map))?;
                let ErrorTable { status, kind, message, retry_after } = table;
                Ok(ApiError { status, kind, message, retry_after })
            }
        }

        deserializer.deserialize_any(StatusOrTable)
    }
}

impl JsonSchema for ApiError {
    fn schema_name() -> Cow<'static, str> {
        "ApiError".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<ErrorTable>();
        json_schema!({
            "description": "An error of the API: its status, or a table.",
            "anyOf": [{ "type": "integer", "minimum": 400, "maximum": 599 }, table],
        })
    }
}
