//! [`rmcp`](rmcp()): servers of the official MCP SDK.
//!
//! `rmcp` runs a loop over a transport. Ours is two queues: what the agent says waits for the loop in a
//! bounded channel; what the loop says is an answer to one of the [`Calls`], or goes to the [`Outbox`].

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use duologue_protocol::{RawObject, Text};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientCapabilities, ClientJsonRpcMessage,
    ClientNotification, ClientRequest, ErrorData, Implementation, InitializeRequestParams,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerConfig, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, serve_directly};
use rmcp::transport::Transport;
use rmcp::{RoleServer, Service, serve_server};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::calls::Calls;
use super::connect::{BoxFuture, McpConnection, McpServer, Outbox, OutboxClosed};
use super::panics::caught;
use super::result::failure;
use super::rpc::{self, Incoming};

/// How many messages of the agent may wait for the loop.
const WAITING: usize = 64;

/// Runs a fresh service over a wire until it ends.
type Run = dyn Fn(Wire, Handshake) -> BoxFuture<()> + Send + Sync;

/// A server of the official MCP SDK. Made by [`rmcp`](rmcp()).
#[derive(Clone)]
pub struct Rmcp {
    name: Text,
    run: Arc<Run>,
}

/// Makes a server of whatever makes services of the official MCP SDK: `ServerHandler`s and the like.
///
/// A service is made for each agent, and again when an agent repeats the handshake; the one before is
/// then cancelled. For a service that can be cloned: `move || service.clone()`.
///
/// A request that the agent withdraws is cancelled the way of `rmcp`: its `RequestContext::ct` is. What
/// the service says through its `Peer` goes to the agent.
///
/// ```
/// use duologue::mcp;
/// use rmcp::ServerHandler;
///
/// #[derive(Clone)]
/// struct Quiet;
///
/// impl ServerHandler for Quiet {}
///
/// let server = mcp::rmcp("quiet", || Quiet);
/// ```
pub fn rmcp<F, S>(name: impl Into<Text>, service: F) -> Rmcp
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Service<RoleServer>,
{
    let service = Arc::new(service);
    let run = move |wire: Wire, handshake: Handshake| -> BoxFuture<()> {
        let service = Arc::clone(&service);
        Box::pin(async move {
            let service = Guarded(service());
            let running = match handshake {
                Handshake::Follows => match serve_server(service, wire).await {
                    Ok(running) => running,
                    // The wire is dropped, and whoever waits at it is told.
                    Err(_) => return,
                },
                Handshake::Done => serve_directly(service, wire, Some(assumed_client())),
            };
            let _ = running.waiting().await;
        })
    };
    Rmcp { name: name.into(), run: Arc::new(run) }
}

impl McpServer for Rmcp {
    fn name(&self) -> &str {
        &self.name
    }

    fn connect(&self, outbox: Outbox) -> Arc<dyn McpConnection> {
        Arc::new(Connection { run: Arc::clone(&self.run), outbox, running: Mutex::default() })
    }
}

impl fmt::Debug for Rmcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rmcp").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether the agent does the handshake with this service.
#[derive(Clone, Copy, Debug)]
enum Handshake {
    Follows,
    /// It did it with a service before this one, or was sent the manifest of one.
    Done,
}

