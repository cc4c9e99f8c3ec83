//! One run of the agent: start it, initialize it, and handle its end.

use std::collections::HashMap;
use std::sync::Arc;

use duologue_protocol::control::{ControlRequest as _, McpMessage, SetPermissionMode};
use duologue_protocol::launch::{CliVersion, Conversation, Launch, LaunchPlan};
use duologue_protocol::{RawObject, Text};
use tokio::task::JoinHandle;

use crate::dispatch::{Options, RunEnd, connect};
use crate::error::Error;
use crate::handlers::{BoxFuture, Server, boxed};
use crate::mcp::{McpConnection, Outbox};
use crate::timeouts::{MCP_FORWARD, RESPAWN_DELAY, RESUME_CHECK};
use crate::transport::{Connection, ReadHalf, WriteHalf};

use super::config::Handshake;
use super::inner::{Inner, Live, Phase, Stop, lock};
use super::{recycle, stagger, watchdog};

/// How many messages of an MCP server may wait for the agent.
const OUTBOX: usize = 64;

/// Versions before this one may answer the handshake before they look for the conversation.
const CHECKS_RESUME_FIRST: CliVersion = CliVersion::new(2, 1, 197);

const NEW_CONVERSATION: &str = "there is no such conversation: a new one is started";

/// Starts the agent and initializes it. When this returns, the session can be used.
pub(crate) async fn start(inner: &Arc<Inner>) -> Result<(), Error> {
    let config = &inner.config;
    let reopens = inner.transport.reopens();
    let mut launch = config.launch.clone();
    let mut fallback = launch.fallback().filter(|_| reopens);
    let mut failures = 0;
    let mut number = 0;
    let result = loop {
        number += 1;
        if reopens {
            stagger::wait(config.start_stagger).await;
        }
        match start_run(inner, &launch, number).await {
            Err(Error::Gone(gone)) if gone.is_unknown_conversation() => match fallback.take() {
                Some(next) => {
                    inner.notice(NEW_CONVERSATION.to_owned());
                    launch = next;
                }
                None => break Err(Error::Gone(gone)),
            },
            Err(error)
                if reopens && error.is_transient() && failures + 1 < config.start_attempts =>
            {
                inner.notice(format!("the agent is started again: {error}"));
                tokio::time::sleep(RESPAWN_DELAY * 2_u32.saturating_pow(failures.min(6))).await;
                failures += 1;
            }
            other => break other,
        }
    };
    if let Err(error) = &result {
        inner.phase.send_replace(Phase::Over(error.clone()));
    }
    result
}

/// The run is initialized: it is used from now on, unless it has ended since.
fn go_live(inner: &Inner, live: Live) -> Result<(), Error> {
    let _transition = lock(&inner.transition);
    if let (number, Some(error)) = &*inner.ended.borrow()
        && *number >= live.number
    {
        return Err(error.clone());
    }
    if inner.is_closing() {
        live.remote.kill();
        return Err(Error::Closed);
    }
    inner.mark_begun();
    inner.phase.send_replace(Phase::Live(live));
    Ok(())
}

/// Ends a run that does not go live: it was not initialized, or the future that started it was dropped.
struct KillStarting<'i>(&'i Inner);

impl Drop for KillStarting<'_> {
    fn drop(&mut self) {
        self.0.kill_starting();
    }
}

/// Opens a connection and initializes the agent.
async fn start_run(inner: &Arc<Inner>, launch: &Launch, number: u64) -> Result<(), Error> {
    let plan = launch.plan(inner.version.as_ref())?;
    let is_first_process = number == 1 && inner.transport.reopens();
    for option in plan.unheeded.iter().filter(|_| is_first_process) {
        let version = inner.version.map(|version| version.to_string()).unwrap_or_default();
        inner.notice(format!("Claude Code {version} does not heed the option {option}"));
    }
    let (reader, writer, connection) = inner.transport.open(&inner.config, &plan)?;
    if let Some(notice) = connection.notice().filter(|_| number == 1) {
        inner.notice(notice.to_owned());
    }
    let (live, dispatcher) = attach(inner, number, reader, writer, &connection);
    let _kill_starting = KillStarting(inner);
    tokio::spawn(supervise(Arc::clone(inner), live.clone(), connection, dispatcher));
    initialize(inner, &live, &plan).await?;
    apply_again(inner, &live).await?;
    if launch.fallback().is_some()
        && inner.transport.reopens()
        && inner.version.is_some_and(|version| version < CHECKS_RESUME_FIRST)
    {
        let ended = inner.why_ended(number);
        if let Ok(error) = tokio::time::timeout(RESUME_CHECK, ended).await {
            return Err(error);
        }
    }
    go_live(inner, live)
}

