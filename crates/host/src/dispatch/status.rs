//! [`Status`]: the state of a run, as its dispatcher sees it.

use std::sync::{Arc, Mutex, PoisonError};

use duologue_protocol::host_link::HostLink;
use duologue_protocol::transcript::TurnState;
use tokio::time::Instant;

/// The state of a run, as its dispatcher sees it.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    /// No turn runs and no prompt waits.
    pub(crate) between_turns: bool,
    /// Nothing runs, waits, or works in the background: stdin may close.
    pub(crate) idle: bool,
    /// The agent waits for an answer of the host.
    pub(crate) asking: bool,
    /// A line could not be decoded that may have ended something: what seems open may have ended.
    pub(crate) unclear: bool,
    /// A tool runs. Only set with [`Options::watch_tools`](super::Options::watch_tools).
    pub(crate) tools_running: bool,
    /// How many turns have ended.
    pub(crate) results: u64,
    /// When the agent last wrote something. A change of this alone wakes nothing.
    pub(crate) heard: Instant,
    /// Why the dispatcher has stopped reading, if not because stdout ended.
    pub(crate) stopped: Option<String>,
    /// The dispatcher has ended.
    pub(crate) ended: bool,
    writes: Arc<WriteProgress>,
}

/// How writing to the agent proceeds.
#[derive(Debug, Default)]
pub(crate) struct WriteProgress {
    /// When the line that is being written last made progress; `None` if no line is being written.
    since: Mutex<Option<Instant>>,
}

/// A line that is being written.
pub(crate) struct Writing<'w>(&'w WriteProgress);

impl WriteProgress {
    fn set(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// A line is being written, until the guard is dropped.
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

impl Status {
    pub(crate) fn new(writes: Arc<WriteProgress>) -> Self {
        Self {
            between_turns: true,
            idle: true,
            asking: false,
            unclear: false,
            tools_running: false,
            results: 0,
            heard: Instant::now(),
            stopped: None,
            ended: false,
            writes,
        }
    }

    /// Since when the agent has read nothing from its stdin although a line waits there; `None` if no
    /// line waits. Always current, also in a clone.
    pub(crate) fn unread_since(&self) -> Option<Instant> {
        *self.writes.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the state of the machine and of the transcript. True if something changed.
    pub(crate) fn update(
        &mut self,
        machine: &HostLink,
        turns: TurnState,
        outgoing: bool,
        ended: bool,
    ) -> bool {
        let before = (self.between_turns, self.idle, self.asking, self.unclear, self.tools_running);
        let counted = (self.results, self.ended);
        self.between_turns = machine.is_between_turns(turns);
        self.idle = machine.may_close(turns) && !outgoing;
        self.asking = machine.open_asks().next().is_some();
        self.unclear = turns.is_unclear();
        self.tools_running = machine.awaits_tools();
        self.results = turns.results();
        self.ended = ended;
        before != (self.between_turns, self.idle, self.asking, self.unclear, self.tools_running)
            || counted != (self.results, self.ended)
    }
}
