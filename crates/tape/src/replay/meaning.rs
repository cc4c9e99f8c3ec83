//! The meaning of a host line, and whether two lines mean the same.

use duologue_protocol::Line;
use serde_json::{Map, Value};

use crate::redact::is_masked;

/// How closely prompts and answers must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Match {
    /// The same prompt; answers and requests have every recorded field, and may have more.
    #[default]
    Exact,
    /// White space and case of prompts are ignored; of an answer only the decision counts.
    Loose,
    /// Any prompt matches any prompt, any answer matches any answer.
    Any,
}

/// A line of the host, as far as it matters for matching.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// A request to the agent.
    Request { id: String, subtype: String, body: Value },
    /// An answer to the agent.
    Answer { id: String, subtype: String, body: Value },
    /// It withdraws a request.
    Cancel { id: String },
    /// A prompt.
    Prompt { uuid: Option<String>, content: Value },
    /// It is neither expected nor refused.
    Idle,
    /// Another line of this type.
    Other { kind: String, body: Value },
    /// Not a JSON object with a type.
    Raw(Vec<u8>),
}

impl Meaning {
    pub(super) fn of(line: &Line) -> Self {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(trimmed(line.raw())) else {
            return if line.is_blank() { Self::Idle } else { Self::Raw(line.raw().to_vec()) };
        };
        let kind = text(fields.get("type"));
        match kind.as_str() {
            "control_request" => {
                let body = fields.remove("request").unwrap_or_default();
                let id = text(fields.get("request_id"));
                Self::Request { id, subtype: text(body.get("subtype")), body }
            }
            "control_response" => {
                let response = fields.remove("response").unwrap_or_default();
                let body = response.get("response").or(response.get("error")).cloned();
                let [id, subtype] = ["request_id", "subtype"].map(|name| text(response.get(name)));
                Self::Answer { id, subtype, body: body.unwrap_or_default() }
            }
            "control_cancel_request" => Self::Cancel { id: text(fields.get("request_id")) },
            "user" => {
                let content = fields.get("message").and_then(|message| message.get("content"));
                let uuid = fields.get("uuid").and_then(Value::as_str).map(str::to_owned);
                Self::Prompt { uuid, content: content.cloned().unwrap_or_default() }
            }
            "keep_alive" => Self::Idle,
            _ => Self::Other { kind, body: Value::Object(fields) },
        }
    }

    /// Whether this line matches the expected one. On a redacted tape, a replacement matches
    /// any value. `same_id` maps ids of the tape to ids of this host.
    pub(super) fn is(
        &self,
        expected: &Self,
        how: Match,
        redacted: bool,
        same_id: impl Fn(&str, &str) -> bool,
    ) -> bool {
        let includes = |got: &Value, wanted: &Value| includes(got, wanted, redacted);
        match (self, expected) {
            (
                Self::Request { subtype, body, .. },
                Self::Request { subtype: other, body: wanted, .. },
            ) => {
                // Capabilities of the host may differ.
                subtype == other
                    && (how != Match::Exact || subtype == "initialize" || includes(body, wanted))
            }
            (
                Self::Answer { id, subtype, body },
                Self::Answer { id: other_id, subtype: other, body: wanted },
            ) => {
                same_id(other_id, id)
                    && match how {
                        Match::Exact => {
                            subtype == other && (subtype == "error" || includes(body, wanted))
                        }
                        Match::Loose => subtype == other && decided(body) == decided(wanted),
                        Match::Any => true,
                    }
            }
            (Self::Cancel { id }, Self::Cancel { id: other }) => same_id(other, id),
            (Self::Prompt { content, .. }, Self::Prompt { content: wanted, .. }) => match how {
                Match::Exact => {
                    let (got, wanted) = (blocks(content), blocks(wanted));
                    got == wanted || (redacted && includes(&got.into(), &wanted.into()))
                }
                Match::Loose => same(&loosely(content), &loosely(wanted), redacted),
                Match::Any => true,
            },
            (Self::Other { kind, body }, Self::Other { kind: other, body: wanted }) => {
                kind == other && (how != Match::Exact || includes(body, wanted))
            }
            (Self::Raw(bytes), Self::Raw(wanted)) => {
                let [got, then] = [bytes, wanted].map(|bytes| String::from_utf8_lossy(bytes));
                bytes == wanted || how == Match::Any || (redacted && is_masked(&got, &then))
            }
            _ => false,
        }
    }

