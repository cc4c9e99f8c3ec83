//! [`tool`]: a function that the agent can call.

use std::fmt;
use std::sync::Arc;

use duologue_protocol::{RawJson, ToolUseId};
use rmcp::model::CallToolResult;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::connect::BoxFuture;
use super::result::{IntoToolResult, failure};
use super::schema::{input_schema, read_input};

type Handler = dyn Fn(RawJson, ToolCall) -> BoxFuture<CallToolResult> + Send + Sync;

/// A function that the agent can call, and what the agent is told about it. Made by [`tool`].
#[derive(Clone)]
pub struct Tool {
    name: String,
    /// As `tools/list` has it.
    description: Map<String, Value>,
    handler: Arc<Handler>,
}

/// Makes a tool of an async function. The schema of its input is derived: comments on the fields become
/// descriptions that the model reads. What it may return says [`IntoToolResult`].
///
/// An input that does not fit is not a matter of the function: the model is told what is wrong. The
/// function is dropped where it waits if the agent loses interest; if it panics, the model is told so.
///
/// An input that is a struct is best. `()` stands for none, and anything else becomes the field `input`
/// of an object.
///
/// ```
/// use duologue::mcp;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct City {
///     /// The city, in English.
///     name: String,
/// }
///
/// let tool = mcp::tool("weather", "Tells the weather in a city", |city: City| async move {
///     if city.name.is_empty() { Err("which city?") } else { Ok(format!("Rain in {}.", city.name)) }
/// })
/// .read_only()
/// .open_world(true);
/// ```
pub fn tool<I, F, Fut>(name: impl Into<String>, description: impl Into<String>, function: F) -> Tool
where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    tool_with(name, description, move |input, _| function(input))
}

/// The same as [`tool`], for a function that wants to know about the call.
///
/// ```
/// use duologue::mcp::{self, ToolCall};
///
/// let tool = mcp::tool_with("who", "Tells the id of this call", |_: (), call: ToolCall| async move {
///     call.tool_use_id().map_or("unknown".to_owned(), |id| id.to_string())
/// });
/// ```
pub fn tool_with<I, F, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: F,
) -> Tool
where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(I, ToolCall) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    let name = name.into();
    let (schema, shape) = input_schema::<I>();
    let mut told = Map::new();
    told.insert("name".to_owned(), name.clone().into());
    told.insert("description".to_owned(), description.into().into());
    told.insert("inputSchema".to_owned(), Value::Object(schema));
    let function = Arc::new(function);
    let handler = move |arguments: RawJson, call: ToolCall| -> BoxFuture<CallToolResult> {
        let function = Arc::clone(&function);
        Box::pin(async move {
            let input = arguments.to_value().and_then(|value| read_input(value, shape));
            match input {
                Ok(input) => function(input, call).await.into_tool_result(),
                Err(error) => failure(format!(
                    "The input does not fit the tool's schema: {error}. Call it again with an input that does."
                )),
            }
        })
    };
    Tool { name, description: told, handler: Arc::new(handler) }
}

impl Tool {
    /// A title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.description.insert("title".to_owned(), title.into().into());
        self
    }

    /// It changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.annotation("readOnlyHint", true)
    }

    /// Whether it may destroy something.
    #[must_use]
    pub fn destructive(self, destructive: bool) -> Self {
        self.annotation("destructiveHint", destructive)
    }

    /// Calling it twice is as good as calling it once.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.annotation("idempotentHint", true)
    }

    /// Whether it reaches out into the world.
    #[must_use]
    pub fn open_world(self, open_world: bool) -> Self {
        self.annotation("openWorldHint", open_world)
    }

    /// The model sees it at once, and need not search for it.
    #[must_use]
    pub fn always_load(self) -> Self {
        self.meta("anthropic/alwaysLoad", true)
    }

    /// Words by which the model may find it when it searches for tools.
    #[must_use]
    pub fn search_hint(self, hint: impl Into<String>) -> Self {
        self.meta("anthropic/searchHint", hint.into())
    }

    /// How many characters its result may have before the agent puts it into a file.
    #[must_use]
    pub fn max_result_size_chars(self, limit: u64) -> Self {
        self.meta("anthropic/maxResultSizeChars", limit)
    }

    /// Any other metadata.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        put(&mut self.description, "_meta", key.into(), value.into());
        self
    }

    fn annotation(mut self, key: &str, value: bool) -> Self {
        put(&mut self.description, "annotations", key.to_owned(), value.into());
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the agent is told about it, as `tools/list` has it.
    pub fn description(&self) -> &Map<String, Value> {
        &self.description
    }

    pub(super) fn call(&self, arguments: RawJson, call: ToolCall) -> BoxFuture<CallToolResult> {
        (self.handler)(arguments, call)
    }
}

fn put(object: &mut Map<String, Value>, field: &str, key: String, value: Value) {
    if let Value::Object(inner) = object.entry(field).or_insert_with(|| json!({})) {
        inner.insert(key, value);
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("description", &self.description).finish_non_exhaustive()
    }
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct ToolCall {
    meta: RawJson,
}

impl ToolCall {
    pub(super) fn new(params: &RawJson) -> Self {
        Self { meta: params.get("_meta").unwrap_or_default() }
    }

    /// The call, as it is named in the conversation.
    pub fn tool_use_id(&self) -> Option<ToolUseId> {
        self.meta.get("claudecode/toolUseId")?.read().ok()
    }

    /// What else the agent says about the call; `null` if nothing.
    pub fn meta(&self) -> &RawJson {
        &self.meta
    }
}