/// Starts the dispatcher of a run, and everything that serves the agent.
fn attach(
    inner: &Arc<Inner>,
    number: u64,
    reader: ReadHalf,
    writer: WriteHalf,
    connection: &Connection,
) -> (Live, JoinHandle<()>) {
    let config = &inner.config;
    let options = Options {
        max_line: config.max_line,
        serial: config.serial,
        watch_tools: config.watchdog.watches(),
        legacy: config.legacy,
        tap: config.tap.clone(),
        ..Options::default()
    };
    let (router, drained) = (Arc::clone(&inner.router), Arc::clone(&inner.drained));
    let (link, asks, dispatcher) = connect(reader, writer, router, drained, options);
    let dispatcher = tokio::spawn(dispatcher.run());
    let live = Live { number, link: link.clone(), remote: connection.remote(&link) };
    let mut mcp: HashMap<String, Arc<dyn McpConnection>> = HashMap::new();
    for server in inner.handlers.mcp_servers() {
        let (mut outbox, messages) = Outbox::channel(OUTBOX);
        outbox.handlers_block = config.handlers_block;
        let name = Text::from(server.name());
        mcp.insert(server.name().to_owned(), server.connect(outbox));
        tokio::spawn(forward(live.clone(), name, messages));
    }
    let (handlers, left_open) = (Arc::clone(&inner.handlers), Arc::clone(&inner.left_open));
    let threads = config.handlers_block;
    tokio::spawn(Server { handlers, left_open, link, mcp, threads }.run(asks));
    if config.watchdog.watches() {
        tokio::spawn(watchdog::watch(Arc::clone(inner), live.clone()));
    }
    if let Some(limit) = config.recycle_above {
        tokio::spawn(recycle::watch(Arc::clone(inner), live.clone(), limit));
    }
    inner.begin(&live);
    (live, dispatcher)
}

/// Sends the messages to the agent that an MCP server sends by itself.
async fn forward(live: Live, server: Text, mut messages: tokio::sync::mpsc::Receiver<RawObject>) {
    while let Some(message) = messages.recv().await {
        let message = McpMessage::new().server_name(server.clone()).message(message);
        // An MCP server cannot do anything about a refusal.
        let _ = live.link.request(message, Some(MCP_FORWARD)).await;
    }
}

async fn initialize(inner: &Arc<Inner>, live: &Live, plan: &LaunchPlan) -> Result<(), Error> {
    let config = &inner.config;
    if config.handshake == Handshake::Skip && !plan.initialize_first {
        return Ok(());
    }
    let needed = config.handshake == Handshake::Require || config.launch.needs_handshake();
    let timeout = Some(config.handshake_timeout);
    let reply = live.link.request(plan.initialize.clone(), timeout).await;
    let error = match reply {
        Ok(reply) => {
            let blocks = inner.handlers.hooks.iter().any(|hook| hook.blocks_on_failure);
            if blocks && !reply.hook_on_failure_supported.is_true() {
                let reason = "this agent does not support hooks that block on failure";
                return Err(Error::Refused {
                    subtype: "initialize".to_owned(),
                    reason: reason.to_owned(),
                    unsupported: true,
                });
            }
            *lock(&inner.handshake) = Some(reply);
            return Ok(());
        }
        Err(error) => error,
    };
    match Error::of_request("initialize", timeout, error) {
        None => Err(inner.why_ended(live.number).await),
        Some(error) if needed => Err(error),
        Some(error) => {
            inner.notice(format!("the agent is used without a handshake: {error}"));
            Ok(())
        }
    }
}

/// Applies to a new process what was changed in those before it, before anything else is sent.
///
/// # Errors
/// If the agent is gone, or refuses the permission mode: it must not continue with more rights.
async fn apply_again(inner: &Arc<Inner>, live: &Live) -> Result<(), Error> {
    let (changes, overflowed) = {
        let router = lock(&inner.router);
        (router.applied().changes(), router.applied().overflowed())
    };
    if overflowed {
        inner.notice("not all changes of the settings could be applied again".to_owned());
    }
    let timeout = inner.config.timeout;
    for change in changes {
        let Err(error) = live.link.request_raw(change.request, timeout).await else { continue };
        match Error::of_request(&change.subtype, timeout, error) {
            None => return Err(inner.why_ended(live.number).await),
            Some(error) if change.subtype == SetPermissionMode::SUBTYPE => return Err(error),
            Some(error) => {
                inner.notice(format!("not applied again after the agent was restarted: {error}"));
            }
        }
    }
    Ok(())
}

