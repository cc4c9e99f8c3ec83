//! [`McpServer`]: what a session serves, and [`McpConnection`]: one agent that is served.

use std::pin::Pin;
use std::sync::Arc;

use duologue_protocol::RawObject;
use duologue_protocol::control::McpMessageReply;
use tokio::sync::mpsc;

use super::rpc;

/// A boxed future that can be spawned.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An MCP server in the host. It can serve any number of agents, each with a connection of its own.
///
/// ```
/// use std::sync::Arc;
///
/// use duologue::mcp::{BoxFuture, McpConnection, McpServer, Outbox};
/// use duologue_protocol::RawObject;
///
/// /// Answers each message with a notification that the tools have changed.
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
    /// The server's name. Its tools are named `mcp__<name>__<tool>`.
    fn name(&self) -> &str;

    /// Begins to serve an agent. A session calls it once for each agent process, within a tokio runtime.
    /// The outbox takes the server's own notifications and requests.
    fn connect(&self, outbox: Outbox) -> Arc<dyn McpConnection>;
}

/// A connection between a server and one agent. Dropping it ends the service.
pub trait McpConnection: Send + Sync + 'static {
    /// Takes a JSON-RPC message of the agent: a request, a notification, or the response to a request
    /// of the server. The order of messages is the order of these calls, whenever the futures are polled.
    /// Call it within a tokio runtime.
    ///
    /// A request gets exactly one response, with the id of the request. Anything else gets `None`.
    /// Dropping the future cancels the request: the server stops working on it.
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

/// Takes the notifications and requests that a server sends on its own, each a JSON-RPC message. It holds a
/// limited number of messages; [`send`](Self::send) waits when it is full. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Outbox {
    messages: mpsc::Sender<RawObject>,
    /// Handlers of this session may block their thread.
    pub(crate) handlers_block: bool,
}

/// The outbox takes no more messages, because the agent is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent is gone")]
#[non_exhaustive]
pub struct OutboxClosed;

impl Outbox {
    /// Creates an outbox and the receiver of its messages.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<RawObject>) {
        let (messages, taken) = mpsc::channel(capacity.max(1));
        (Self { messages, handlers_block: false }, taken)
    }

    /// Creates an outbox without a receiver: every message is refused.
    pub fn closed() -> Self {
        Self::channel(1).0
    }

    /// Sends a message, and waits for room if the outbox is full. Cancel safe.
    ///
    /// # Errors
    /// If the agent is gone.
    pub async fn send(&self, message: RawObject) -> Result<(), OutboxClosed> {
        self.messages.send(message).await.map_err(|_| OutboxClosed)
    }
}

/// The reply to an `mcp_message` request, given what [`McpConnection::handle`] returned. The agent also waits
/// for replies to notifications; they get an empty one.
///
/// ```
/// let reply = duologue::mcp::reply(None);
/// assert_eq!(reply.mcp_response.value().unwrap().as_json(), r#"{"jsonrpc":"2.0","result":{}}"#);
/// ```
pub fn reply(response: Option<RawObject>) -> McpMessageReply {
    McpMessageReply::new().mcp_response(response.unwrap_or_else(rpc::acknowledgement))
}
