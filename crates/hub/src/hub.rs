//! [`Hub`]: runs sessions, and lets many clients take part.
//!
//! Each session has one task. It alone decides and writes: a decision is appended to the log, then applied, then acted upon. Clients
//! read the log; they are not called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::id::{AskId, PromptId, SessionId};
use crate::log::{
    AppendError, Batch, Body, Key, Kind, Limits as PageLimits, Log, NewEntry, Origin, ReadError,
    Receipt,
};
use crate::state::{
    Answer, AskState, Created, Inconsistent, PromptState, Record, SessionState, State,
};

mod agents;
mod lines;
mod recovery;
mod task;

pub use agents::{Agents, InvalidOptions, SessionOptions};
use task::{Command, Task};

/// Which client causes something: the id of its token.
pub type By = Option<Arc<str>>;

/// How much a hub takes on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HubLimits {
    /// Sessions that are not closed.
    pub sessions: usize,
    /// Prompts of a session that have not ended.
    pub prompts: usize,
    /// Asks of a session that have not ended. Further ones are denied.
    pub asks: usize,
    /// Bytes of a prompt or of an entry of a client.
    pub body: usize,
}

impl Default for HubLimits {
    fn default() -> Self {
        Self { sessions: 256, prompts: 64, asks: 64, body: 8 << 20 }
    }
}

/// Why the hub refuses something.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such session, prompt or ask.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// The id was used for another request.
    #[error("this id was used for another request, which is entry {seq}")]
    #[non_exhaustive]
    OtherRequest {
        /// The entry of the other request.
        seq: u64,
    },
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
    /// The prompt is no longer in the queue.
    #[error("the prompt is no longer in the queue")]
    PromptStarted(PromptState),
    /// The ask is no longer open.
    #[error("the ask is no longer open")]
    #[non_exhaustive]
    NotOpen {
        /// Its state.
        state: AskState,
        /// The answer that it got.
        answer: Option<serde_json::Value>,
        /// The client that answered.
        by: By,
    },
    /// The turn does not run.
    #[error("this turn does not run")]
    #[non_exhaustive]
    NotRunning {
        /// The turn that does.
        turn: Option<u64>,
    },
    /// A limit of the hub is reached.
    #[error("the limit of {limit} {what} is reached")]
    #[non_exhaustive]
    Limit {
        /// Of what there is too much.
        what: &'static str,
        /// How much is possible.
        limit: usize,
    },
    /// The log refused it.
    #[error(transparent)]
    Log(#[from] AppendError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The session's task has ended.
    #[error("the session is not available")]
    Unavailable,
}

/// Why a hub cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The log of a session is inconsistent.
    #[error("session {session}: {source}")]
    #[non_exhaustive]
    Inconsistent {
        /// The session.
        session: SessionId,
        /// What is wrong.
        source: Inconsistent,
    },
}