/// What is assumed of an agent that does no handshake.
fn assumed_client() -> InitializeRequestParams {
    let client = Implementation::new("claude-code", "unknown");
    InitializeRequestParams::new(ClientCapabilities::default(), client)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

struct Connection {
    run: Arc<Run>,
    outbox: Outbox,
    running: Mutex<Option<Running>>,
}

impl McpConnection for Connection {
    fn handle(&self, message: RawObject) -> BoxFuture<Option<RawObject>> {
        let incoming = Incoming::of(&message);
        let parsed = match serde_json::from_str::<ClientJsonRpcMessage>(message.as_json()) {
            Ok(parsed) => parsed,
            Err(error) => {
                let answer = match incoming {
                    Incoming::Request { id, .. } => {
                        Some(rpc::error(&id, rpc::PARSE_ERROR, &error.to_string()))
                    }
                    Incoming::Invalid => Some(rpc::invalid()),
                    Incoming::Notification { .. } | Incoming::Response => None,
                };
                return Box::pin(std::future::ready(answer));
            }
        };
        match incoming {
            Incoming::Request { id, method } => {
                let handshake =
                    if method == "initialize" { Handshake::Follows } else { Handshake::Done };
                self.request(&id, parsed, handshake)
            }
            Incoming::Notification { method } => {
                let (calls, to_service) = self.service(Handshake::Done);
                if method == "notifications/cancelled"
                    && let Some(id) = rpc::cancelled_request(&message)
                {
                    calls.cancel(&id);
                }
                deliver(to_service, parsed)
            }
            Incoming::Response => deliver(self.service(Handshake::Done).1, parsed),
            Incoming::Invalid => Box::pin(std::future::ready(Some(rpc::invalid()))),
        }
    }
}

impl Connection {
    fn request(
        &self,
        id: &Value,
        message: ClientJsonRpcMessage,
        handshake: Handshake,
    ) -> BoxFuture<Option<RawObject>> {
        let (calls, to_service) = self.service(handshake);
        let withdraw = {
            let (to_service, id) = (to_service.clone(), id.clone());
            move || withdraw(to_service, id)
        };
        let mut call = match calls.open(id, withdraw) {
            Ok(call) => call,
            Err(answer) => return Box::pin(std::future::ready(Some(answer))),
        };
        let delivered = deliver(to_service, message);
        Box::pin(async move {
            delivered.await;
            Some(call.answered().await)
        })
    }

    /// The service that runs, which is a new one if the agent begins the handshake.
    fn service(&self, handshake: Handshake) -> (Arc<Calls>, mpsc::Sender<ClientJsonRpcMessage>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(handshake, Handshake::Follows) {
            *running = None;
        }
        let running = running.get_or_insert_with(|| {
            let (to_service, from_agent) = mpsc::channel(WAITING);
            let calls = Arc::new(Calls::default());
            let wire = Wire { from_agent, calls: Arc::clone(&calls), outbox: self.outbox.clone() };
            let task = tokio::spawn((self.run)(wire, handshake)).abort_handle();
            Running { calls, to_service, task }
        });
        (Arc::clone(&running.calls), running.to_service.clone())
    }
}

/// Gives a message to the service: at once if there is room, so that messages keep their order.
fn deliver(
    to_service: mpsc::Sender<ClientJsonRpcMessage>,
    message: ClientJsonRpcMessage,
) -> BoxFuture<Option<RawObject>> {
    // A service that has ended closes its calls, and they tell.
    match to_service.try_send(message) {
        Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Box::pin(std::future::ready(None)),
        Err(mpsc::error::TrySendError::Full(message)) => Box::pin(async move {
            let _ = to_service.send(message).await;
            None
        }),
    }
}

/// Tells the service that a request is no longer wanted.
fn withdraw(to_service: mpsc::Sender<ClientJsonRpcMessage>, id: Value) {
    let Ok(id) = serde_json::from_value::<RequestId>(id) else { return };
    let params = CancelledNotificationParam::new(Some(id), Some("withdrawn".to_owned()));
    let notification = CancelledNotification::new(params);
    let message = JsonRpcMessage::notification(ClientNotification::from(notification));
    let delivered = deliver(to_service, message);
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(delivered);
    }
}

/// A service at work. Dropping it cancels the service and all it works on.
struct Running {
    calls: Arc<Calls>,
    to_service: mpsc::Sender<ClientJsonRpcMessage>,
    task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.calls.close();
        self.task.abort();
    }
}

/// The service's end of the two queues.
struct Wire {
    from_agent: mpsc::Receiver<ClientJsonRpcMessage>,
    calls: Arc<Calls>,
    outbox: Outbox,
}

impl Transport<RoleServer> for Wire {
    type Error = OutboxClosed;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), OutboxClosed>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let calls = Arc::clone(&self.calls);
        let outbox = self.outbox.clone();
        async move {
            let written = RawObject::of(&message);
            match (id.map(RequestId::into_json_value), written) {
                (Some(id), Ok(answer)) => calls.answer(&id, answer),
                (Some(id), Err(fault)) => {
                    let message = format!("The answer cannot be written: {fault}");
                    calls.answer(&id, rpc::error(&id, rpc::INTERNAL_ERROR, &message));
                }
                (None, Ok(message)) => outbox.send(message).await?,
                (None, Err(_)) => {}
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.from_agent.recv().await
    }

    async fn close(&mut self) -> Result<(), OutboxClosed> {
        self.from_agent.close();
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.calls.close();
    }
}

/// A service whose panics are answers: `rmcp` gives none to a request whose handler panics.
struct Guarded<S>(S);

impl<S: Service<RoleServer>> Service<RoleServer> for Guarded<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let is_call = matches!(request, ClientRequest::CallToolRequest(_));
        match caught(|| self.0.handle_request(request, context)).await {
            Ok(result) => result,
            Err(said) if is_call => {
                Ok(ServerResult::CallToolResult(failure(format!("The tool panicked: {said}"))))
            }
            Err(said) => {
                Err(ErrorData::internal_error(format!("The server panicked: {said}"), None))
            }
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        caught(|| self.0.handle_notification(notification, context)).await.unwrap_or(Ok(()))
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }
}
