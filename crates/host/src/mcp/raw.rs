//! [`raw`]: a server that is a function from JSON-RPC to JSON-RPC.

use std::fmt;
use std::sync::Arc;

use duologue_protocol::{RawObject, Text};

use super::connect::{BoxFuture, McpConnection, McpServer, Outbox};
use super::panics::caught;
use super::rpc::{self, Incoming};

type Handler = dyn Fn(RawObject) -> BoxFuture<Option<RawObject>> + Send + Sync;

/// A server that is one function. Made by [`raw`].
#[derive(Clone)]
pub struct Raw {
    name: Text,
    handler: Arc<Handler>,
}

/// Makes a server of a function that takes every JSON-RPC message of the agent, `initialize` and
/// notifications too, and gives the response to those that are requests.
///
/// If it panics, or has no response to a request, the agent gets an error.
///
/// ```
/// use duologue::mcp;
/// use duologue_protocol::RawObject;
/// use serde_json::json;
///
/// let server = mcp::raw("echo", |message: RawObject| async move {
///     let id = message.get("id")?.to_value().ok()?;
///     RawObject::of(&json!({ "jsonrpc": "2.0", "id": id, "result": {} })).ok()
/// });
/// ```
pub fn raw<F, Fut>(name: impl Into<Text>, handler: F) -> Raw
where
    F: Fn(RawObject) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Option<RawObject>> + Send + 'static,
{
    let handler = Arc::new(handler);
    let handler = move |message: RawObject| -> BoxFuture<Option<RawObject>> {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let incoming = Incoming::of(&message);
            let response = caught(|| handler(message)).await;
            let Incoming::Request { id, .. } = incoming else {
                return response.unwrap_or_default();
            };
            Some(match response {
                Ok(Some(response)) => response,
                Ok(None) => rpc::error(&id, rpc::METHOD_NOT_FOUND, "The server has no answer."),
                Err(said) => {
                    rpc::error(&id, rpc::INTERNAL_ERROR, &format!("The server panicked: {said}"))
                }
            })
        })
    };
    Raw { name: name.into(), handler: Arc::new(handler) }
}

impl McpServer for Raw {
    fn name(&self) -> &str {
        &self.name
    }

    fn connect(&self, _: Outbox) -> Arc<dyn McpConnection> {
        Arc::new(self.clone())
    }
}

impl McpConnection for Raw {
    fn handle(&self, message: RawObject) -> BoxFuture<Option<RawObject>> {
        (self.handler)(message)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").field("name", &self.name).finish_non_exhaustive()
    }
}
