//! [`Standing`]: how the conversation stands, as the driver sees it.

use std::sync::{Arc, Mutex, PoisonError};

use duologue_protocol::SessionId;
use duologue_protocol::host_link::HostLink;
use tokio::time::Instant;

use crate::inbox::InboxError;

/// How a conversation stands, as its driver sees it, whatever the consumer has read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Standing {
    /// No turn runs and no prompt waits.
    pub between_turns: bool,
    /// Nothing runs, waits, or works in the background: stdin may close.
    pub idle: bool,
    /// The agent waits for an answer of the host.
    pub asking: bool,
    /// A line could not be read that may have said that something has ended: what seems open may be
    /// over.
    pub unclear: bool,
    /// A tool runs. Only followed with [`Options::watch_tools`](crate::Options::watch_tools).
    pub tools_running: bool,
    /// How many turns have ended.
    pub results: u64,
    /// What the last of them says went wrong, if it did.
    pub failure: Option<String>,
    /// The conversation, once a turn has begun.
    pub session_id: Option<SessionId>,
    /// When the agent last wrote something. A change of this alone wakes nobody.
    pub heard: Instant,
    /// The agent has closed its stdin and said nothing more: that is why the conversation has ended.
    pub deaf: bool,
    /// Why lines of the agent are no longer kept for the consumer, if they are not.
    pub lost: Option<InboxError>,
    /// The agent's stdout has ended.
    pub ended: bool,
    writes: Arc<Writes>,
}

/// How writing to the agent gets on.
#[derive(Debug)]
pub(crate) struct Writes {
    /// When the line that is being written last got on; `None` if none is.
    since: Mutex<Option<Instant>>,
}

/// A line that is being written.
pub(crate) struct Writing<'w>(&'w Writes);

impl Writes {
    pub(crate) const fn new() -> Self {
        Self { since: Mutex::new(None) }
    }

    fn set(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// A line is being written, until this is dropped.
    pub(crate) fn begin(&self) -> Writing<'_> {
        self.progress();
        Writing(self)
    }

    /// Some of the line was written.
    pub(crate) fn progress(&self) {
        self.set(Some(Instant::now()));
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Standing {
    pub(crate) fn new(writes: Arc<Writes>) -> Self {
        Self {
            between_turns: true,
            idle: true,
            asking: false,
            unclear: false,
            tools_running: false,
            results: 0,
            failure: None,
            session_id: None,
            heard: Instant::now(),
            deaf: false,
            lost: None,
            ended: false,
            writes,
        }
    }

    /// Since when the agent takes nothing off its stdin although a line waits there; `None` if none
    /// does. It is always up to date, also in a copy.
    pub fn unread_since(&self) -> Option<Instant> {
        *self.writes.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over how the machine stands. True if something changed.
    pub(crate) fn follow(&mut self, machine: &HostLink, outgoing: bool, ended: bool) -> bool {
        let before = (self.between_turns, self.idle, self.asking, self.unclear, self.tools_running);
        let counted = (self.results, self.ended);
        self.between_turns = machine.is_between_turns();
        self.idle = machine.may_close() && !outgoing;
        self.asking = machine.open_asks().next().is_some();
        self.unclear = machine.is_unclear();
        self.tools_running = machine.awaits_tools();
        self.results = machine.results();
        self.ended = ended;
        let mut changed = before
            != (self.between_turns, self.idle, self.asking, self.unclear, self.tools_running)
            || counted != (self.results, self.ended);
        if self.failure.as_deref() != machine.failure() {
            self.failure = machine.failure().map(str::to_owned);
        }
        if self.session_id.as_ref() != machine.session_id() {
            self.session_id = machine.session_id().cloned();
            changed = true;
        }
        changed
    }
}
