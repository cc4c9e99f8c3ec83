//! Renders a reply in the form of the Messages API.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::purpose::Purpose;
use crate::scenario::{ApiError, Block, Reply};
use crate::script::Answer;

/// A reply rendered as a message of the Messages API, complete or as events.
///
/// ```
/// use duologue_model::{RenderedMessage, Reply, Request, Scenario, Script};
/// use serde_json::json;
///
/// let mut script = Script::new(Scenario::new().reply(Reply::text("Hello.")))?;
/// let asked = json!({ "model": "any", "messages": [{ "role": "user", "content": "hi" }] });
/// let answer = script.answer(&Request::new(asked)?)?;
/// let message = RenderedMessage::new(&answer, 1);
///
/// assert_eq!(message.to_json()["content"][0]["text"], "Hello.");
/// assert_eq!(message.events()[0].name, "message_start");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RenderedMessage<'a> {
    answer: &'a Answer,
    number: u64,
    word: &'a str,
}

/// One event of a message that is streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Its type.
    pub name: Cow<'static, str>,
    /// Its JSON, unchanged.
    pub data: String,
}

impl Event {
    /// An event of this type, with this JSON.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, data: impl Into<String>) -> Self {
        Self { name: name.into(), data: data.into() }
    }

    /// Its JSON, parsed. Null if it is not valid.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_default()
    }

    /// The events of a message with only this text.
    #[must_use]
    pub fn of_text(model: &str, text: &str) -> Vec<Self> {
        let answer = Answer {
            purpose: Purpose::Main,
            agent: Purpose::Main.as_str().to_owned(),
            index: None,
            reply: Arc::new(Reply::text(text)),
            model: model.to_owned(),
        };
        RenderedMessage::new(&answer, 1).events()
    }
}

/// Input tokens, unless the scenario sets them.
const INPUT_TOKENS: u64 = 10;

impl<'a> RenderedMessage<'a> {
    /// Renders an answer. Ids contain the number, so that a script has the same ids each time.
    #[must_use]
    pub fn new(answer: &'a Answer, number: u64) -> Self {
        Self { answer, number, word: "script" }
    }

    /// Sets the word in its ids; default: `script`.
    #[must_use]
    pub fn word(mut self, word: &'a str) -> Self {
        self.word = word;
        self
    }