/// Runs sessions. A handle: clones share one hub.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    log: Arc<dyn Log>,
    agents: Arc<Agents>,
    limits: HubLimits,
    sessions: Mutex<BTreeMap<SessionId, SessionHandle>>,
    tasks: Mutex<JoinSet<()>>,
    /// One session is created at a time, so that each has one task.
    creating: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("limits", &self.inner.limits).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere does not make what is kept here wrong.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// Opens a hub on a log. Reads the log of every session, and writes down what became of those that were running when the last
    /// hub died.
    ///
    /// # Errors
    ///
    /// If the log cannot be read or written, or is inconsistent.
    pub async fn open(
        log: Arc<dyn Log>,
        agents: Agents,
        limits: HubLimits,
    ) -> Result<Self, OpenError> {
        let inner = Inner {
            log,
            agents: Arc::new(agents),
            limits,
            sessions: Mutex::default(),
            tasks: Mutex::default(),
            creating: tokio::sync::Mutex::default(),
        };
        let hub = Self { inner: Arc::new(inner) };
        let mut after = None;
        loop {
            let page = hub.inner.log.sessions(after, 100).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            for (id, _) in page {
                let state = recovery::load(&*hub.inner.log, id).await?;
                hub.adopt(id, state);
            }
        }
        Ok(hub)
    }

    /// The log.
    pub fn log(&self) -> &Arc<dyn Log> {
        &self.inner.log
    }

    /// The limits.
    pub fn limits(&self) -> HubLimits {
        self.inner.limits
    }

    /// Starts the task of a session.
    fn adopt(&self, id: SessionId, state: SessionState) -> SessionHandle {
        let (sender, commands) = mpsc::channel(32);
        let state = Arc::new(Mutex::new(state));
        let handle = SessionHandle { id, state: Arc::clone(&state), commands: sender };
        let inner = &self.inner;
        let (log, agents) = (Arc::clone(&inner.log), Arc::clone(&inner.agents));
        let task = Task::new(id, log, agents, inner.limits, state, commands);
        let mut tasks = lock(&inner.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task.run());
        drop(tasks);
        lock(&inner.sessions).insert(id, handle.clone());
        handle
    }

    /// Creates a session, or returns it if it was created with the same options.
    ///
    /// # Errors
    ///
    /// If the options are not valid, the id is that of another session, or there are too many sessions.
    pub async fn create(
        &self,
        id: SessionId,
        options: &RawValue,
        by: By,
    ) -> Result<(SessionHandle, Receipt), Refusal> {
        let invalid = |error: &dyn std::fmt::Display| Refusal::Invalid(error.to_string());
        let parsed = SessionOptions::parse(options).map_err(|error| invalid(&error))?;
        self.inner.agents.check(&parsed).map_err(|error| invalid(&error))?;
        let _one_at_a_time = self.inner.creating.lock().await;
        let known = self.session(id);
        if known.is_none() {
            let open = lock(&self.inner.sessions).values().filter(|one| !one.is_closed()).count();
            if open >= self.inner.limits.sessions {
                let limit = self.inner.limits.sessions;
                return Err(Refusal::Limit { what: "sessions", limit });
            }
        }
        let created = Record::Created(Created { options: options.to_owned() });
        let created = created.entry().map_err(|error| invalid(&error))?.by(by);
        let owner = NewEntry::owner(Body::trusted("{}"));
        let batch = Batch::new(id, 1, [owner, created.clone()]);
        let key = Key::new("create", created.body.as_str().as_bytes());
        let receipt = match self.inner.log.append(batch.key(key)).await {
            Err(AppendError::KeyReused { seq, .. }) => return Err(Refusal::OtherRequest { seq }),
            receipt => receipt?,
        };
        let handle = match known {
            Some(handle) => handle,
            None => {
                let state = recovery::load(&*self.inner.log, id).await;
                self.adopt(id, state.map_err(|error| Refusal::Invalid(error.to_string()))?)
            }
        };
        Ok((handle, receipt))
    }

    /// A session.
    pub fn session(&self, id: SessionId) -> Option<SessionHandle> {
        lock(&self.inner.sessions).get(&id).cloned()
    }

    /// The sessions after `after`, in the order of their ids.
    pub fn sessions(&self, after: Option<SessionId>, limit: usize) -> Vec<SessionHandle> {
        let sessions = lock(&self.inner.sessions);
        let later = sessions.values().filter(|one| after.is_none_or(|after| one.id > after));
        later.take(limit).cloned().collect()
    }

    /// The session of an ask.
    pub fn session_of(&self, ask: AskId) -> Option<SessionHandle> {
        let sessions = lock(&self.inner.sessions);
        sessions.values().find(|one| one.read(|state| state.asks().get(ask).is_some())).cloned()
    }

    /// Ends all agents and waits for their last entries. Sessions stay open: another hub can continue them.
    pub async fn shutdown(&self) {
        let handles: Vec<SessionHandle> =
            std::mem::take(&mut *lock(&self.inner.sessions)).into_values().collect();
        for handle in &handles {
            // If it does not take commands any more, it has ended.
            let _ = handle.commands.send(Command::Stop).await;
        }
        drop(handles);
        let mut tasks = std::mem::take(&mut *lock(&self.inner.tasks));
        while tasks.join_next().await.is_some() {}
    }
}

