//! [`Request`]: a request to a model.

use std::sync::Arc;

use serde_json::Value;

use crate::purpose::Purpose;
use crate::scenario::{When, Who};

/// A request to the Messages API: its body, and headers that identify the agent. Cheap to clone.
///
/// ```
/// use duologue_model::{Purpose, Request};
/// use serde_json::json;
///
/// let request = Request::new(json!({
///     "model": "claude-opus-4-8",
///     "messages": [{ "role": "user", "content": "hello" }],
/// }))?;
/// assert_eq!(request.prompt(), "hello");
/// assert_eq!(request.purpose(), Purpose::Main);
/// # Ok::<(), duologue_model::BadRequest>(())
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    body: Arc<Value>,
    headers: Vec<(String, String)>,
    agent: Option<String>,
    purpose: Option<Purpose>,
}

/// Why a body is not a request to the Messages API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadRequest(pub(crate) String);

/// The marks around text that the CLI adds to a prompt.
const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");

impl Request {
    /// Creates a request with this body.
    ///
    /// # Errors
    ///
    /// If it has no messages, or names no model.
    pub fn new(body: Value) -> Result<Self, BadRequest> {
        if !body.is_object() {
            return Err(BadRequest("the body is not a JSON object".to_owned()));
        }
        if !body["model"].is_string() {
            return Err(BadRequest("model: a text is required".to_owned()));
        }
        match body["messages"].as_array() {
            None => Err(BadRequest("messages: a list is required".to_owned())),
            Some(list) if list.is_empty() => {
                Err(BadRequest("messages: at least one message is required".to_owned()))
            }
            Some(_) => {
                Ok(Self { body: Arc::new(body), headers: Vec::new(), agent: None, purpose: None })
            }
        }
    }

    /// Sets the headers.
    #[must_use]
    pub fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        self.headers = headers
            .into_iter()
            .map(|(name, value)| (name.into().to_ascii_lowercase(), value.into()))
            .collect();
        self
    }

    /// Sets the agent, by its name in the scenario.
    #[must_use]
    pub fn with_agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(name.into());
        self
    }

    /// Sets the purpose. Without it, [`Request::purpose`] guesses, as it does for the real CLI.
    #[must_use]
    pub fn with_purpose(mut self, purpose: Purpose) -> Self {
        self.purpose = Some(purpose);
        self
    }

    /// The agent, if it was set.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Its body.
    #[must_use]
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// Its headers, with names in lower case. Credentials are not among them.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// A header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    /// The requested model.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Whether a stream is requested.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.body["stream"] == true
    }

    /// The system prompt, one block per line.
    #[must_use]
    pub fn system(&self) -> String {
        texts(&self.body["system"]).join("\n")
    }

    /// The names of the tools that are offered.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str())
    }

    /// The new text of the user since the last answer, without `<system-reminder>`.
    #[must_use]
    pub fn prompt(&self) -> String {
        said(self.new_messages())
    }

    /// The first text of the user.
    #[must_use]
    pub fn first_prompt(&self) -> String {
        let messages = self.messages();
        let end = messages.iter().position(is_assistant).unwrap_or(messages.len());
        said(&messages[..end])
    }

    /// The new tool results since the last answer, as text.
    #[must_use]
    pub fn tool_results(&self) -> Vec<String> {
        results(self.new_messages()).collect()
    }

    /// Its purpose.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose.unwrap_or_else(|| Purpose::of(self))
    }

    /// The number of messages.
    pub(crate) fn message_count(&self) -> usize {
        self.messages().len()
    }

    pub(crate) fn is_from(&self, who: &Who) -> bool {
        // Destructured, so that the compiler reports a new condition.
        let Who { system, prompt, tool, model } = who;
        holds(system, |part| self.system().contains(part))
            && holds(prompt, |part| self.first_prompt().contains(part))
            && holds(tool, |name| self.tools().any(|tool| tool == name))
            && holds(model, |part| self.model().contains(part))
    }

    pub(crate) fn meets(&self, when: &When) -> bool {
        let When { prompt, tool_result, history, system, tool, model } = when;
        holds(prompt, |part| self.prompt().contains(part))
            && holds(tool_result, |part| {
                results(self.new_messages()).any(|text| text.contains(part))
            })
            && holds(history, |part| self.has_in_history(part))
            && holds(system, |part| self.system().contains(part))
            && holds(tool, |name| self.tools().any(|tool| tool == name))
            && holds(model, |part| self.model().contains(part))
    }

    fn has_in_history(&self, part: &str) -> bool {
        let messages = self.messages();
        let mut said = messages.iter().flat_map(|message| texts(&message["content"]));
        said.any(|text| text.contains(part)) || results(messages).any(|text| text.contains(part))
    }

    pub(crate) fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The messages since the last answer. The newest CLI puts a `system` message after that of the user.
    fn new_messages(&self) -> &[Value] {
        let messages = self.messages();
        let start = messages.iter().rposition(is_assistant).map_or(0, |at| at + 1);
        &messages[start..]
    }
}

/// Whether a condition holds, which one does that is not set.
fn holds(condition: &Option<String>, check: impl Fn(&str) -> bool) -> bool {
    condition.as_deref().is_none_or(check)
}

pub(crate) fn is_assistant(message: &Value) -> bool {
    message["role"] == "assistant"
}

/// The texts of a content, which is a text or a list of blocks.
pub(crate) fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// What tools gave in these messages.
fn results(messages: &[Value]) -> impl Iterator<Item = String> {
    messages
        .iter()
        .flat_map(|message| message["content"].as_array().into_iter().flatten())
        .filter(|block| block["type"] == "tool_result")
        .map(|block| texts(&block["content"]).join("\n"))
}

pub(crate) fn said(messages: &[Value]) -> String {
    let mut said = Vec::new();
    for message in messages.iter().filter(|message| message["role"] == "user") {
        for text in texts(&message["content"]) {
            let text = without_reminders(text);
            if !text.trim().is_empty() {
                said.push(text);
            }
        }
    }
    said.join("\n")
}

fn without_reminders(text: &str) -> String {
    let (open, close) = REMINDER;
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        kept.push_str(before);
        // A tag that is never closed is text of the user.
        let Some((_, behind)) = after.split_once(close) else {
            kept.push_str(open);
            kept.push_str(after);
            return kept;
        };
        rest = behind;
    }
    kept + rest
}
