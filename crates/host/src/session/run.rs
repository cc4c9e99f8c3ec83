//! One run of the agent: start it, shake hands, and see to its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use duologue_link::{Options, connect};
use duologue_protocol::control::{ControlRequest as _, McpMessage, SetPermissionMode};
use duologue_protocol::launch::{CliVersion, Conversation, EnvChange, Launch, LaunchPlan};
use duologue_protocol::{RawObject, Text};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use crate::error::{Error, Gone};
use crate::find;
use crate::handlers::{BoxFuture, Server, boxed};
use crate::mcp::{McpConnection, Outbox};
use crate::process::{Process, Spawn, Started};

use super::config::Handshake;
use super::hub::Ending;
use super::inner::{Inner, Live, Phase, Stop, lock};
use super::watchdog;

/// How many messages of an MCP server may wait for the agent.
const OUTBOX: usize = 64;

/// How long the agent may take to acknowledge a message of an MCP server.
const FORWARD: Duration = Duration::from_secs(60);

/// How long the rest of stdout may take once the process has ended: who holds the pipe is no agent.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long to wait before the agent is started again, the first time.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Versions before this one may shake hands before they look for the conversation.
const LOOKS_FIRST: CliVersion = CliVersion::new(2, 1, 197);

/// How long they look for it.
const LOOKS_AFTER: Duration = Duration::from_secs(1);

const BEGUN_ANEW: &str = "there is no such conversation: a new one is begun";

/// The two ends of a pipe to an agent that is no process of ours.
pub(crate) struct Pipe {
    pub(crate) reader: Box<dyn AsyncRead + Unpin + Send>,
    pub(crate) writer: Box<dyn AsyncWrite + Unpin + Send>,
}

/// Starts the agent and shakes hands. When this returns, the session can be used.
pub(crate) async fn start(inner: &Arc<Inner>, pipe: Option<Pipe>) -> Result<(), Error> {
    let launch = inner.config.launch.clone();
    let result = match pipe {
        Some(pipe) => over_pipe(inner, &launch, pipe).await,
        None => match spawn(inner, &launch, 1).await {
            Err(Error::Gone(gone)) if gone.is_unknown_conversation() => match launch.fallback() {
                Some(fallback) => {
                    inner.notice(BEGUN_ANEW.to_owned());
                    spawn(inner, &fallback, 2).await
                }
                None => Err(Error::Gone(gone)),
            },
            other => other,
        },
    };
    if let Err(error) = &result {
        inner.phase.send_replace(Phase::Over(error.clone()));
    }
    result
}

/// The run has shaken hands: it is used from now on, unless it has ended since.
fn go_live(inner: &Inner, live: Live) -> Result<(), Error> {
    let _transition = lock(&inner.transition);
    if let (number, Some(error)) = &*inner.ended.borrow()
        && *number >= live.number
    {
        return Err(error.clone());
    }
    if inner.is_closing() {
        live.kill();
        return Err(Error::Closed);
    }
    inner.has_begun();
    inner.phase.send_replace(Phase::Live(live));
    Ok(())
}

/// Ends a run that does not go live: it did not shake hands, or whoever started it has given up.
struct Beginning<'i>(&'i Inner);

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        self.0.kill_starting();
    }
}

async fn over_pipe(inner: &Arc<Inner>, launch: &Launch, pipe: Pipe) -> Result<(), Error> {
    let plan = launch.plan(inner.version.as_ref())?;
    let (live, driver) = attach(inner, 1, pipe.reader, pipe.writer, None);
    let _beginning = Beginning(inner);
    tokio::spawn(supervise(Arc::clone(inner), live.clone(), None, driver));
    shake_hands(inner, &live, &plan).await?;
    go_live(inner, live)
}