/// Waits for the end of a run, ends its turns, and starts the agent again if that is wanted.
async fn supervise(
    inner: Arc<Inner>,
    live: Live,
    connection: Connection,
    dispatcher: JoinHandle<()>,
) {
    let Live { number, .. } = live;
    let (mut gone, report) = connection.ended(&live.link, dispatcher, inner.config.ladder).await;
    let stop = lock(&inner.stop).take();
    let aborted = matches!(stop, Some(Stop::Abort));
    let recycled = matches!(stop, Some(Stop::Recycle));
    let closed = inner.is_closing() || matches!(stop, Some(Stop::Close));
    if let Some(Stop::Stuck(why)) = &stop {
        gone.reason = Some(why.clone());
    }
    let transition = lock(&inner.transition);
    let was_live = matches!(&*inner.phase.borrow(), Phase::Live(live) if live.number == number);
    if !was_live && gone.reason.is_none() {
        // The result of a run that did not go live may contain the reason.
        gone.reason = lock(&inner.router).failure().map(str::to_owned);
    }
    let error = Error::Gone(Arc::new(gone));
    let again = was_live
        && !closed
        && inner.transport.reopens()
        && (inner.may_respawn(&live) || aborted || recycled);
    // The task that starts a run decides what happens to its prompts if it does not go live.
    let resend = (again || !was_live) && inner.config.respawn.resend && !aborted;
    let last = match (was_live && !again, closed) {
        (true, true) => Some(Ok(())),
        (true, false) => Some(Err(error.clone())),
        (false, _) => None,
    };
    if was_live {
        inner.phase.send_replace(match (again, closed) {
            (true, _) => Phase::Starting,
            (false, true) => Phase::Over(Error::Closed),
            (false, false) => Phase::Over(error.clone()),
        });
    }
    let end = RunEnd { error: error.clone(), interrupted: aborted, resend, last };
    lock(&inner.router).end_run(number, end);
    if closed {
        *lock(&inner.exit) = Some(report);
    }
    inner.ended.send_replace((number, Some(error)));
    drop(transition);
    if again {
        tokio::spawn(start_again(inner, live, resend));
    }
}

/// Starts the agent again, in the conversation in which it was.
fn start_again(inner: Arc<Inner>, before: Live, resend: bool) -> BoxFuture<()> {
    boxed(try_again(inner, before, resend))
}

async fn try_again(inner: Arc<Inner>, before: Live, resend: bool) {
    let (session, mut launch) = {
        let router = lock(&inner.router);
        let launch = router.applied().launch(inner.config.launch.clone());
        (router.session_id().cloned(), launch)
    };
    if let Some(session) = session {
        // An agent that died in its first turn may not have stored the conversation.
        launch = launch.conversation(match uuid::Uuid::parse_str(session.as_str()) {
            Ok(_) => Conversation::ResumeOrNew(session),
            Err(_) => Conversation::resume(session),
        });
    }
    let mut number = before.number;
    let error = loop {
        number += 1;
        let tries = inner.count_respawn();
        tokio::time::sleep(RESPAWN_DELAY * 2_u32.saturating_pow(tries.min(6))).await;
        if inner.is_closing() {
            break Error::Closed;
        }
        if resend {
            lock(&inner.router).move_turns(number);
        }
        match start_run(&inner, &launch, number).await {
            Ok(()) => {
                if resend {
                    inner.resend_prompts().await;
                }
                return;
            }
            Err(Error::Gone(gone)) if gone.is_unknown_conversation() => match launch.fallback() {
                Some(fallback) => {
                    inner.notice(NEW_CONVERSATION.to_owned());
                    launch = fallback;
                }
                None => break Error::Gone(gone),
            },
            // The id is taken, but there is no conversation to resume.
            Err(Error::Gone(gone)) if gone.is_id_in_use() => {
                launch = launch.conversation(Conversation::New);
            }
            // It died before it went live: it is started again as if it had died later.
            Err(Error::Gone(_)) if inner.has_respawns_left() => {}
            Err(error) => break error,
        }
    };
    inner.phase.send_replace(Phase::Over(error.clone()));
    let last = Some(Err(error.clone()));
    let end = RunEnd { error, interrupted: false, resend: false, last };
    lock(&inner.router).end_session(number, end);
}
