//! [`tool`]: a function that the agent can call.

use std::fmt;
use std::sync::Arc;

use duologue_protocol::{RawJson, ToolUseId};
use rmcp::model::{CallToolResult, MetaObject, RequestMetaObject};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::connect::BoxFuture;
use super::result::IntoToolResult;
use super::schema::{input_schema, misfit, read_input};

type Handler = dyn Fn(Value, CallContext) -> BoxFuture<CallToolResult> + Send + Sync;

/// A function that the agent can call, and its definition. Made by [`tool`].
#[derive(Clone)]
pub struct Tool {
    definition: rmcp::model::Tool,
    handler: Arc<Handler>,
}

/// Makes a tool from an async function. The input's schema is derived from its type: doc comments on the
/// fields become descriptions that the model reads. [`IntoToolResult`] lists what the function may return.
///
/// If an input does not fit the schema, the function is not called, and the model reads what is wrong. If
/// the agent cancels the call, the function's future is dropped. If it panics, the model reads the message.
///
/// Use a struct as the input where possible. `()` means no input. Any other type becomes the field `input` of
/// an object.
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

/// Like [`tool`], for a function that also takes the [`CallContext`].
///
/// ```
/// use duologue::mcp::{self, CallContext};
///
/// let tool = mcp::tool_with("who", "Returns the id of this call", |_: (), call: CallContext| async move {
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
    F: Fn(I, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    let (schema, shape) = input_schema::<I>();
    let name: String = name.into();
    let description: String = description.into();
    let definition = rmcp::model::Tool::new(name, description, schema);
    let function = Arc::new(function);
    let handler = move |arguments: Value, call: CallContext| -> BoxFuture<CallToolResult> {
        let function = Arc::clone(&function);
        Box::pin(async move {
            match read_input(arguments, shape) {
                Ok(input) => function(input, call).await.into_tool_result(),
                Err(error) => misfit(&error),
            }
        })
    };
    Tool { definition, handler: Arc::new(handler) }
}

impl Tool {
    /// Sets a title to show to people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Declares that the tool changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.definition.annotations.get_or_insert_default().read_only_hint = Some(true);
        self
    }

    /// Declares whether the tool may destroy something.
    #[must_use]
    pub fn destructive(mut self, destructive: bool) -> Self {
        self.definition.annotations.get_or_insert_default().destructive_hint = Some(destructive);
        self
    }

    /// Declares that repeating a call has no additional effect.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.definition.annotations.get_or_insert_default().idempotent_hint = Some(true);
        self
    }

    /// Declares whether the tool interacts with external systems.
    #[must_use]
    pub fn open_world(mut self, open_world: bool) -> Self {
        self.definition.annotations.get_or_insert_default().open_world_hint = Some(open_world);
        self
    }

    /// Shows the tool to the model at once, instead of leaving it to tool search.
    #[must_use]
    pub fn always_load(self) -> Self {
        self.meta("anthropic/alwaysLoad", true)
    }

    /// Sets keywords by which the model finds the tool with tool search.
    #[must_use]
    pub fn search_hint(self, hint: impl Into<String>) -> Self {
        self.meta("anthropic/searchHint", hint.into())
    }

    /// Sets how many characters a result may have before the agent puts it into a file.
    #[must_use]
    pub fn max_result_size_chars(self, limit: u64) -> Self {
        self.meta("anthropic/maxResultSizeChars", limit)
    }

    /// Sets any other metadata (`_meta`).
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let meta = self.definition.meta.get_or_insert_with(MetaObject::new);
        meta.0.insert(key.into(), value.into());
        self
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The tool's definition, as `tools/list` returns it.
    pub const fn definition(&self) -> &rmcp::model::Tool {
        &self.definition
    }

    pub(super) fn call(&self, arguments: Value, call: CallContext) -> BoxFuture<CallToolResult> {
        (self.handler)(arguments, call)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// What the agent sends with a call, besides the input.
#[derive(Clone, Debug)]
pub struct CallContext {
    meta: RawJson,
}

impl CallContext {
    pub(super) fn new(meta: &RequestMetaObject) -> Self {
        let meta = if meta.0.0.is_empty() { Value::Null } else { Value::Object(meta.0.0.clone()) };
        Self { meta: meta.into() }
    }

    /// The id of the tool call in the conversation.
    pub fn tool_use_id(&self) -> Option<ToolUseId> {
        self.meta.get("claudecode/toolUseId")?.read().ok()
    }

    /// All metadata of the call (`_meta`); `null` if there is none.
    pub const fn meta(&self) -> &RawJson {
        &self.meta
    }
}