/// Starts a process of the agent.
async fn spawn(inner: &Arc<Inner>, launch: &Launch, number: u64) -> Result<(), Error> {
    let config = &inner.config;
    let plan = launch.plan(inner.version.as_ref())?;
    for option in plan.unheeded.iter().filter(|_| number == 1) {
        let version = inner.version.map(|version| version.to_string()).unwrap_or_default();
        inner.notice(format!("Claude Code {version} does not heed the option {option}"));
    }
    let program = find::cli(config.program.as_deref())?;
    let mut spawn = Spawn::new(program).leading(config.leading.iter().cloned()).plan(plan.clone());
    for (name, change) in QUIET {
        if !plan.env.iter().any(|(known, _)| known == name) {
            spawn = spawn.env(*name, change.clone());
        }
    }
    if let Some(on_stderr) = config.on_stderr.clone() {
        spawn = spawn.on_stderr(move |line| lock(&on_stderr)(line));
    }
    let Started { process, stdin, stdout } = spawn.start()?;
    if let Some(unguarded) = process.unguarded().filter(|_| number == 1) {
        inner.notice(unguarded.to_owned());
    }
    let (live, driver) = attach(inner, number, stdout, stdin, Some(&process));
    let _beginning = Beginning(inner);
    tokio::spawn(supervise(Arc::clone(inner), live.clone(), Some(process), driver));
    shake_hands(inner, &live, &plan).await?;
    apply_again(inner, &live).await?;
    if launch.fallback().is_some() && inner.version.is_some_and(|version| version < LOOKS_FIRST) {
        let ended = inner.why_ended(number);
        if let Ok(error) = tokio::time::timeout(LOOKS_AFTER, ended).await {
            return Err(error);
        }
    }
    go_live(inner, live)
}

/// What would put text that is no JSON on stdout.
const QUIET: &[(&str, EnvChange)] = &[("ANTHROPIC_LOG", EnvChange::Remove)];

/// Connects to a run of the agent: from now on it is read, written and served.
fn attach<R, W>(
    inner: &Arc<Inner>,
    number: u64,
    reader: R,
    writer: W,
    process: Option<&Process>,
) -> (Live, JoinHandle<()>)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let config = &inner.config;
    let mut options = Options::default()
        .budget(config.budget)
        .overflow(config.overflow)
        .max_line(config.max_line)
        .wake(Arc::clone(&inner.changed));
    if let Some(dir) = &config.spill_dir {
        options = options.spill_dir(dir);
    }
    if config.serial {
        options = options.serial();
    }
    if config.legacy {
        options = options.legacy();
    }
    if let Some(tap) = &config.tap {
        options = options.tap(tap.clone());
    }
    if config.watchdog.watches() {
        options = options.watch_tools();
    }
    let (link, asks, inbox, driver) = connect(reader, writer, options);
    let driver = tokio::spawn(driver.run());
    lock(&inner.hub).add_run(number, inbox);
    let process = process.map(|process| process.control());
    let live = Live { number, link: link.clone(), process, driver: driver.abort_handle() };
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
    inner.begins(&live);
    (live, driver)
}

/// Hands what an MCP server says by itself to the agent.
async fn forward(live: Live, server: Text, mut messages: tokio::sync::mpsc::Receiver<RawObject>) {
    while let Some(message) = messages.recv().await {
        let message = McpMessage::new().server_name(server.clone()).message(message);
        // A server whose message is refused has nothing to do about it.
        let _ = live.link.request(message, Some(FORWARD)).await;
    }
}

