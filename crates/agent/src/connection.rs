//! [`Connection`]: the machine of a conversation, shared by the reader, the writer and the turns.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use duologue_protocol::agent_link::{AgentEvent, AgentLink, Fatal, Outcome, RequestKey, TurnStart};
use duologue_protocol::control::{AgentRequest, HostRequest};
use duologue_protocol::{Line, RequestId, SessionId, ToHost};
use tokio::sync::{Notify, oneshot, watch};

use crate::hooks::{Hooks, LocalHooks};
use crate::options::Options;
use crate::usage::UsageTotals;

/// Whether a turn, or work in the background, must stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    #[default]
    No,
    /// The host has interrupted, maybe with another prompt.
    Interrupted { preempted: bool },
}

/// A turn that is about to begin, and its stop signal.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) start: TurnStart,
    pub(crate) stop: watch::Sender<Stop>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    state: Mutex<State>,
    pub(crate) options: Options,
    /// There is something to write.
    pub(crate) to_write: Notify,
    /// Something was written.
    written: watch::Sender<()>,
    /// A turn begins, or there will be no more.
    pub(crate) turns: Notify,
    /// A line was not survived.
    pub(crate) fatal: watch::Sender<Option<Fatal>>,
    local_hooks: OnceLock<Arc<dyn LocalHooks>>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) link: AgentLink,
    pub(crate) session: SessionId,
    pub(crate) model: duologue_protocol::Text,
    pub(crate) mode: duologue_protocol::permission::PermissionMode,
    pub(crate) hooks: Hooks,
    /// The host has sent the handshake.
    pub(crate) has_handshake: bool,
    pub(crate) sdk_servers: Vec<duologue_protocol::Text>,
    /// The tools and the MCP servers that there are now, if they have changed.
    pub(crate) tools: Option<Vec<duologue_protocol::Text>>,
    pub(crate) servers: Option<Vec<duologue_protocol::system::InitMcpServer>>,
    /// Commands, kinds of sub-agent, skills and plugins that there are now, if they have changed.
    pub(crate) listing: Option<crate::options::Listing>,
    /// Whether the text of sub-agents in the foreground is sent.
    pub(crate) forwards: bool,
    pub(crate) usage: UsageTotals,
    pub(crate) subagents: crate::subagent::Count,
    /// The tasks in the background.
    pub(crate) running: Vec<duologue_protocol::system::BackgroundTask>,
    /// Work in the background that keeps the conversation open.
    kept: usize,
    /// Those of them that end with a turn of their own.
    busy: usize,
    waiting: HashMap<RequestId, oneshot::Sender<Outcome>>,
    next: Option<Begun>,
    stop: Option<watch::Sender<Stop>>,
    /// The same for work in the background.
    background: Vec<watch::Sender<Stop>>,
    asked: Vec<(RequestKey, Box<HostRequest>)>,
    /// The host does not read any more: lines are dropped, as the CLI does.
    is_unread: bool,
    /// Leave as soon as no turn runs.
    leaving: bool,
}

