//! [`Mirror`]: copies a running session into a store without holding it up.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{SessionKey, SessionStore};
use crate::transcript::Entry;

/// When entries are written to the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlushMode {
    /// When [`Mirror::flush`] is called (at the end of a turn), or more than 500 entries or 1 MiB wait.
    #[default]
    Batched,
    /// At once.
    Eager,
}

/// How a mirror behaves. The defaults are those of the official SDKs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MirrorOptions {
    /// When entries are written.
    pub flush_mode: FlushMode,
    /// How many entries may wait. More are dropped, and that is reported.
    pub max_entries: usize,
    /// How many bytes may wait. More are dropped, and that is reported.
    pub max_bytes: usize,
    /// The pauses before further attempts. One more attempt is made than there are pauses.
    pub pauses: Vec<Duration>,
    /// A call of the store that takes longer is reported as slow.
    pub slow_after: Duration,
}

impl Default for MirrorOptions {
    fn default() -> Self {
        Self {
            flush_mode: FlushMode::Batched,
            max_entries: 10_000,
            max_bytes: 64 << 20,
            pauses: vec![Duration::from_millis(200), Duration::from_millis(800)],
            slow_after: Duration::from_secs(60),
        }
    }
}

/// What went wrong with a mirror. The session itself goes on: its transcript is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MirrorProblem {
    /// The store refused entries at every attempt. They were dropped.
    Failed {
        /// The transcript.
        key: SessionKey,
        /// How many entries are missing.
        entries: usize,
        /// What the store reported last.
        reason: String,
    },
    /// A call of the store takes long. Further entries wait.
    Slow {
        /// The transcript.
        key: SessionKey,
        /// How many entries are being written.
        entries: usize,
    },
    /// Too much waits for a slow store. Entries were dropped.
    Overflow {
        /// The transcript.
        key: SessionKey,
        /// How many entries are missing.
        entries: usize,
    },
}

impl MirrorProblem {
    /// Entries that were not stored, for this reason.
    pub fn failed(key: SessionKey, entries: usize, reason: impl Into<String>) -> Self {
        Self::Failed { key, entries, reason: reason.into() }
    }
}

impl fmt::Display for MirrorProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, entries) = match self {
            Self::Failed { key, entries, .. }
            | Self::Slow { key, entries }
            | Self::Overflow { key, entries } => (key, entries),
        };
        let session = &key.session_id;
        match self {
            Self::Failed { reason, .. } => {
                write!(
                    formatter,
                    "{entries} entries of session {session} were not stored: {reason}"
                )
            }
            Self::Slow { .. } => {
                write!(formatter, "storing {entries} entries of session {session} takes long")
            }
            Self::Overflow { .. } => {
                write!(
                    formatter,
                    "{entries} entries of session {session} were dropped: the store is too slow"
                )
            }
        }
    }
}

/// Thresholds above which waiting entries are written without a flush.
const BATCH_ENTRIES: usize = 500;
const BATCH_BYTES: usize = 1 << 20;

type Report = dyn Fn(MirrorProblem) + Send + Sync;

/// Copies entries into a store on a thread of its own. The caller never waits for the store.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use duologue_sessions::Entry;
/// use duologue_sessions::store::{MemoryStore, Mirror, MirrorOptions, SessionKey, SessionStore};
///
/// let store = Arc::new(MemoryStore::new());
/// let mirror = Mirror::start(store.clone(), MirrorOptions::default(), |problem| eprintln!("{problem}"));
/// let key = SessionKey::new("-my", "11111111-2222-4333-8444-555555555555");
/// mirror.push(&key, vec![Entry::new(br#"{"type":"user"}"#.to_vec())]);
/// assert!(mirror.flush(Duration::from_secs(10)));
/// assert!(store.load(&key)?.is_some());
/// # Ok::<(), duologue_sessions::Error>(())
/// ```
pub struct Mirror {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    options: MirrorOptions,
    report: Box<Report>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(SessionKey, Vec<Entry>)>,
    entries: usize,
    bytes: usize,
    /// What is being written, and since when. The flag: whether it was reported as slow.
    writing: Option<(SessionKey, usize, Instant, bool)>,
    flush: bool,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.writing.is_none()
    }

    /// Whether something is to be written now.
    fn is_due(&self, options: &MirrorOptions) -> bool {
        !self.waiting.is_empty()
            && (self.flush
                || self.closed
                || options.flush_mode == FlushMode::Eager
                || self.entries > BATCH_ENTRIES
                || self.bytes > BATCH_BYTES)
    }
}

