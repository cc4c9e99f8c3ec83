//! [`rmcp`](rmcp()): servers of the official MCP SDK.
//!
//! `rmcp` runs a loop over a transport. This transport is two queues: messages of the agent wait for the loop
//! in a bounded channel; messages of the loop are responses to [`Calls`], or go to the [`Outbox`].

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use duologue_protocol::{RawObject, Text};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientCapabilities, ClientJsonRpcMessage,
    ClientNotification, ClientRequest, ErrorData, Implementation, InitializeRequest,
    InitializeRequestParams, JsonRpcMessage, ProtocolVersion, RequestId, ServerConfig,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, serve_directly};
use rmcp::transport::Transport;
use rmcp::{RoleServer, Service, serve_server};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::calls::Calls;
use super::connect::{BoxFuture, McpConnection, McpServer, Outbox, OutboxClosed};
use super::panics::catch_panic;
use super::result::failure;
use super::rpc::{self, Incoming};
use super::schema::misfit;

/// How many messages of the agent may wait for the loop.
const QUEUE: usize = 64;

/// Runs a new service over a transport until it ends.
type Run = dyn Fn(QueueTransport, Handshake) -> BoxFuture<()> + Send + Sync;

/// A server of the official MCP SDK. Made by [`rmcp`](rmcp()).
#[derive(Clone)]
pub struct Rmcp {
    name: Text,
    run: Arc<Run>,
}

/// Makes a server from a function that makes services of the official MCP SDK, such as `ServerHandler`s.
///
/// Each agent gets a service of its own, and a new one when it repeats the handshake; the previous service is
/// then cancelled. For a service that implements `Clone`: `move || service.clone()`.
///
/// When the agent cancels a request, `RequestContext::ct` is cancelled, as usual with `rmcp`. Messages that
/// the service sends through its `Peer` go to the agent. A panic in a handler becomes an error response.
/// `RequestContext::id` is a number of this library, not the agent's id.
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
    let run = move |transport: QueueTransport, handshake: Handshake| -> BoxFuture<()> {
        let service = Arc::clone(&service);
        Box::pin(async move {
            let may_block = transport.outbox.handlers_block;
            let service = CatchPanics { service: Arc::new(service()), may_block };
            let running = match handshake {
                Handshake::Expected => match serve_server(service, transport).await {
                    Ok(running) => running,
                    // Dropping the transport answers the open requests.
                    Err(_) => return,
                },
                Handshake::Done => serve_directly(service, transport, Some(assumed_client())),
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
    Expected,
    /// The agent did the handshake with an earlier service, or got a manifest.
    Done,
}

/// The client that is assumed where the agent does no handshake.
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
                let response = match incoming {
                    Incoming::Request { id, method } => {
                        Some(unreadable(&id, &method, &message, &error))
                    }
                    Incoming::Invalid => Some(rpc::invalid()),
                    Incoming::Notification | Incoming::Response => None,
                };
                return Box::pin(std::future::ready(response));
            }
        };
        match incoming {
            Incoming::Request { id, method } => {
                let handshake =
                    if method == "initialize" { Handshake::Expected } else { Handshake::Done };
                self.request(&id, parsed, handshake)
            }
            Incoming::Notification => {
                let (calls, to_service) = self.service(Handshake::Done);
                if let JsonRpcMessage::Notification(notification) = &parsed
                    && let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                {
                    cancel(&calls, &to_service, cancelled);
                    return Box::pin(std::future::ready(None));
                }
                deliver(to_service, parsed)
            }
            Incoming::Response => deliver(self.service(Handshake::Done).1, parsed),
            Incoming::Invalid => Box::pin(std::future::ready(Some(rpc::invalid()))),
        }
    }
}

/// The response to a request that is not valid JSON for `serde_json`, such as one with half a surrogate pair.
/// If only the arguments of a call are affected, the model reads what is wrong.
fn unreadable(
    id: &Value,
    method: &str,
    message: &RawObject,
    error: &serde_json::Error,
) -> RawObject {
    let has_arguments = message.get("params").and_then(|params| params.get("arguments")).is_some();
    if method == "tools/call"
        && has_arguments
        && let Ok(result) = serde_json::to_value(misfit(error))
    {
        return rpc::result(id, result);
    }
    rpc::error(id, rpc::PARSE_ERROR, &error.to_string())
}

impl Connection {
    fn request(
        &self,
        id: &Value,
        message: ClientJsonRpcMessage,
        handshake: Handshake,
    ) -> BoxFuture<Option<RawObject>> {
        let (calls, to_service) = self.service(handshake);
        let on_cancel = {
            let to_service = to_service.clone();
            move |number| send_cancel(to_service, number)
        };
        let mut call = match calls.open(id, on_cancel) {
            Ok(call) => call,
            Err(response) => return Box::pin(std::future::ready(Some(response))),
        };
        let message = match message {
            JsonRpcMessage::Request(mut request) => {
                request.id = RequestId::Number(call.number());
                if matches!(handshake, Handshake::Expected) {
                    request.request = lenient_initialize(request.request);
                }
                JsonRpcMessage::Request(request)
            }
            other => other,
        };
        let delivered = deliver(to_service, message);
        Box::pin(async move {
            delivered.await;
            Some(call.response().await)
        })
    }

