//! JSON-RPC, as far as a server needs it: what a message is, and how it is answered.

use duologue_protocol::{RawObject, Text};
use serde_json::{Map, Value, json};

/// The message is no JSON that can be read.
pub(super) const PARSE_ERROR: i32 = -32700;
/// The message is no JSON-RPC request.
pub(super) const INVALID_REQUEST: i32 = -32600;
/// Nobody knows the method.
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters do not fit the method. MCP wants it for unknown tools, too.
pub(super) const INVALID_PARAMS: i32 = -32602;
/// The server failed.
pub(super) const INTERNAL_ERROR: i32 = -32603;
/// The request was withdrawn. JSON-RPC has no code for it; this is the one of LSP.
pub(super) const CANCELLED: i32 = -32800;

/// What a message of the agent is.
#[derive(Debug)]
pub(super) enum Incoming {
    Request { id: Value, method: Text },
    Notification { method: Text },
    Response,
    Invalid,
}

impl Incoming {
    pub(super) fn of(message: &RawObject) -> Self {
        let method = message.get("method").and_then(|method| method.as_str());
        match (message.get("id"), method) {
            (Some(id), Some(method)) => match id.to_value() {
                Ok(id @ (Value::String(_) | Value::Number(_))) => Self::Request { id, method },
                _ => Self::Invalid,
            },
            (None, Some(method)) => Self::Notification { method },
            (Some(_), None) => Self::Response,
            (None, None) => Self::Invalid,
        }
    }
}

/// The request that a `notifications/cancelled` is about.
pub(super) fn cancelled_request(message: &RawObject) -> Option<Value> {
    message.get("params")?.get("requestId")?.to_value().ok()
}

pub(super) fn result(id: &Value, result: Value) -> RawObject {
    answer(id, "result", result)
}

pub(super) fn error(id: &Value, code: i32, message: &str) -> RawObject {
    answer(id, "error", json!({ "code": code, "message": message }))
}

pub(super) fn invalid() -> RawObject {
    error(&Value::Null, INVALID_REQUEST, "This is neither a request nor a notification.")
}

pub(super) fn cancelled(id: &Value) -> RawObject {
    error(id, CANCELLED, "The request was withdrawn.")
}

/// What the agent gets for a notification, which has no response.
pub(super) fn acknowledgement() -> RawObject {
    let mut message = Map::new();
    message.insert("jsonrpc".to_owned(), "2.0".into());
    message.insert("result".to_owned(), json!({}));
    RawObject::from(message)
}

fn answer(id: &Value, field: &str, value: Value) -> RawObject {
    let mut message = Map::new();
    message.insert("jsonrpc".to_owned(), "2.0".into());
    message.insert("id".to_owned(), id.clone());
    message.insert(field.to_owned(), value);
    RawObject::from(message)
}
