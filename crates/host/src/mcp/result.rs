//! What a tool returns.

use std::borrow::Cow;
use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

/// A type that a tool may return.
///
/// - Strings, numbers and booleans become text; `()` becomes an empty result.
/// - A [`Value`] that is an object becomes `structuredContent`, and text for clients that read only text.
///   Any other value becomes JSON text. Use [`json`] for types of your own.
/// - [`ContentBlock`]s are unchanged. [`image`] makes a block from an image.
/// - `Err` becomes a result with `isError`, which the model reads.
///
/// ```
/// use duologue::mcp::IntoToolResult;
///
/// let failed: Result<String, &str> = Err("no such city");
/// assert_eq!(failed.into_tool_result().is_error, Some(true));
/// ```
pub trait IntoToolResult {
    /// Converts the value into the result of a `tools/call`.
    fn into_tool_result(self) -> CallToolResult;
}

/// Returns a value as `structuredContent`, and as text for clients that read only text.
///
/// ```
/// let result = duologue::mcp::json(&std::collections::BTreeMap::from([("celsius", 21)]));
/// assert_eq!(result.structured_content.unwrap()["celsius"], 21);
/// ```
pub fn json<T: Serialize + ?Sized>(value: &T) -> CallToolResult {
    match serde_json::to_value(value) {
        Ok(value) => value.into_tool_result(),
        Err(error) => failure(format!("The tool's result is not valid JSON: {error}")),
    }
}

/// Makes a content block from an image. `mime_type` is `image/png`, for example.
///
/// ```
/// # let bytes = [0; 4];
/// let blocks = vec![duologue::mcp::ContentBlock::text("The plot:"), duologue::mcp::image("image/png", &bytes)];
/// ```
pub fn image(mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> ContentBlock {
    ContentBlock::image(STANDARD.encode(bytes), mime_type)
}

/// A result with `isError`.
pub(super) fn failure(text: impl Into<String>) -> CallToolResult {
    let mut result = content(vec![ContentBlock::text(text)]);
    result.is_error = Some(true);
    result
}

fn content(content: Vec<ContentBlock>) -> CallToolResult {
    let mut result = CallToolResult::default();
    // The agent uses a version of MCP that does not have this field.
    result.result_type = None;
    result.content = content;
    result
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(mut self) -> CallToolResult {
        self.result_type = None;
        self
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> CallToolResult {
        content(self)
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> CallToolResult {
        content(vec![self])
    }
}

impl IntoToolResult for Value {
    fn into_tool_result(self) -> CallToolResult {
        let mut result = self.to_string().into_tool_result();
        // MCP requires structured content to be an object.
        result.structured_content = Some(self).filter(Self::is_object);
        result
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> CallToolResult {
        content(Vec::new())
    }
}

impl<T: IntoToolResult, E: Display> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> CallToolResult {
        match self {
            Ok(result) => result.into_tool_result(),
            // The alternate form of many error types includes the causes.
            Err(error) => failure(format!("{error:#}")),
        }
    }
}

macro_rules! as_text {
    ($($kind:ty),*) => {$(
        impl IntoToolResult for $kind {
            fn into_tool_result(self) -> CallToolResult {
                content(vec![ContentBlock::text(self.to_string())])
            }
        }
    )*};
}

as_text!(&str, Cow<'_, str>, bool, i32, i64, u32, u64, usize, f32, f64);

impl IntoToolResult for String {
    fn into_tool_result(self) -> CallToolResult {
        content(vec![ContentBlock::text(self)])
    }
}
