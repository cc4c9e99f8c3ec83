//! [`raw`]: a function from JSON-RPC to JSON-RPC as a server.

use std::fmt;
use std::sync::Arc;

use duologue_protocol::{RawObject, Text};

use super::connect::{BoxFuture, McpConnection, McpServer, Outbox};
use super::panics::catch_panic;
use super::rpc;

type Handler = dyn Fn(RawObject) -> BoxFuture<Option<RawObject>> + Send + Sync;

/// A server implemented by one function. Made by [`raw`].
#[derive(Clone)]
pub struct Raw {
    name: Text,
    handler: Arc<Handler>,
}

/// Makes a server from a function. It gets every JSON-RPC message of the agent, including `initialize` and
/// notifications, and returns the response to each request.
///
/// If it panics, or returns no response to a request, the agent gets an error.
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
            let id = rpc::request_id(&message);
            let response = catch_panic(|| handler(message)).await;
            let Some(id) = id else {
                return response.unwrap_or_default();
            };
            Some(match response {
                Ok(Some(response)) => response,
                Ok(None) => {
                    rpc::error(&id, rpc::METHOD_NOT_FOUND, "The server returned no response.")
                }
                Err(message) => {
                    rpc::error(&id, rpc::INTERNAL_ERROR, &format!("The server panicked: {message}"))
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
