//! [`StreamedMessage`]: joins the events of a message.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::price::Tokens;
use crate::render::Event;

/// A message, joined from its events.
///
/// It never fails: unknown events and deltas are ignored, and a tool input that is not JSON is stored in
/// `__unparsedToolInput`, as the real CLI does.
///
/// ```
/// use duologue_model::{Event, StreamedMessage};
///
/// let mut folded = StreamedMessage::new();
/// for event in Event::of_text("any", "Hello.") {
///     folded.add(&event);
/// }
/// assert!(folded.is_whole());
/// assert_eq!(folded.message()["content"][0]["text"], "Hello.");
/// assert_eq!(folded.stop_reason(), Some("end_turn"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct StreamedMessage {
    message: Map<String, Value>,
    blocks: BTreeMap<u64, Open>,
    content: Vec<Value>,
    is_whole: bool,
}

/// A block, and its tool input so far.
#[derive(Clone, Debug)]
struct Open {
    block: Value,
    input: String,
}

impl StreamedMessage {
    /// Creates an empty message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event. Returns the block that ends with it, if any. A second `message_start` starts a new message: the
    /// request was retried.
    pub fn add(&mut self, event: &Event) -> Option<&Value> {
        let json = event.json();
        if !json.is_object() {
            return None;
        }
        match &*event.name {
            "message_start" => self.begin(json),
            "content_block_start" => {
                let block = json.get("content_block").filter(|block| block.is_object());
                let block = block.cloned().unwrap_or_else(|| json!({}));
                let open = Open { block, input: String::new() };
                self.blocks.insert(index(&json), open);
            }
            "content_block_delta" => {
                if let Some(open) = self.blocks.get_mut(&index(&json)) {
                    open.add(&json["delta"]);
                }
            }
            "content_block_stop" => {
                let open = self.blocks.remove(&index(&json))?;
                self.content.push(open.finish());
                return self.content.last();
            }
            "message_delta" => self.end(json),
            "message_stop" => self.is_whole = true,
            _ => {}
        }
        None
    }

    /// Whether the message is complete.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The finished blocks.
    #[must_use]
    pub fn content(&self) -> &[Value] {
        &self.content
    }

    /// The message, with its finished blocks.
    #[must_use]
    pub fn message(&self) -> Value {
        let mut message = self.message.clone();
        message.insert("content".to_owned(), self.content.clone().into());
        message.into()
    }

    /// Its text so far, including unfinished blocks.
    #[must_use]
    pub fn text(&self) -> String {
        let open = self.blocks.values().map(|open| &open.block);
        self.content.iter().chain(open).filter_map(|block| block["text"].as_str()).collect()
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.message.get("id").and_then(Value::as_str)
    }

    /// The model that wrote it.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.message.get("model").and_then(Value::as_str)
    }

    /// Why it stopped.
    #[must_use]
    pub fn stop_reason(&self) -> Option<&str> {
        self.message.get("stop_reason").and_then(Value::as_str)
    }

    /// Its token counts.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.message.get("usage").map(Tokens::from_usage).unwrap_or_default()
    }

    fn begin(&mut self, mut json: Value) {
        *self = Self::default();
        if let Value::Object(message) = json["message"].take() {
            self.message = message;
        }
        // Some APIs send content with the start.
        if let Some(Value::Array(content)) = self.message.remove("content") {
            self.content = content;
        }
    }

    fn end(&mut self, mut json: Value) {
        if let Value::Object(delta) = json["delta"].take() {
            self.message.extend(delta);
        }
        if let Value::Object(usage) = json["usage"].take() {
            // It contains changed counts, and may omit the others.
            let known = self.message.entry("usage").or_insert(Value::Null);
            if !known.is_object() {
                *known = json!({});
            }
            for (name, value) in usage.into_iter().filter(|(_, value)| !value.is_null()) {
                known[name] = value;
            }
        }
    }
}

impl Open {
    fn add(&mut self, delta: &Value) {
        for (name, value) in delta.as_object().into_iter().flatten() {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("partial_json", Value::String(part)) => self.input.push_str(part),
                ("citation", citation) => {
                    if let Value::Array(known) = &mut self.block["citations"] {
                        known.push(citation.clone());
                    } else {
                        self.block["citations"] = json!([citation]);
                    }
                }
                (name, Value::String(part)) => match &mut self.block[name] {
                    Value::String(known) => known.push_str(part),
                    other => *other = part.as_str().into(),
                },
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Value {
        if !self.input.is_empty() {
            self.block["input"] = serde_json::from_str(&self.input).unwrap_or_else(|_| {
                let length = self.input.encode_utf16().count();
                json!({ "__unparsedToolInput": { "raw": self.input, "len": length } })
            });
        }
        self.block
    }
}

fn index(json: &Value) -> u64 {
    json["index"].as_u64().unwrap_or(0)
}