impl Connection {
    pub(crate) fn new(options: Options) -> Arc<Self> {
        let random = uuid::Uuid::new_v4().as_u64_pair().0;
        let mut link = AgentLink::new().seed(options.seed.unwrap_or(random));
        if options.lenient {
            link = link.lenient();
        }
        if options.await_initialize {
            link = link.await_initialize();
        }
        if options.replay {
            link = link.replay();
        }
        if options.state_events {
            link = link.state_events();
        } else if options.hidden_state_events {
            link = link.hidden_state_events();
        }
        link = options.dialect.apply(link);
        let session = options.info.session_id.clone();
        let session = session.unwrap_or_else(|| SessionId::from(link.new_id()));
        link.set_session(session.clone());
        let state = State {
            link,
            session,
            model: options.info.model.clone(),
            mode: options.info.permission_mode.clone(),
            hooks: Hooks::default(),
            has_handshake: false,
            sdk_servers: options.host_servers.clone(),
            tools: None,
            servers: None,
            listing: None,
            forwards: options.forward_subagent_text,
            usage: UsageTotals::default(),
            subagents: crate::subagent::Count::default(),
            running: Vec::new(),
            kept: 0,
            busy: 0,
            waiting: HashMap::new(),
            next: None,
            stop: None,
            background: Vec::new(),
            asked: Vec::new(),
            is_unread: false,
            leaving: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            options,
            to_write: Notify::new(),
            written: watch::Sender::new(()),
            turns: Notify::new(),
            fatal: watch::Sender::new(None),
            local_hooks: OnceLock::new(),
        })
    }

    /// Sets the hooks that run in this process, once.
    pub(crate) fn set_local_hooks(&self, hooks: Arc<dyn LocalHooks>) {
        // A connection is served once.
        let _ = self.local_hooks.set(hooks);
    }

    pub(crate) fn local_hooks(&self) -> Option<&Arc<dyn LocalHooks>> {
        self.local_hooks.get()
    }

    /// Changes the state, then wakes the tasks that it concerns.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let done = act(&mut state);
        while let Some(event) = state.link.poll_event() {
            self.serve(&mut state, event);
        }
        if state.is_over() {
            self.turns.notify_one();
        }
        drop(state);
        self.to_write.notify_one();
        done
    }

    fn serve(&self, state: &mut State, event: AgentEvent) {
        match event {
            AgentEvent::TurnBegins(start) => {
                let stop = watch::Sender::new(Stop::No);
                state.stop = Some(stop.clone());
                state.next = Some(Begun { start: *start, stop });
                self.turns.notify_one();
            }
            AgentEvent::Asked { key, request } => state.asked.push((key, request)),
            AgentEvent::Answered { id, outcome } => {
                if let Some(waiter) = state.waiting.remove(&id) {
                    // The asker may have been dropped.
                    let _ = waiter.send(outcome);
                }
            }
            AgentEvent::Interrupted(how) => {
                let stopped = Stop::Interrupted { preempted: how.preempted };
                if how.in_turn
                    && let Some(stop) = &state.stop
                {
                    stop.send_replace(stopped);
                }
                if !how.spare_background {
                    for background in state.background.drain(..) {
                        background.send_replace(stopped);
                    }
                }
            }
            AgentEvent::Fatal(fatal) => {
                self.fatal.send_replace(Some(fatal));
                self.turns.notify_one();
            }
            _ => {}
        }
    }

    /// Handles a line. The caller answers the requests in it.
    pub(crate) fn handle_line(&self, line: &Line) -> Vec<(RequestKey, Box<HostRequest>)> {
        self.with(|state| state.link.handle_line(line));
        self.with(|state| std::mem::take(&mut state.asked))
    }

    /// Queues a line, once there is room for it.
    pub(crate) async fn say(&self, line: impl Into<ToHost> + Send) {
        let line = line.into();
        self.room().await;
        self.with(|state| state.link.say(line));
    }

    /// Waits until not too many lines wait to be written.
    pub(crate) async fn room(&self) {
        let mut written = self.written.subscribe();
        while self.with_quietly(|state| state.link.is_backed_up()) {
            if written.changed().await.is_err() {
                return;
            }
        }
    }

    /// Asks the host at once. Awaiting gives the answer; dropping withdraws the request.
    pub(crate) fn ask(self: &Arc<Self>, request: AgentRequest, by_call: bool) -> Asked {
        let (waiter, answer) = oneshot::channel();
        let id = self.with(|state| {
            let id = match by_call {
                true => state.link.ask_by_call(request),
                false => state.link.ask(request),
            };
            state.waiting.insert(id.clone(), waiter);
            id
        });
        Asked { connection: Arc::clone(self), id, answer }
    }

    /// The stop signal for work in the background that begins now.
    pub(crate) fn background_stop(&self) -> watch::Receiver<Stop> {
        let stop = watch::Sender::new(Stop::No);
        let told = stop.subscribe();
        self.with(|state| {
            state.background.retain(|other| other.receiver_count() > 0);
            state.background.push(stop);
        });
        told
    }

    /// The next turn; `None` when there will be no more.
    pub(crate) async fn next_turn(&self) -> Option<Begun> {
        loop {
            let turns = self.turns.notified();
            let (next, over) = self.with_quietly(|state| (state.next.take(), state.is_over()));
            if over && next.is_none() || self.fatal.borrow().is_some() {
                return None;
            }
            if next.is_some() {
                return next;
            }
            turns.await;
        }
    }

    /// Reads the state without waking a task.
    fn with_quietly<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The lines that wait to be written.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        let (lines, is_unread) = self.with_quietly(|state| {
            let lines: Vec<String> = std::iter::from_fn(|| state.link.poll_transmit()).collect();
            (lines, state.is_unread)
        });
        self.written.send_replace(());
        if is_unread { Vec::new() } else { lines }
    }

    pub(crate) fn stop_writing(&self) {
        self.with_quietly(|state| state.is_unread = true);
    }

    pub(crate) fn exit_code(&self) -> u8 {
        // An agent that was asked to leave has succeeded.
        self.with_quietly(|state| if state.leaving { 0 } else { state.link.exit_code() })
    }

    /// Leaves when the running turn has ended, as if the host had closed its end.
    pub(crate) fn leave(&self) {
        self.with(|state| {
            state.leaving = true;
            state.link.handle_interrupt();
        });
    }
}

impl State {
    /// One more piece of work in the background, or one less.
    pub(crate) fn keep(&mut self, change: isize) {
        self.kept = self.kept.saturating_add_signed(change);
        self.link.hold_results(self.kept > 0);
    }

    /// The same, for work that ends with a turn of its own.
    pub(crate) fn busy(&mut self, change: isize) {
        self.busy = self.busy.saturating_add_signed(change);
        self.link.work_beside(self.busy > 0);
    }

    /// Whether the conversation has ended.
    fn is_over(&self) -> bool {
        let idle = self.leaving && self.link.is_idle();
        idle || self.link.is_done() && (self.kept == 0 || self.link.is_dead())
    }
}

/// A request to the host. Awaiting it gives the answer; dropping it before withdraws it.
#[derive(Debug)]
pub(crate) struct Asked {
    connection: Arc<Connection>,
    id: RequestId,
    answer: oneshot::Receiver<Outcome>,
}

impl Future for Asked {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = ready!(Pin::new(&mut self.answer).poll(context));
        Poll::Ready(outcome.unwrap_or(Outcome::Ended))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let id = self.id.clone();
        self.connection.with(|state| {
            if state.waiting.remove(&id).is_some() {
                state.link.withdraw(&id);
            }
        });
    }
}
