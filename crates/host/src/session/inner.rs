//! What all handles of a session share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duologue_protocol::control::{ControlRequest, HostRequest, InitializeReply, Success};
use duologue_protocol::launch::CliVersion;
use duologue_protocol::lines::Prompt;
use duologue_protocol::{RawObject, Uuid};
use tokio::sync::{Notify, RwLock, watch};

use crate::dispatch::{Filter, Link, QueueOptions, Reader, RequestError, Router, SubscriptionId};
use crate::error::Error;
use crate::handlers::{Handlers, LeftOpen};
use crate::process::ExitReport;
use crate::transport::{Remote, Transport};

use super::config::Config;

/// How many uuids of prompts are remembered, so that none is used twice.
const UUIDS_REMEMBERED: usize = 4096;

/// How many notices are kept.
const NOTICES_KEPT: usize = 64;

/// A run that can be used.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) number: u64,
    pub(crate) link: Link,
    pub(crate) remote: Remote,
}

/// The state of the session.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// The agent is being started (again).
    Starting,
    Live(Live),
    /// The agent is gone for good.
    Over(Error),
}

/// Why this host ends the agent, if it does.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// The session is closed.
    Close,
    /// The turn is aborted by a signal; the agent is started again.
    Abort,
    /// The agent uses too much memory; it is started again.
    Recycle,
    /// The agent does not stop.
    Stuck(String),
}

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) version: Option<CliVersion>,
    /// Prompts are marked as written by a program.
    pub(crate) verbatim: bool,
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) left_open: Arc<LeftOpen>,
    pub(crate) transport: Transport,
    pub(crate) router: Arc<Mutex<Router>>,
    /// Notified when a subscriber has read.
    pub(crate) drained: Arc<Notify>,
    pub(crate) phase: watch::Sender<Phase>,
    /// A run that has begun and is not initialized yet.
    starting: Mutex<Option<Live>>,
    /// The last run that has ended, and why.
    pub(crate) ended: watch::Sender<(u64, Option<Error>)>,
    /// Held while a run goes live or ends, so that both know of each other.
    pub(crate) transition: Mutex<()>,
    pub(crate) stop: Mutex<Option<Stop>>,
    /// Read-locked while a prompt is sent, write-locked while the agent is recycled.
    pub(crate) prompts: RwLock<()>,
    pub(crate) closing: AtomicBool,
    /// How the agent exited, once the session was closed.
    pub(crate) exit: Mutex<Option<ExitReport>>,
    pub(crate) handshake: Mutex<Option<InitializeReply>>,
    pub(crate) notices: Mutex<Vec<String>>,
    /// The uuids of the latest prompts.
    uuids: Mutex<VecDeque<Uuid>>,
    /// Prompts without a result, if they are to be sent again.
    kept: Mutex<Vec<Prompt>>,
    /// How often in a row the agent was started again.
    respawns: AtomicU32,
}

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere does not make what is kept here wrong.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    pub(crate) fn new(
        config: Config,
        handlers: Handlers,
        transport: Transport,
        version: Option<CliVersion>,
        verbatim: bool,
    ) -> Self {
        let options = QueueOptions::new(config.budget)
            .overflow(config.overflow)
            .spill_dir(config.spill_dir.clone());
        let drained = Arc::clone(&options.drained);
        Self {
            config,
            version,
            verbatim,
            handlers: Arc::new(handlers),
            left_open: Arc::default(),
            transport,
            router: Arc::new(Mutex::new(Router::new(options))),
            drained,
            phase: watch::Sender::new(Phase::Starting),
            starting: Mutex::new(None),
            ended: watch::Sender::new((0, None)),
            transition: Mutex::new(()),
            stop: Mutex::new(None),
            prompts: RwLock::new(()),
            closing: AtomicBool::new(false),
            exit: Mutex::new(None),
            handshake: Mutex::new(None),
            notices: Mutex::new(Vec::new()),
            uuids: Mutex::new(VecDeque::new()),
            kept: Mutex::new(Vec::new()),
            respawns: AtomicU32::new(0),
        }
    }

    /// Reports something that the user should know.
    pub(crate) fn notice(&self, notice: String) {
        if let Some(on_notice) = &self.config.on_notice {
            on_notice(&notice);
        }
        let mut notices = lock(&self.notices);
        if notices.len() == NOTICES_KEPT {
            notices.remove(0);
        }
        notices.push(notice);
    }

    /// The run, once it can be used.
    pub(crate) async fn live(&self) -> Result<Live, Error> {
        let mut phase = self.phase.subscribe();
        let phase = phase.wait_for(|phase| !matches!(phase, Phase::Starting)).await;
        match phase.as_deref() {
            Ok(Phase::Live(live)) => Ok(live.clone()),
            Ok(Phase::Over(error)) => Err(error.clone()),
            _ => Err(Error::Closed),
        }
    }

    /// A run has begun. If the session is being closed, it ends at once.
    pub(crate) fn begin(&self, live: &Live) {
        *lock(&self.starting) = Some(live.clone());
        if self.is_closing() {
            self.kill_starting();
        }
    }

    /// The run that has begun goes live.
    pub(crate) fn mark_begun(&self) {
        lock(&self.starting).take();
    }

    /// Ends the run that has begun and is not live, if there is one. Needs no runtime.
    pub(crate) fn kill_starting(&self) {
        if let Some(live) = lock(&self.starting).take() {
            live.remote.kill();
        }
    }

    /// Ends what runs, for good. Needs no runtime.
    pub(crate) fn kill(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.kill_starting();
        if let Phase::Live(live) = &*self.phase.borrow() {
            live.remote.kill();
        }
    }

    /// The run, if it can be used now.
    pub(crate) fn live_now(&self) -> Option<Live> {
        match &*self.phase.borrow() {
            Phase::Live(live) => Some(live.clone()),
            _ => None,
        }
    }

    /// Why the run of this number has ended. It may take a moment until that is known.
    pub(crate) async fn why_ended(&self, number: u64) -> Error {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(|(last, _)| *last >= number).await.as_deref() {
            Ok((_, Some(error))) if !self.is_closing() => error.clone(),
            _ => Error::Closed,
        }
    }

    /// Sends a request to the agent.
    pub(crate) async fn request<R>(
        &self,
        request: R,
        timeout: Option<Duration>,
    ) -> Result<R::Reply, Error>
    where
        R: ControlRequest + Into<HostRequest>,
    {
        let live = self.live().await?;
        let reply = live.link.request(request, timeout).await;
        self.explain(&live, R::SUBTYPE, timeout, reply).await
    }

    /// Sends a request that has no type here.
    pub(crate) async fn request_raw(
        &self,
        subtype: &str,
        request: RawObject,
        timeout: Option<Duration>,
    ) -> Result<Success, Error> {
        let live = self.live().await?;
        let reply = live.link.request_raw(request, timeout).await;
        self.explain(&live, subtype, timeout, reply).await
    }

    async fn explain<T>(
        &self,
        live: &Live,
        subtype: &str,
        timeout: Option<Duration>,
        reply: Result<T, RequestError>,
    ) -> Result<T, Error> {
        match reply {
            Ok(reply) => Ok(reply),
            Err(error) => match Error::of_request(subtype, timeout, error) {
                Some(error) => Err(error),
                None => Err(self.why_ended(live.number).await),
            },
        }
    }

    /// Remembers the uuid of a prompt. False if it was used before.
    pub(crate) fn remember_uuid(&self, uuid: &Uuid) -> bool {
        let mut uuids = lock(&self.uuids);
        if uuids.contains(uuid) {
            return false;
        }
        if uuids.len() == UUIDS_REMEMBERED {
            uuids.pop_front();
        }
        uuids.push_back(uuid.clone());
        true
    }

    /// Subscribes: everything that comes from now on is delivered.
    pub(crate) fn subscribe(self: &Arc<Self>, filter: Filter, run: u64) -> Subscriber {
        let (id, reader) = lock(&self.router).subscribe(filter, run);
        Subscriber { inner: Arc::clone(self), id, reader }
    }

    /// Whether the agent may be started again after this run.
    pub(crate) fn may_respawn(&self, live: &Live) -> bool {
        if live.link.status().borrow().results > 0 {
            self.respawns.store(0, Ordering::Relaxed);
        }
        self.has_respawns_left()
    }

    /// Whether the agent may be started once more.
    pub(crate) fn has_respawns_left(&self) -> bool {
        self.respawns.load(Ordering::Relaxed) < self.config.respawn.times
    }

    /// Counts a restart of the agent, and returns how many there were before.
    pub(crate) fn count_respawn(&self) -> u32 {
        self.respawns.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a prompt, to send it again if the agent dies before it has answered.
    pub(crate) fn keep(&self, prompt: &Prompt) {
        if !self.config.respawn.resend {
            return;
        }
        let mut kept = lock(&self.kept);
        let unanswered: Vec<Uuid> = lock(&self.router).unanswered().cloned().collect();
        kept.retain(|prompt| prompt.uuid.value().is_some_and(|uuid| unanswered.contains(uuid)));
        kept.push(prompt.clone());
    }

    /// Sends the prompts again that have no result.
    pub(crate) async fn resend_prompts(&self) {
        let unanswered: Vec<Uuid> = lock(&self.router).unanswered().cloned().collect();
        let kept = lock(&self.kept).clone();
        let Some(live) = self.live_now() else { return };
        for prompt in kept {
            if prompt.uuid.value().is_some_and(|uuid| unanswered.contains(uuid)) {
                // If the agent is gone again, the end of its run handles the prompts.
                let _ = live.link.prompt(prompt).await;
            }
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
}

/// A subscription of a session. Dropping it unsubscribes.
pub(crate) struct Subscriber {
    pub(crate) inner: Arc<Inner>,
    id: SubscriptionId,
    pub(crate) reader: Reader,
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        lock(&self.inner.router).unsubscribe(self.id);
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("config", &self.config).finish_non_exhaustive()
    }
}
