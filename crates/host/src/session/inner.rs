//! What all handles of a session share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duologue_link::{Link, RequestError};
use duologue_protocol::control::{ControlRequest, HostRequest, InitializeReply, Success};
use duologue_protocol::launch::CliVersion;
use duologue_protocol::lines::Prompt;
use duologue_protocol::{RawObject, Uuid};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::error::Error;
use crate::handlers::{Handlers, LeftOpen};
use crate::process::Control as ProcessControl;

use super::config::Config;
use super::hub::{Found, Hub, Over, Pumped, SeatId, Wants};
use super::queue::Parcel;

/// How many names of prompts are remembered, so that none is used twice.
const NAMES_REMEMBERED: usize = 4096;

/// How many notices are kept.
const NOTICES_KEPT: usize = 64;

/// How often some lines are read before others get their turn.
const AT_ONCE: usize = 8;

/// An agent that runs.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) number: u64,
    pub(crate) link: Link,
    /// `None` for an agent that is no process of ours.
    pub(crate) process: Option<ProcessControl>,
    pub(crate) driver: AbortHandle,
}

impl Live {
    /// Ends it at once. Needs no runtime.
    pub(crate) fn kill(&self) {
        match &self.process {
            Some(process) => process.kill(),
            None => self.driver.abort(),
        }
    }
}

/// Where the agent is.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// It is being started (again).
    Starting,
    Live(Live),
    /// It is gone for good.
    Over(Error),
}