impl Mirror {
    /// Starts the thread. `report` is called on it, or on the thread that pushes too much.
    pub fn start(
        store: Arc<dyn SessionStore>,
        options: MirrorOptions,
        report: impl Fn(MirrorProblem) + Send + Sync + 'static,
    ) -> Self {
        let state = Mutex::new(State::default());
        let shared =
            Arc::new(Shared { state, changed: Condvar::new(), options, report: Box::new(report) });
        let own = Arc::clone(&shared);
        let worker = std::thread::Builder::new()
            .name("session-mirror".to_owned())
            .spawn(move || work(&own, &*store))
            .ok();
        Self { shared, worker }
    }

    /// Takes entries for a transcript. This returns at once.
    pub fn push(&self, key: &SessionKey, entries: Vec<Entry>) {
        if entries.is_empty() {
            return;
        }
        let (count, bytes) =
            (entries.len(), entries.iter().map(|entry| entry.bytes().len()).sum::<usize>());
        let mut state = self.shared.lock();
        let options = &self.shared.options;
        let too_much =
            state.entries + count > options.max_entries || state.bytes + bytes > options.max_bytes;
        let mut problems = Vec::new();
        if too_much || self.worker.is_none() {
            problems.push(MirrorProblem::Overflow { key: key.clone(), entries: count });
        } else {
            state.entries += count;
            state.bytes += bytes;
            match state.waiting.back_mut() {
                Some((last, waiting)) if last == key && waiting.len() < BATCH_ENTRIES => {
                    waiting.extend(entries)
                }
                _ => state.waiting.push_back((key.clone(), entries)),
            }
        }
        problems.extend(slow(&mut state, options));
        self.shared.changed.notify_all();
        drop(state);
        problems.into_iter().for_each(|problem| (self.shared.report)(problem));
    }

    /// Writes everything that waits, and waits for that at most this long. False if it takes longer: it goes on then.
    pub fn flush(&self, timeout: Duration) -> bool {
        let mut state = self.shared.lock();
        state.flush = true;
        self.shared.changed.notify_all();
        let end = Instant::now().checked_add(timeout);
        while !state.is_idle() {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                let problem = slow(&mut state, &self.shared.options);
                drop(state);
                problem.into_iter().for_each(|problem| (self.shared.report)(problem));
                return false;
            }
            let wait = left.unwrap_or(Duration::from_secs(3600));
            let waited = self.shared.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Writes everything that waits and ends the thread. False if that takes longer than this: what waits then is lost.
    pub fn close(mut self, timeout: Duration) -> bool {
        let done = self.flush(timeout);
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        if let Some(worker) = self.worker.take().filter(|_| done) {
            let _ = worker.join();
        }
        done
    }
}

impl Drop for Mirror {
    /// Lets the thread write what waits, without waiting for it.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Mirror {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        let mut debug = formatter.debug_struct("Mirror");
        debug.field("entries", &state.entries).field("bytes", &state.bytes).finish_non_exhaustive()
    }
}

/// A problem to report if the store has been busy for too long. It is reported once for each call.
fn slow(state: &mut State, options: &MirrorOptions) -> Option<MirrorProblem> {
    let (key, entries, since, reported) = state.writing.as_mut()?;
    if *reported || since.elapsed() < options.slow_after {
        return None;
    }
    *reported = true;
    Some(MirrorProblem::Slow { key: key.clone(), entries: *entries })
}

fn work(shared: &Shared, store: &dyn SessionStore) {
    let mut state = shared.lock();
    loop {
        if state.waiting.is_empty() {
            state.flush = false;
            shared.changed.notify_all();
            if state.closed {
                return;
            }
        }
        if !state.is_due(&shared.options) {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let Some((key, mut entries)) = state.waiting.pop_front() else { continue };
        // What waits for the same transcript goes with it.
        while let Some(next) = state.waiting.iter().position(|(other, _)| *other == key) {
            if entries.len() >= BATCH_ENTRIES {
                break;
            }
            entries.extend(state.waiting.remove(next).map(|(_, more)| more).unwrap_or_default());
        }
        state.writing = Some((key.clone(), entries.len(), Instant::now(), false));
        drop(state);
        let problem = write(shared, store, &key, &entries);
        if let Some(problem) = problem {
            (shared.report)(problem);
        }
        state = shared.lock();
        let bytes = entries.iter().map(|entry| entry.bytes().len()).sum::<usize>();
        state.entries = state.entries.saturating_sub(entries.len());
        state.bytes = state.bytes.saturating_sub(bytes);
        state.writing = None;
        shared.changed.notify_all();
    }
}

fn write(
    shared: &Shared,
    store: &dyn SessionStore,
    key: &SessionKey,
    entries: &[Entry],
) -> Option<MirrorProblem> {
    let mut pauses = shared.options.pauses.iter();
    loop {
        let reason = match store.append(key, entries) {
            Ok(()) => return None,
            Err(error) => error.to_string(),
        };
        let Some(pause) = pauses.next() else {
            return Some(MirrorProblem::Failed {
                key: key.clone(),
                entries: entries.len(),
                reason,
            });
        };
        std::thread::sleep(*pause);
    }
}