/// A session of a hub. Clones are of the same session.
#[derive(Clone)]
pub struct SessionHandle {
    id: SessionId,
    state: Arc<Mutex<SessionState>>,
    commands: mpsc::Sender<Command>,
}

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHandle").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A prompt that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptReceipt {
    /// The entry with which it was accepted.
    pub seq: u64,
    /// Whether it was accepted before.
    pub repeated: bool,
    /// Its state; `None` if it ended long ago.
    pub state: Option<PromptState>,
}

impl SessionHandle {
    /// Its id.
    pub const fn id(&self) -> SessionId {
        self.id
    }

    /// Reads its state. The session waits meanwhile, so be quick.
    pub fn read<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        read(&lock(&self.state))
    }

    fn is_closed(&self) -> bool {
        self.read(|state| state.state() == State::Closed)
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, Refusal>>) -> Command,
    ) -> Result<T, Refusal> {
        let (reply, replied) = oneshot::channel();
        let sent = self.commands.send(command(reply)).await;
        sent.map_err(|_| Refusal::Unavailable)?;
        replied.await.unwrap_or(Err(Refusal::Unavailable))
    }

    /// Puts a prompt into the queue. The same id and content gives the same receipt, however often and whenever.
    ///
    /// # Errors
    ///
    /// If the id was used with another content, the content is not a prompt, the queue is full, or the session is closed.
    pub async fn prompt(
        &self,
        id: PromptId,
        content: Box<RawValue>,
        by: By,
    ) -> Result<PromptReceipt, Refusal> {
        self.ask(|reply| Command::Prompt { id, content, by, reply }).await
    }

    /// Takes a prompt out of the queue.
    ///
    /// # Errors
    ///
    /// If there is none, or it is no longer in the queue.
    pub async fn withdraw(&self, id: PromptId, by: By) -> Result<(), Refusal> {
        self.ask(|reply| Command::Withdraw { id, by, reply }).await
    }

    /// Answers an ask. The first valid answer wins.
    ///
    /// # Errors
    ///
    /// If the ask is not open, with its outcome, or the answer does not fit.
    pub async fn answer(&self, ask: AskId, answer: Answer, by: By) -> Result<(), Refusal> {
        self.ask(|reply| Command::Answer { ask, answer, by, reply }).await
    }

    /// Interrupts a turn.
    ///
    /// # Errors
    ///
    /// If this turn does not run.
    pub async fn interrupt(&self, turn: u64, by: By) -> Result<(), Refusal> {
        self.ask(|reply| Command::Interrupt { turn, by, reply }).await
    }

    /// Appends an entry of a client.
    ///
    /// # Errors
    ///
    /// If the kind does not begin with `x.`, or the body is too large.
    pub async fn publish(&self, kind: &str, body: Body, by: By) -> Result<Receipt, Refusal> {
        let invalid = |text: String| Refusal::Invalid(text);
        let kind = Kind::try_from(kind).map_err(|error| invalid(error.to_string()))?;
        if !kind.as_str().starts_with("x.") {
            return Err(invalid("the kind of a client's entry begins with x.".to_owned()));
        }
        let entry = NewEntry { origin: Origin::External, by, kind, body };
        self.ask(|reply| Command::Publish { entry, reply }).await
    }

    /// Closes the session: empties its queue, interrupts its turn, ends its agent. Closing again has no effect.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub async fn close(&self, by: By) -> Result<(), Refusal> {
        self.ask(|reply| Command::Close { by, reply }).await
    }
}

/// Reads the whole log of a session into its state.
async fn fold(log: &dyn Log, id: SessionId, state: &mut SessionState) -> Result<(), OpenError> {
    loop {
        let page = log.read(id, state.head(), PageLimits::default()).await?;
        if page.entries.is_empty() {
            return Ok(());
        }
        for entry in &page.entries {
            let applied = state.apply(entry);
            applied.map_err(|source| OpenError::Inconsistent { session: id, source })?;
        }
    }
}
