//! What comes out of a tool.

use duologue_agent::STOPPED;
use duologue_protocol::RawJson;
use duologue_protocol::agent_link::REJECTED;
use serde_json::{Value, json};

/// What comes out of a tool.
///
/// ```
/// use duologue_embedded::tools::ToolOutput;
///
/// let output = ToolOutput::failed("File does not exist.");
/// assert_eq!(output.is_error, Some(true));
/// assert_eq!(output.tool_use_result.as_json(), r#""Error: File does not exist.""#);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// For the model.
    pub content: ToolContent,
    /// Whether it failed. Some tools do not report success.
    pub is_error: Option<bool>,
    /// For the host: `tool_use_result`.
    pub tool_use_result: RawJson,
}

/// Content for the model: a text, or blocks.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the Messages API has these two")]
pub enum ToolContent {
    /// A text.
    Text(String),
    /// Blocks: text, images.
    Blocks(Vec<RawJson>),
}

impl ToolContent {
    /// The text, or the texts of all blocks together.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
                texts.map(|text| text.as_str().to_owned()).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The content of a `tool_result` block.
    pub fn to_json(&self) -> RawJson {
        match self {
            Self::Text(text) => RawJson::from(json!(text)),
            Self::Blocks(blocks) => {
                let blocks: Vec<&str> = blocks.iter().map(RawJson::as_json).collect();
                // Valid by construction: each block is.
                RawJson::parse(&format!("[{}]", blocks.join(","))).unwrap_or_default()
            }
        }
    }
}

impl ToolOutput {
    /// A text for the model, and a result for the host.
    pub fn text(text: impl Into<String>, result: impl Into<RawJson>) -> Self {
        Self {
            content: ToolContent::Text(text.into()),
            is_error: None,
            tool_use_result: result.into(),
        }
    }

    /// Blocks for the model, and a result for the host.
    pub fn blocks(blocks: Vec<RawJson>, result: impl Into<RawJson>) -> Self {
        Self {
            content: ToolContent::Blocks(blocks),
            is_error: None,
            tool_use_result: result.into(),
        }
    }

    /// It was tried, and failed.
    pub fn failed(message: impl Into<String>) -> Self {
        let message = message.into();
        let result = json!(format!("Error: {message}"));
        Self { is_error: Some(true), ..Self::text(message, result) }
    }

    /// It was not even tried: the call makes no sense.
    pub fn refused(message: impl AsRef<str>) -> Self {
        let message = message.as_ref();
        let result = json!(format!("Error: {message}"));
        let content = format!("<tool_use_error>{message}</tool_use_error>");
        Self { is_error: Some(true), ..Self::text(content, result) }
    }

    /// The tool does not exist.
    pub fn no_such_tool(name: &str) -> Self {
        let message = format!("Error: No such tool available: {name}");
        let content = format!("<tool_use_error>{message}</tool_use_error>");
        Self { is_error: Some(true), ..Self::text(content, json!(message)) }
    }

    /// The input is not JSON. `raw` is what the model wrote.
    pub fn unparsable(tool: &str, raw: &str) -> Self {
        let bytes = raw.len();
        let shown: String = raw.chars().take(200).collect();
        let content = format!(
            "<tool_use_error>InputValidationError: {tool} was called with input that could not be parsed as JSON.\n\
             You sent (first {} of {bytes} bytes): {shown}\n\
             Common causes: unescaped backslashes in file paths (use / or \\\\), unescaped control characters, or truncated output. Retry with valid JSON.</tool_use_error>",
            shown.len()
        );
        let result = json!(format!("InputValidationError: JSON parse failed ({bytes} bytes)"));
        Self { is_error: Some(true), ..Self::text(content, result) }
    }

    /// A person did not want it, and ended the turn before it ran.
    pub fn rejected() -> Self {
        Self { is_error: Some(true), ..Self::text(REJECTED, json!("User rejected tool use")) }
    }

    /// A person ended the turn while it ran.
    pub fn stopped() -> Self {
        let content = format!("{REJECTED}{STOPPED}");
        Self { is_error: Some(true), ..Self::text(content, json!("User rejected tool use")) }
    }

    /// The same, saying that it succeeded.
    #[must_use]
    pub(super) fn succeeded(mut self) -> Self {
        self.is_error = Some(false);
        self
    }

    /// Whether it failed.
    pub fn is_failure(&self) -> bool {
        self.is_error == Some(true)
    }

    /// The `tool_result` block of a call.
    pub fn to_block(&self, tool_use_id: &str) -> RawJson {
        let mut block = json!({ "type": "tool_result", "tool_use_id": tool_use_id });
        block["content"] = self.content.to_json().to_value_lossy().unwrap_or(Value::Null);
        if let Some(is_error) = self.is_error {
            block["is_error"] = json!(is_error);
        }
        RawJson::from(block)
    }
}