    /// The complete message.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let blocks = self.reply().say.iter().enumerate();
        let content: Vec<Value> = blocks.map(|(index, block)| self.whole(index, block)).collect();
        let mut message = self.frame(self.usage(self.output_tokens()));
        message["content"] = content.into();
        message["stop_reason"] = self.stop_reason().into();
        message
    }

    /// The message as a stream of events, from `message_start` to `message_stop`; or to `error`, if the reply has one.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let mut events = vec![event(
            "message_start",
            json!({ "type": "message_start", "message": self.frame(self.usage(1)) }),
        )];
        for (index, block) in self.reply().say.iter().enumerate() {
            self.stream(index, block, &mut events);
        }
        if let Some(error) = &self.reply().error {
            events.push(event("error", error.to_json()));
            return events;
        }
        events.push(event(
            "message_delta",
            json!({
                "type": "message_delta",
                "delta": { "stop_reason": self.stop_reason(), "stop_sequence": null },
                "usage": self.usage(self.output_tokens()),
            }),
        ));
        events.push(event("message_stop", json!({ "type": "message_stop" })));
        events
    }

    fn reply(&self) -> &'a Reply {
        &self.answer.reply
    }

    /// A message without its content.
    fn frame(&self, usage: Value) -> Value {
        json!({
            "id": format!("msg_{}_{:04}", self.word, self.number),
            "type": "message",
            "role": "assistant",
            "model": self.answer.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage,
        })
    }

    fn whole(&self, index: usize, block: &Block) -> Value {
        match block {
            Block::Text { text, repeat } => {
                json!({ "type": "text", "text": text.repeat(*repeat) })
            }
            Block::Thinking { thinking, signature } => {
                json!({ "type": "thinking", "thinking": thinking, "signature": signature })
            }
            Block::Tool { name, input, id } => {
                // A complete message cannot contain an input that is not JSON.
                let input: Value =
                    serde_json::from_str(input).unwrap_or_else(|_| Map::new().into());
                json!({ "type": "tool_use", "id": self.tool_id(index, id), "name": name, "input": input })
            }
            Block::Raw(block) => block.clone().into(),
        }
    }

    fn stream(&self, index: usize, block: &Block, events: &mut Vec<Event>) {
        let start = match block {
            Block::Text { .. } => json!({ "type": "text", "text": "" }),
            Block::Thinking { .. } => {
                json!({ "type": "thinking", "thinking": "", "signature": "" })
            }
            Block::Tool { name, id, .. } => {
                json!({ "type": "tool_use", "id": self.tool_id(index, id), "name": name, "input": {} })
            }
            Block::Raw(block) => block.clone().into(),
        };
        events.push(event(
            "content_block_start",
            json!({ "type": "content_block_start", "index": index, "content_block": start }),
        ));
        let chunk = self.reply().chunk;
        let mut delta = |delta: Value| {
            events.push(event(
                "content_block_delta",
                json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        };
        match block {
            Block::Text { text, repeat } => {
                for piece in chunk.cut(&text.repeat(*repeat)) {
                    delta(json!({ "type": "text_delta", "text": piece }));
                }
            }
            Block::Thinking { thinking, signature } => {
                for piece in chunk.cut(thinking) {
                    delta(json!({ "type": "thinking_delta", "thinking": piece }));
                }
                delta(json!({ "type": "signature_delta", "signature": signature }));
            }
            Block::Tool { input, .. } => {
                for piece in chunk.cut(input) {
                    delta(json!({ "type": "input_json_delta", "partial_json": piece }));
                }
            }
            Block::Raw(_) => {}
        }
        events.push(event(
            "content_block_stop",
            json!({ "type": "content_block_stop", "index": index }),
        ));
    }

    fn tool_id(&self, index: usize, id: &Option<String>) -> String {
        id.clone().unwrap_or_else(|| format!("toolu_{}_{:04}_{index}", self.word, self.number))
    }

    fn stop_reason(&self) -> &str {
        let calls = self.reply().say.iter().any(|block| matches!(block, Block::Tool { .. }));
        let usual = if calls { "tool_use" } else { "end_turn" };
        self.reply().stop.as_deref().unwrap_or(usual)
    }

    fn output_tokens(&self) -> u64 {
        let length = |block: &Block| match block {
            Block::Text { text, repeat } => text.len().saturating_mul(*repeat),
            Block::Thinking { thinking, .. } => thinking.len(),
            Block::Tool { input, .. } => input.len(),
            Block::Raw(_) => 0,
        };
        let length: usize = self.reply().say.iter().map(length).sum();
        self.reply().usage.output_tokens.unwrap_or(length.div_ceil(4).max(1) as u64)
    }

    fn usage(&self, output_tokens: u64) -> Value {
        let usage = &self.reply().usage;
        json!({
            "input_tokens": usage.input_tokens.unwrap_or(INPUT_TOKENS),
            "cache_creation_input_tokens": usage.cache_creation_input_tokens.unwrap_or(0),
            "cache_read_input_tokens": usage.cache_read_input_tokens.unwrap_or(0),
            "output_tokens": output_tokens,
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "callers write json!(…) in the call")]
fn event(name: &'static str, data: Value) -> Event {
    Event::new(name, data.to_string())
}

impl ApiError {
    /// The body of the response.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (kind, message) = match self.status {
            401 => ("authentication_error", "invalid x-api-key"),
            402 => ("billing_error", "Your credit balance is too low"),
            403 => ("permission_error", "You may not use this"),
            404 => ("not_found_error", "Not found"),
            413 => ("request_too_large", "Request exceeds the maximum size"),
            429 => ("rate_limit_error", "This request would exceed your rate limit"),
            504 => ("timeout_error", "The request timed out"),
            529 => ("overloaded_error", "Overloaded"),
            400..500 => ("invalid_request_error", "Invalid request"),
            _ => ("api_error", "Internal server error"),
        };
        let kind = self.kind.as_deref().unwrap_or(kind);
        let message = self.message.as_deref().unwrap_or(message);
        json!({ "type": "error", "error": { "type": kind, "message": message } })
    }
}