async fn shake_hands(inner: &Arc<Inner>, live: &Live, plan: &LaunchPlan) -> Result<(), Error> {
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
                let reason = "this agent does not know hooks that block on failure";
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

/// Changes in a new process what was changed in those before it. Nothing is asked of it meanwhile.
///
/// # Errors
/// If the agent is gone, or refuses the permission mode: it must not go on with more rights than it had.
async fn apply_again(inner: &Arc<Inner>, live: &Live) -> Result<(), Error> {
    let (changes, overflowed) = {
        let hub = lock(&inner.hub);
        (hub.applied.changes(), hub.applied.overflowed())
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

/// Sees to the end of a run: tells everybody, and starts the agent again if that is wanted.
async fn supervise(
    inner: Arc<Inner>,
    live: Live,
    process: Option<Process>,
    mut driver: JoinHandle<()>,
) {
    let Live { number, .. } = live;
    let mut gone = Gone::default();
    match &process {
        None => {
            let _ = driver.await;
        }
        Some(process) => {
            tokio::select! {
                // Its stdout has ended: so must it.
                _ = &mut driver => {
                    process.end(inner.config.ladder).await;
                }
                _ = process.exited() => {
                    let last_words = async {
                        let _ = live.link.read_on().await;
                        let _ = (&mut driver).await;
                    };
                    if tokio::time::timeout(LAST_WORDS, last_words).await.is_err() {
                        // Somebody who has left the group holds the pipe.
                        driver.abort();
                        let _ = driver.await;
                    }
                }
            }
            let report = process.exited().await;
            (gone.code, gone.signal) = (report.code, report.signal);
            gone.stderr = process.tail();
        }
    }
    drop(process);
    let stop = lock(&inner.stop).take();
    let aborted = matches!(stop, Some(Stop::Abort));
    let closed = inner.is_closing() || matches!(stop, Some(Stop::Close));
    if let Some(Stop::Stuck(why)) = &stop {
        gone.reason = Some(why.clone());
    } else if live.link.standing().borrow().deaf {
        gone.reason = Some("it has closed its stdin".to_owned());
    }
    let transition = lock(&inner.transition);
    let was_live = matches!(&*inner.phase.borrow(), Phase::Live(live) if live.number == number);
    if !was_live && gone.reason.is_none() {
        // Nobody reads what it said before it went live: here it may have said why it does not.
        gone.reason = live.link.standing().borrow().failure.clone();
    }
    let error = Error::Gone(Arc::new(gone));
    let again = was_live && !closed && (aborted || inner.may_respawn(&live));
    // What becomes of a run that never went live, and of its prompts, is decided by who started it.
    let resend = (again || !was_live) && inner.config.respawn.resend && !aborted;
    // If it never went live, whoever starts it decides what becomes of the session.
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
    let ending = Ending { error: error.clone(), interrupted: aborted, resend, last };
    lock(&inner.hub).end_run(number, ending);
    inner.ended.send_replace((number, Some(error)));
    drop(transition);
    inner.changed.notify_waiters();
    if again {
        tokio::spawn(start_again(inner, live, resend));
    }
}

/// Starts the agent again, in the conversation in which it was.
fn start_again(inner: Arc<Inner>, before: Live, resend: bool) -> BoxFuture<()> {
    boxed(try_again(inner, before, resend))
}

async fn try_again(inner: Arc<Inner>, before: Live, resend: bool) {
    let session = before.link.standing().borrow().session_id.clone();
    let session = session.or_else(|| lock(&inner.hub).session_id.clone());
    // What was changed may stand in lines that nobody has read yet.
    inner.catch_up();
    let mut launch = lock(&inner.hub).applied.launch(inner.config.launch.clone());
    if let Some(session) = session {
        // What died in its first turn may have left nothing behind.
        launch = launch.conversation(match uuid::Uuid::parse_str(session.as_str()) {
            Ok(_) => Conversation::ResumeOrNew(session),
            Err(_) => Conversation::resume(session),
        });
    }
    let mut number = before.number;
    let error = loop {
        number += 1;
        let tries = inner.respawned();
        tokio::time::sleep(BACK_OFF * 2_u32.saturating_pow(tries.min(6))).await;
        if inner.is_closing() {
            break Error::Closed;
        }
        if resend {
            lock(&inner.hub).move_turns(number);
        }
        match spawn(&inner, &launch, number).await {
            Ok(()) => {
                if resend {
                    inner.resend_prompts().await;
                }
                return;
            }
            Err(Error::Gone(gone)) if gone.is_unknown_conversation() => match launch.fallback() {
                Some(fallback) => {
                    inner.notice(BEGUN_ANEW.to_owned());
                    launch = fallback;
                }
                None => break Error::Gone(gone),
            },
            // What is left of it is no conversation, and still has its id.
            Err(Error::Gone(gone)) if gone.is_id_in_use() => {
                launch = launch.conversation(Conversation::New);
            }
            // It has died before it went live: it may be tried again as if it had died later.
            Err(Error::Gone(_)) if inner.has_respawns_left() => {}
            Err(error) => break error,
        }
    };
    inner.phase.send_replace(Phase::Over(error.clone()));
    let last = Some(Err(error.clone()));
    let ending = Ending { error, interrupted: false, resend: false, last };
    lock(&inner.hub).end_run(number, ending);
    inner.changed.notify_waiters();
}
