//! [`serve`]: one client, from its first line to its last.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    AuthenticateRequest, CancelNotification, CloseSessionRequest, DeleteSessionRequest,
    ForkSessionRequest, InitializeRequest, ListSessionsRequest, LoadSessionRequest, LogoutRequest,
    NewSessionRequest, PromptRequest, PromptResponse, ResumeSessionRequest,
    SetSessionConfigOptionRequest, SetSessionModeRequest, SetSessionTitleRequest, StopReason,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Channel, Client as ClientRole, Error, JsonRpcResponse, on_receive_notification,
    on_receive_request,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::bridge::{Bridge, Opened};
use crate::error::ServeError;
use crate::options::Options;
use crate::transport::{self, Gate};

/// Serves one client until it closes its end. All agents have ended when it returns.
///
/// Dropping the future ends the agents too, without waiting for them.
///
/// ```no_run
/// # async fn example() -> Result<(), duologue_acp::ServeError> {
/// use duologue::Session;
/// use duologue_acp::{Options, serve};
///
/// let options = Options::new(Session::builder);
/// serve(options, tokio::io::stdin(), tokio::io::stdout()).await
/// # }
/// ```
///
/// # Errors
/// If the client cannot be read or written. A client that closes its end is not an error.
pub async fn serve<R, W>(options: Options, reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let gate = Arc::new(Gate::new());
    let (max_line, on_line) = (options.max_line, options.on_line.clone());
    let bridge = Arc::new(Bridge::new(options, Arc::clone(&gate)));
    let _abandon = AbandonOnDrop(Arc::clone(&bridge), Arc::clone(&gate));
    let (ours, theirs) = Channel::duplex();
    let connection = connect(Arc::clone(&bridge), theirs);
    let driving = transport::drive(reader, writer, ours, Arc::clone(&gate), max_line, on_line);
    let (mut connection, mut driving) = (std::pin::pin!(connection), std::pin::pin!(driving));
    let result = tokio::select! {
        // The client is gone, or cannot be written. The other half ends with the channel.
        driven = &mut driving => driven.map_err(ServeError::from),
        ended = &mut connection => {
            gate.close();
            let ended = ended.map_err(|error| ServeError::Protocol(error.to_string()));
            // What was answered is written, unless the client does not read.
            let _ = tokio::time::timeout(FLUSH_WITHIN, driving).await;
            ended
        }
    };
    gate.close();
    bridge.shut_down().await;
    match result {
        Err(ServeError::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Ends the sessions if the future is dropped.
struct AbandonOnDrop(Arc<Bridge>, Arc<Gate>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.1.close();
        self.0.abandon();
    }
}

/// How long the last lines may take.
const FLUSH_WITHIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Answers a request in a task of its own, so that the next message is read meanwhile.
fn answer<T: JsonRpcResponse>(
    responder: Responder<T>,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) {
    tokio::spawn(async move {
        let cancellation = responder.cancellation();
        let result = cancellation.run_until_cancelled(work).await;
        // An error means that the connection has ended.
        let _ = responder.respond_with_result(result);
    });
}

/// Answers a request that opens a session. Its updates follow the answer.
fn open<T: JsonRpcResponse>(
    responder: Responder<T>,
    work: impl Future<Output = Result<(T, Opened), Error>> + Send + 'static,
) {
    tokio::spawn(async move {
        match work.await {
            Ok((response, opened)) => {
                let _ = responder.respond(response);
                opened.begin();
            }
            Err(error) => {
                let _ = responder.respond_with_error(error);
            }
        }
    });
}

/// Answers a prompt with its one stop reason.
fn answer_prompt(
    bridge: &Bridge,
    request: PromptRequest,
    responder: Responder<PromptResponse>,
) -> Result<(), Error> {
    let (session, mut answer) = match bridge.prompt(request) {
        Ok(queued) => queued,
        Err(error) => return responder.respond_with_error(error),
    };
    tokio::spawn(async move {
        let cancellation = responder.cancellation();
        let answered = tokio::select! {
            answered = &mut answer => answered,
            () = cancellation.cancelled() => {
                session.cancel();
                answer.await
            }
        };
        // Without an answer, the session was closed.
        let result = answered.unwrap_or_else(|_| Ok(PromptResponse::new(StopReason::Cancelled)));
        let _ = responder.respond_with_result(result);
    });
    Ok(())
}

/// Runs the protocol on a channel.
async fn connect(bridge: Arc<Bridge>, channel: Channel) -> Result<(), Error> {
    type To = ConnectionTo<ClientRole>;
    let of = || Arc::clone(&bridge);
    let (initialize, authenticate, logout) = (of(), of(), of());
    let (new, load, resume, fork) = (of(), of(), of(), of());
    let (prompt, cancel, close, list, delete) = (of(), of(), of(), of(), of());
    let (mode, option, title, closing) = (of(), of(), of(), of());
    Agent
        .v1()
        .name("duologue")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _: To| {
                responder.respond(initialize.initialize(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: AuthenticateRequest, responder, _: To| {
                responder.respond_with_result(authenticate.authenticate(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: LogoutRequest, responder, _: To| {
                let bridge = Arc::clone(&logout);
                answer(responder, async move { bridge.logout().await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, connection: To| {
                let bridge = Arc::clone(&new);
                open(responder, async move { bridge.new_session(request, connection).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, connection: To| {
                let bridge = Arc::clone(&load);
                open(responder, async move { bridge.load(request, connection).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, connection: To| {
                let bridge = Arc::clone(&resume);
                open(responder, async move { bridge.resume(request, connection).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ForkSessionRequest, responder, connection: To| {
                let bridge = Arc::clone(&fork);
                open(responder, async move { bridge.fork(request, connection).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _: To| {
                answer_prompt(&prompt, request, responder)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: CancelNotification, _: To| {
                cancel.cancel(&request.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _: To| {
                let bridge = Arc::clone(&mode);
                answer(responder, async move { bridge.set_mode(request).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionConfigOptionRequest, responder, _: To| {
                let bridge = Arc::clone(&option);
                answer(responder, async move { bridge.set_config_option(request).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionTitleRequest, responder, _: To| {
                let bridge = Arc::clone(&title);
                answer(responder, async move { bridge.set_title(request).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, _: To| {
                let bridge = Arc::clone(&list);
                answer(responder, async move { bridge.list(request).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: DeleteSessionRequest, responder, _: To| {
                let bridge = Arc::clone(&delete);
                answer(responder, async move { bridge.delete(&request.session_id.0).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _: To| {
                let bridge = Arc::clone(&close);
                answer(responder, async move { bridge.close(&request.session_id.0).await });
                Ok(())
            },
            on_receive_request!(),
        )
        .connect_with(channel, async move |connection: To| {
            connection.incoming_closed().await;
            // Prompts that run are answered while their sessions end.
            closing.shut_down().await;
            Ok(())
        })
        .await
}
