//! The JSON-RPC that a server needs: classifying messages and writing responses.

use duologue_protocol::RawObject;
#[cfg(feature = "mcp")]
use duologue_protocol::Text;
use serde_json::{Map, Value, json};

pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INTERNAL_ERROR: i32 = -32603;
#[cfg(feature = "mcp")]
pub(super) const PARSE_ERROR: i32 = -32700;
#[cfg(feature = "mcp")]
pub(super) const INVALID_REQUEST: i32 = -32600;

/// The id of a message that is a request.
pub(super) fn request_id(message: &RawObject) -> Option<Value> {
    message.get("method")?.as_str()?;
    let id = message.get("id")?.to_value().ok()?;
    (id.is_string() || id.is_number()).then_some(id)
}

/// The kind of a message of the agent.
#[cfg(feature = "mcp")]
#[derive(Debug)]
pub(super) enum Incoming {
    Request { id: Value, method: Text },
    Notification,
    Response,
    Invalid,
}

#[cfg(feature = "mcp")]
impl Incoming {
    pub(super) fn of(message: &RawObject) -> Self {
        let method = message.get("method").and_then(|method| method.as_str());
        match (message.get("id"), method) {
            (Some(_), Some(method)) => match request_id(message) {
                Some(id) => Self::Request { id, method },
                None => Self::Invalid,
            },
            (None, Some(_)) => Self::Notification,
            (Some(_), None) => Self::Response,
            (None, None) => Self::Invalid,
        }
    }
}

#[cfg(feature = "mcp")]
pub(super) fn result(id: &Value, result: Value) -> RawObject {
    response(id, "result", result)
}

pub(super) fn error(id: &Value, code: i32, message: &str) -> RawObject {
    response(id, "error", json!({ "code": code, "message": message }))
}

#[cfg(feature = "mcp")]
pub(super) fn invalid() -> RawObject {
    error(&Value::Null, INVALID_REQUEST, "This is neither a request nor a notification.")
}

/// What the agent gets for a notification, which has no response.
pub(super) fn acknowledgement() -> RawObject {
    let mut message = Map::new();
    message.insert("jsonrpc".to_owned(), "2.0".into());
    message.insert("result".to_owned(), json!({}));
    RawObject::from(message)
}

fn response(id: &Value, field: &str, value: Value) -> RawObject {
    let mut message = Map::new();
    message.insert("jsonrpc".to_owned(), "2.0".into());
    message.insert("id".to_owned(), id.clone());
    message.insert(field.to_owned(), value);
    RawObject::from(message)
}