/// Why this host ends the agent, if it does.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// It is over.
    Close,
    /// The turn is aborted by a signal; the agent may come back.
    Abort,
    /// It is stuck.
    Stuck(String),
}

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) version: Option<CliVersion>,
    /// Prompts are marked as written by a program.
    pub(crate) verbatim: bool,
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) left_open: Arc<LeftOpen>,
    pub(crate) hub: Mutex<Hub>,
    /// Something came, for whoever waits.
    pub(crate) changed: Arc<Notify>,
    pub(crate) phase: watch::Sender<Phase>,
    /// A run that has begun and has not shaken hands yet.
    starting: Mutex<Option<Live>>,
    /// The last run that has ended, and why.
    pub(crate) ended: watch::Sender<(u64, Option<Error>)>,
    /// Held while a run goes live or ends, so that both know of each other.
    pub(crate) transition: Mutex<()>,
    pub(crate) stop: Mutex<Option<Stop>>,
    pub(crate) closing: AtomicBool,
    pub(crate) handshake: Mutex<Option<InitializeReply>>,
    pub(crate) notices: Mutex<Vec<String>>,
    names: Mutex<VecDeque<Uuid>>,
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
        version: Option<CliVersion>,
        verbatim: bool,
    ) -> Self {
        let hub = Mutex::new(Hub::new(config.budget, config.spill_dir.clone()));
        Self {
            config,
            version,
            verbatim,
            handlers: Arc::new(handlers),
            left_open: Arc::default(),
            hub,
            changed: Arc::new(Notify::new()),
            phase: watch::Sender::new(Phase::Starting),
            starting: Mutex::new(None),
            ended: watch::Sender::new((0, None)),
            transition: Mutex::new(()),
            stop: Mutex::new(None),
            closing: AtomicBool::new(false),
            handshake: Mutex::new(None),
            notices: Mutex::new(Vec::new()),
            names: Mutex::new(VecDeque::new()),
            kept: Mutex::new(Vec::new()),
            respawns: AtomicU32::new(0),
        }
    }

    /// Says something that the person should know.
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

    /// Reads what has come so far, for whoever it belongs to.
    pub(crate) fn catch_up(&self) {
        while lock(&self.hub).pump() == Pumped::Something {}
        self.changed.notify_waiters();
    }

    /// The agent, once it runs.
    pub(crate) async fn live(&self) -> Result<Live, Error> {
        let mut phase = self.phase.subscribe();
        let phase = phase.wait_for(|phase| !matches!(phase, Phase::Starting)).await;
        match phase.as_deref() {
            Ok(Phase::Live(live)) => Ok(live.clone()),
            Ok(Phase::Over(error)) => Err(error.clone()),
            _ => Err(Error::Closed),
        }
    }

    /// A run has begun. If nobody wants it any more, it ends at once.
    pub(crate) fn begins(&self, live: &Live) {
        *lock(&self.starting) = Some(live.clone());
        if self.is_closing() {
            self.kill_starting();
        }
    }

    /// The run that has begun goes live.
    pub(crate) fn has_begun(&self) {
        lock(&self.starting).take();
    }

    /// Ends the run that has begun and is not live, if there is one. Needs no runtime.
    pub(crate) fn kill_starting(&self) {
        if let Some(live) = lock(&self.starting).take() {
            live.kill();
        }
    }

    /// Ends what runs, for good. Needs no runtime.
    pub(crate) fn kill(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.kill_starting();
        if let Phase::Live(live) = &*self.phase.borrow() {
            live.kill();
        }
    }

    /// The agent, if it runs now.
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

    /// Asks the agent for something.
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

    /// Asks the agent for something that has no type here.
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

    /// Whether what the agent says can be told.
    ///
    /// # Errors
    /// If its lines could not be kept, in this run or in one before.
    pub(crate) fn can_be_followed(&self, live: &Live) -> Result<(), Error> {
        if let Some(lost) = live.link.standing().borrow().lost.clone() {
            return Err(lost.into());
        }
        lock(&self.hub).can_be_followed()
    }

    /// Remembers the name of a prompt. False if it was used before.
    pub(crate) fn name_is_new(&self, uuid: &Uuid) -> bool {
        let mut names = lock(&self.names);
        if names.contains(uuid) {
            return false;
        }
        if names.len() == NAMES_REMEMBERED {
            names.pop_front();
        }
        names.push_back(uuid.clone());
        true
    }

    pub(crate) fn sit(self: &Arc<Self>, wants: Wants, run: u64) -> Sitting {
        let id = lock(&self.hub).sit(wants, run);
        Sitting { inner: Arc::clone(self), id, parcels: VecDeque::new() }
    }

    /// Whether the agent may be started again after this run.
    pub(crate) fn may_respawn(&self, live: &Live) -> bool {
        if live.link.standing().borrow().results > 0 {
            self.respawns.store(0, Ordering::Relaxed);
        }
        self.has_respawns_left()
    }

    /// Whether the agent may be started once more.
    pub(crate) fn has_respawns_left(&self) -> bool {
        self.respawns.load(Ordering::Relaxed) < self.config.respawn.times
    }

    /// Counts that the agent is started again. Tells how often it was before.
    pub(crate) fn respawned(&self) -> u32 {
        self.respawns.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a prompt, to send it again if the agent dies of it.
    pub(crate) fn keep(&self, prompt: &Prompt) {
        if !self.config.respawn.resend {
            return;
        }
        let mut kept = lock(&self.kept);
        let unanswered: Vec<Uuid> = lock(&self.hub).unanswered().cloned().collect();
        kept.retain(|prompt| prompt.uuid.value().is_some_and(|uuid| unanswered.contains(uuid)));
        kept.push(prompt.clone());
    }

    /// Sends the prompts again that have no result.
    pub(crate) async fn resend_prompts(&self) {
        let unanswered: Vec<Uuid> = lock(&self.hub).unanswered().cloned().collect();
        let kept = lock(&self.kept).clone();
        let Some(live) = self.live_now() else { return };
        for prompt in kept {
            if prompt.uuid.value().is_some_and(|uuid| unanswered.contains(uuid)) {
                // If the agent is gone again, its end tells.
                let _ = live.link.prompt(prompt).await;
            }
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
}

/// A reader's place, given up when it is dropped.
pub(crate) struct Sitting {
    pub(crate) inner: Arc<Inner>,
    id: SeatId,
    /// What was taken already: some at a time, as taking needs a lock.
    parcels: VecDeque<Parcel>,
}

impl Sitting {
    /// What comes next; how it ends if nothing does. It may be dropped while it waits: nothing is lost
    /// by that.
    pub(crate) async fn next(&mut self) -> Result<Parcel, Over> {
        loop {
            if let Some(parcel) = self.at_hand() {
                return Ok(parcel);
            }
            // Empty while it waits.
            let mut parcels = std::mem::take(&mut self.parcels);
            let over = self
                .until(|hub, id| match hub.take(id, &mut parcels) {
                    Found::Nothing => None,
                    Found::Parcels => Some(None),
                    Found::Over(over) => Some(Some(over)),
                })
                .await;
            self.parcels = parcels;
            if let Some(over) = over {
                return Err(over);
            }
        }
    }

    /// What comes next, if it was taken out of the queue already.
    pub(crate) fn at_hand(&mut self) -> Option<Parcel> {
        self.parcels.pop_front()
    }

    /// Whether the prompt was taken; `None` if it never was.
    pub(crate) async fn accepted(&mut self) -> Option<()> {
        self.until(|hub, id| match hub.accepted(id) {
            Some(false) => None,
            Some(true) => Some(Some(())),
            None => Some(None),
        })
        .await
    }

    /// Pumps until there is an answer.
    async fn until<T>(&self, mut find: impl FnMut(&mut Hub, SeatId) -> Option<T>) -> T {
        loop {
            if let Some(found) = self.look(&mut find) {
                return found;
            }
            // Asked for before looking again: what comes in between wakes it all the same.
            let mut changed = std::pin::pin!(self.inner.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = self.look(&mut find) {
                return found;
            }
            changed.await;
        }
    }

    /// Pumps until there is an answer, or nothing more to read.
    fn look<T>(&self, find: &mut impl FnMut(&mut Hub, SeatId) -> Option<T>) -> Option<T> {
        let mut pumped = false;
        loop {
            let mut hub = lock(&self.inner.hub);
            let mut found = find(&mut hub, self.id);
            let mut more = found.is_none();
            let mut left = AT_ONCE;
            while more && left > 0 {
                left -= 1;
                more = hub.pump() == Pumped::Something;
                pumped |= more;
                if more {
                    found = find(&mut hub, self.id);
                    more = found.is_none();
                }
            }
            let shared = hub.readers() > 1;
            drop(hub);
            if pumped && shared {
                // What was read may be for others.
                self.inner.changed.notify_waiters();
            }
            if !more {
                return found;
            }
        }
    }
}

impl Drop for Sitting {
    fn drop(&mut self) {
        lock(&self.inner.hub).leave(self.id);
        // Whoever waits for its lines may have to read them now.
        self.inner.changed.notify_waiters();
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("config", &self.config).finish_non_exhaustive()
    }
}