    /// The running service. A new one is started if the agent begins the handshake.
    fn service(&self, handshake: Handshake) -> (Arc<Calls>, mpsc::Sender<ClientJsonRpcMessage>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(handshake, Handshake::Expected) {
            *running = None;
        }
        let running = running.get_or_insert_with(|| {
            let (to_service, from_agent) = mpsc::channel(QUEUE);
            let calls = Arc::new(Calls::default());
            let outbox = self.outbox.clone();
            let transport = QueueTransport { from_agent, calls: Arc::clone(&calls), outbox };
            let task = tokio::spawn((self.run)(transport, handshake)).abort_handle();
            Running { calls, to_service, task }
        });
        (Arc::clone(&running.calls), running.to_service.clone())
    }
}

/// Accepts an `initialize` with missing or malformed parameters.
fn lenient_initialize(request: ClientRequest) -> ClientRequest {
    let ClientRequest::CustomRequest(request) = request else { return request };
    let mut client = assumed_client();
    let version = request.params.as_ref().and_then(|params| params.get("protocolVersion"));
    if let Some(version) = version.and_then(|version| serde_json::from_value(version.clone()).ok())
    {
        client.protocol_version = version;
    }
    InitializeRequest::new(client).into()
}

/// Gives a message to the service: at once if there is room, so that messages keep their order.
fn deliver(
    to_service: mpsc::Sender<ClientJsonRpcMessage>,
    message: ClientJsonRpcMessage,
) -> BoxFuture<Option<RawObject>> {
    // A service that has ended closes its calls, which answers them.
    match to_service.try_send(message) {
        Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Box::pin(std::future::ready(None)),
        Err(mpsc::error::TrySendError::Full(message)) => Box::pin(async move {
            let _ = to_service.send(message).await;
            None
        }),
    }
}

/// The agent cancels a request by a notification.
fn cancel(
    calls: &Calls,
    to_service: &mpsc::Sender<ClientJsonRpcMessage>,
    cancelled: &CancelledNotification,
) {
    let Some(id) = cancelled.params.request_id.clone() else { return };
    let Some(number) = calls.number(&id.into_json_value()) else { return };
    calls.cancel(number);
    send_cancel(to_service.clone(), number);
}

/// Sends the service a notification that a request is cancelled.
fn send_cancel(to_service: mpsc::Sender<ClientJsonRpcMessage>, number: i64) {
    let reason = Some("cancelled by the agent".to_owned());
    let params = CancelledNotificationParam::new(Some(RequestId::Number(number)), reason);
    let notification = CancelledNotification::new(params);
    let message = JsonRpcMessage::notification(ClientNotification::from(notification));
    let delivered = deliver(to_service, message);
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(delivered);
    }
}

/// A running service. Dropping it cancels the service and its requests.
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
struct QueueTransport {
    from_agent: mpsc::Receiver<ClientJsonRpcMessage>,
    calls: Arc<Calls>,
    outbox: Outbox,
}

impl Transport<RoleServer> for QueueTransport {
    type Error = OutboxClosed;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), OutboxClosed>> + Send + 'static {
        let number = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let calls = Arc::clone(&self.calls);
        let outbox = self.outbox.clone();
        async move {
            match number {
                Some(RequestId::Number(number)) => calls.answer(number, |id| {
                    set_id(&mut message, id);
                    RawObject::of(&message).unwrap_or_else(|fault| {
                        let text = format!("The response is not valid JSON: {fault}");
                        rpc::error(id, rpc::INTERNAL_ERROR, &text)
                    })
                }),
                // No request of ours has such an id.
                Some(RequestId::String(_)) => {}
                None => {
                    if let Ok(message) = RawObject::of(&message) {
                        outbox.send(message).await?;
                    }
                }
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

/// Gives a response the agent's id.
fn set_id(message: &mut ServerJsonRpcMessage, id: &Value) {
    let Ok(id) = serde_json::from_value::<RequestId>(id.clone()) else { return };
    match message {
        JsonRpcMessage::Response(response) => response.id = id,
        JsonRpcMessage::Error(error) => error.id = Some(id),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
    }
}

impl Drop for QueueTransport {
    fn drop(&mut self) {
        self.calls.close();
    }
}

/// A service whose panics become responses: `rmcp` does not answer a request whose handler panics.
struct CatchPanics<S> {
    service: Arc<S>,
    /// Handlers may block, so each request runs on a thread of its own.
    may_block: bool,
}

impl<S: Service<RoleServer>> Service<RoleServer> for CatchPanics<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let is_call = matches!(request, ClientRequest::CallToolRequest(_));
        let service = Arc::clone(&self.service);
        let work = async move { catch_panic(|| service.handle_request(request, context)).await };
        let result = if self.may_block {
            let runtime = Handle::current();
            let thread = tokio::task::spawn_blocking(move || runtime.block_on(work));
            thread.await.unwrap_or_else(|error| Err(error.to_string()))
        } else {
            work.await
        };
        match result {
            Ok(result) => result,
            Err(message) if is_call => {
                Ok(ServerResult::CallToolResult(failure(format!("The tool panicked: {message}"))))
            }
            Err(message) => {
                Err(ErrorData::internal_error(format!("The server panicked: {message}"), None))
            }
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let handled = catch_panic(|| self.service.handle_notification(notification, context));
        handled.await.unwrap_or(Ok(()))
    }

    fn get_info(&self) -> ServerConfig {
        self.service.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.service.supported_protocol_versions()
    }
}
