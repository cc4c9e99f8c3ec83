//! [`McpServer`]: what a session serves, and [`McpConnection`]: one agent that is served.

use std::pin::Pin;
use std::sync::Arc;

use duologue_protocol::RawObject;
use duologue_protocol::control::McpMessageReply;
use tokio::sync::mpsc;

use super::rpc;

/// A future on the heap that owns what it needs, so that it may be spawned.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An MCP server in the host. It may serve any number of agents, each by a connection of its own.
///
/// ```
/// use std::sync::Arc;
///
/// use duologue::mcp::{BoxFuture, McpConnection, McpServer, Outbox};
/// use duologue_protocol::RawObject;
///
/// /// Tells the agent that its tools have changed whenever it hears anything.
/// struct Restless;
///
/// struct Connection(Outbox);
///
/// impl McpServer for Restless {
///     fn name(&self) -> &str {
///         "restless"
///     }
///
///     fn connect(&self, outbox: Outbox) -> Arc<dyn McpConnection> {
///         Arc::new(Connection(outbox))
///     }
/// }
///
/// impl McpConnection for Connection {
///     fn handle(&self, _: RawObject) -> BoxFuture<Option<RawObject>> {
///         let outbox = self.0.clone();
///         Box::pin(async move {
///             let changed = r#"{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}"#;
///             let message = duologue_protocol::RawJson::parse(changed).ok()?.read().ok()?;
///             outbox.send(message).await.ok();
///             None
///         })
///     }
/// }
/// ```
pub trait McpServer: Send + Sync + 'static {
    /// The name under which the agent knows it: its tools are `mcp__<name>__<tool>`.
    fn name(&self) -> &str;

    /// Begins to serve an agent: one call for each agent process. What the server wants to say by
    /// itself goes to the outbox. Call it within a tokio runtime.
    fn connect(&self, outbox: Outbox) -> Arc<dyn McpConnection>;
}

/// An agent that is served. Dropping it ends the service.
pub trait McpConnection: Send + Sync + 'static {
    /// Takes a JSON-RPC message of the agent: a request, a notification, or the response to a request
    /// of the server. Messages count in the order of these calls, whenever the futures are polled. Call
    /// it within a tokio runtime.
    ///
    /// A request gets exactly one response, whose id is that of the request. Anything else gets `None`.
    /// Dropping the future withdraws the request: the server stops working on it.
    fn handle(&self, message: RawObject) -> BoxFuture<Option<RawObject>>;
}

impl<T: McpServer + ?Sized> McpServer for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn connect(&self, outbox: Outbox) -> Arc<dyn McpConnection> {
        (**self).connect(outbox)
    }
}

impl<T: McpServer + ?Sized> McpServer for Box<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn connect(&self, outbox: Outbox) -> Arc<dyn McpConnection> {
        (**self).connect(outbox)
    }
}

/// Takes what a server says by itself: its notifications and requests, each a JSON-RPC message. It
/// holds a limited number of messages; who says more waits. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Outbox {
    messages: mpsc::Sender<RawObject>,
}

/// Nobody takes messages from the outbox any more: the agent is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent is gone")]
#[non_exhaustive]
pub struct OutboxClosed;

impl Outbox {
    /// An outbox, and the end at which the session takes the messages.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<RawObject>) {
        let (messages, taken) = mpsc::channel(capacity.max(1));
        (Self { messages }, taken)
    }

    /// An outbox from which nobody takes anything.
    pub fn closed() -> Self {
        Self::channel(1).0
    }

    /// Hands over a message, once there is room for it.
    ///
    /// # Errors
    /// If the agent is gone.
    pub async fn send(&self, message: RawObject) -> Result<(), OutboxClosed> {
        self.messages.send(message).await.map_err(|_| OutboxClosed)
    }
}

/// What an `mcp_message` request is answered with, given what [`McpConnection::handle`] gave. The agent
/// waits for an answer to notifications too; they get an empty one.
///
/// ```
/// let reply = duologue::mcp::reply(None);
/// assert_eq!(reply.mcp_response.value().unwrap().as_json(), r#"{"jsonrpc":"2.0","result":{}}"#);
/// ```
pub fn reply(response: Option<RawObject>) -> McpMessageReply {
    McpMessageReply::new().mcp_response(response.unwrap_or_else(rpc::acknowledgement))
}