    /// Whether the two are of the same kind, though their content differs.
    pub(super) fn is_kin(&self, expected: &Self, same_id: impl Fn(&str, &str) -> bool) -> bool {
        match (self, expected) {
            (Self::Request { subtype, .. }, Self::Request { subtype: other, .. }) => {
                subtype == other
            }
            (Self::Answer { id, .. }, Self::Answer { id: other, .. }) => same_id(other, id),
            (Self::Prompt { .. }, Self::Prompt { .. }) | (Self::Raw(_), Self::Raw(_)) => true,
            (Self::Other { kind, .. }, Self::Other { kind: other, .. }) => kind == other,
            _ => false,
        }
    }

    /// A short description.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Request { subtype, .. } => format!("a request, {subtype}"),
            Self::Answer { id, subtype, .. } => format!("the answer ({subtype}) to request {id}"),
            Self::Cancel { id } => format!("the withdrawal of request {id}"),
            Self::Prompt { .. } => "a prompt".to_owned(),
            Self::Idle => "a line that asks for nothing".to_owned(),
            Self::Other { kind, .. } => format!("a line of type {kind}"),
            Self::Raw(_) => "a line that is not a message".to_owned(),
        }
    }

    /// The compared value, for a report.
    pub(super) fn body(&self) -> Value {
        match self {
            Self::Request { body, .. } | Self::Answer { body, .. } | Self::Other { body, .. } => {
                body.clone()
            }
            Self::Prompt { content, .. } => content.clone(),
            Self::Raw(bytes) => String::from_utf8_lossy(bytes).into_owned().into(),
            Self::Cancel { .. } | Self::Idle => Value::Null,
        }
    }
}

fn trimmed(raw: &[u8]) -> &[u8] {
    raw.strip_prefix("\u{feff}".as_bytes()).unwrap_or(raw)
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) if !other.is_null() => other.to_string(),
        _ => String::new(),
    }
}

/// Whether a value has everything that the recorded one has. Null counts as absent.
fn includes(got: &Value, wanted: &Value, redacted: bool) -> bool {
    match (got, wanted) {
        (Value::Object(got), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| {
            wanted.is_null()
                || is_made_up(key)
                || got.get(key).is_some_and(|got| includes(got, wanted, redacted))
        }),
        (Value::Array(got), Value::Array(wanted)) => {
            got.len() == wanted.len()
                && got.iter().zip(wanted).all(|(got, wanted)| includes(got, wanted, redacted))
        }
        (Value::Number(got), Value::Number(wanted)) => {
            got.as_f64() == wanted.as_f64() || (redacted && wanted.as_u64() == Some(0))
        }
        (Value::String(got), Value::String(wanted)) => same(got, wanted, redacted),
        _ => got == wanted,
    }
}

fn same(got: &str, wanted: &str, redacted: bool) -> bool {
    got == wanted || (redacted && is_masked(got, wanted))
}

/// Fields that differ in every run. MCP numbers its messages and names its programs.
pub(super) fn is_made_up(key: &str) -> bool {
    matches!(
        key,
        "uuid" | "session_id" | "protocolVersion" | "serverInfo" | "capabilities" | "_meta"
    )
}

/// The decision of an answer.
fn decided(body: &Value) -> Option<&Value> {
    body.get("behavior").or(body.get("action")).or(body.get("decision"))
}

/// Content as blocks: a text alone is one block.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => {
            let mut block = Map::new();
            block.insert("type".to_owned(), "text".into());
            block.insert("text".to_owned(), text.as_str().into());
            vec![Value::Object(block)]
        }
        other => vec![other.clone()],
    }
}

fn loosely(content: &Value) -> String {
    let texts = blocks(content);
    let texts = texts.iter().filter_map(|block| block.get("text")).filter_map(Value::as_str);
    let words = texts.flat_map(str::split_whitespace).map(str::to_lowercase);
    words.collect::<Vec<_>>().join(" ")
}
