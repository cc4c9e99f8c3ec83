//! [`Recorder`]: writes a tape of a conversation without delaying it.

mod job;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use duologue_protocol::{Direction, Line};

use crate::entry::{Event, Exit, Header};
use crate::redact::Redactor;
use crate::writer::TapeFile;

use job::Job;

/// The default size of the queue, in bytes. A disk that is this far behind does not catch up.
const QUEUE: usize = 256 * 1024 * 1024;

/// How long to wait for a stuck disk at the end, if the tape is incomplete anyway.
const IMPATIENCE: Duration = Duration::from_secs(1);

/// What an item costs besides its bytes.
const ITEM: usize = 64;

/// The niceness of the writer's thread.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// One of the agent's three streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a process has these three")]
pub enum Stream {
    /// Its stdin.
    ToAgent,
    /// Its stdout.
    ToHost,
    /// Its stderr.
    Stderr,
}

impl Stream {
    fn event(self, line: Line) -> Event {
        match self {
            Self::ToAgent => Event::ToAgent(line),
            Self::ToHost => Event::ToHost(line),
            Self::Stderr => Event::Stderr(line),
        }
    }
}

/// Why a recording ended before the conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Stopped(String);

/// Writes a tape in a thread of its own.
///
/// The conversation is passed to a [`Tap`], which never waits. If the disk fails or falls too far behind, recording stops,
/// the last entry of the tape is a note about it, and the conversation continues.
///
/// ```
/// use duologue_tape::{Header, Reader, Recorder, Stream};
/// # let folder = std::env::temp_dir().join(format!("duologue-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("talk.tape");
///
/// let recorder = Recorder::create(&path, &Header::new("claude", ["--verbose"]))?;
/// let tap = recorder.tap();
/// tap.bytes(Stream::ToAgent, b"{\"type\":\"keep_alive\"}\n");
/// recorder.finish(std::time::Duration::from_secs(5))?;
///
/// let mut reader = Reader::new(std::fs::File::open(&path)?);
/// assert!(reader.next_entry()?.is_some());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    tap: Tap,
}

impl Recorder {
    /// Creates the tape, readable by its owner only, compressed if its name ends in `.zst`. Replaces an existing file;
    /// [`RecorderOptions::create_new`] does not.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        Self::options().create(path, header)
    }

    /// Options for a recorder.
    pub fn options() -> RecorderOptions {
        RecorderOptions::default()
    }

    fn with(file: TapeFile, header: Header, options: RecorderOptions) -> io::Result<Self> {
        let RecorderOptions { redactor, queue, on_stop } = options;
        let tap = Tap {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    queue: VecDeque::new(),
                    spare: Vec::new(),
                    spare_chunks: Vec::new(),
                    waiting: 0,
                    closed: false,
                    stopped: None,
                    on_stop,
                    written: None,
                }),
                budget: queue,
                changed: Condvar::new(),
                started: Instant::now(),
            }),
        };
        let shared = Arc::clone(&tap.shared);
        thread::Builder::new().name("tape".to_owned()).spawn(move || {
            // The conversation has priority. On Linux, this affects the current thread only.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(NICE);
            let mut job = Job::new(redactor);
            if let Err(error) = job.run(&shared, file, &header) {
                shared.lock().stop(format!("the tape could not be written: {error}"));
            }
            let counts = job.redactor.map(|redactor| redactor.counts().clone());
            shared.lock().written = Some(counts.unwrap_or_default());
            shared.changed.notify_all();
        })?;
        Ok(Self { tap })
    }

    /// The input of the recorder.
    pub fn tap(&self) -> Tap {
        self.tap.clone()
    }

    /// Waits until everything is on the tape. Gives up if the disk makes no progress for `patience`, or for a second if
    /// recording has stopped already. Returns how many values were replaced, if the tape is redacted.
    ///
    /// # Errors
    /// If recording stopped early.
    pub fn finish(self, patience: Duration) -> Result<crate::redact::Counts, Stopped> {
        let shared = &self.tap.shared;
        let mut state = shared.lock();
        state.closed = true;
        shared.changed.notify_all();
        while state.written.is_none() {
            let before = state.waiting;
            let stopped = state.stopped.is_some();
            let patience = if stopped { patience.min(IMPATIENCE) } else { patience };
            let waited =
                shared.changed.wait_timeout_while(state, patience, |state| state.written.is_none());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.written.is_none() && state.waiting == before {
                state.stop("the disk takes too long to write the rest of the tape".to_owned());
                break;
            }
        }
        match &state.stopped {
            Some(stopped) => Err(stopped.clone()),
            None => Ok(state.written.take().unwrap_or_default()),
        }
    }
}

/// Options for a [`Recorder`].
pub struct RecorderOptions {
    redactor: Option<Redactor>,
    queue: usize,
    on_stop: Option<OnStop>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { redactor: None, queue: QUEUE, on_stop: None }
    }
}

impl RecorderOptions {
    /// Redacts the conversation before it is written.
    #[must_use]
    pub fn redact(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Sets the most bytes to queue for a slow disk. The default is 256 MiB. Beyond that, recording stops.
    #[must_use]
    pub fn queue(mut self, bytes: usize) -> Self {
        self.queue = bytes;
        self
    }

    /// Calls this, in a thread of its own, if recording stops early.
    #[must_use]
    pub fn on_stop(mut self, on_stop: impl FnOnce(&Stopped) + Send + 'static) -> Self {
        self.on_stop = Some(Box::new(on_stop));
        self
    }

    /// Creates the tape, readable by its owner only, compressed if its name ends in `.zst`. Replaces an existing file.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(self, path: &Path, header: &Header) -> io::Result<Recorder> {
        Recorder::with(TapeFile::create(path)?, header.clone(), self)
    }

    /// Creates the tape like [`create`](Self::create), but never replaces a file.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is a file of that name, and any other reason why
    /// the file cannot be created.
    pub fn create_new(self, path: &Path, header: &Header) -> io::Result<Recorder> {
        Recorder::with(TapeFile::create_new(path)?, header.clone(), self)
    }
}

impl std::fmt::Debug for RecorderOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecorderOptions").field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// The input of a [`Recorder`]. It can be cloned and used from any thread, and never waits.
#[derive(Clone, Debug)]
pub struct Tap {
    shared: Arc<Shared>,
}

impl Tap {
    /// Records bytes of a stream. They need not be whole lines.
    pub fn bytes(&self, stream: Stream, bytes: &[u8]) {
        self.push(bytes.len(), |spare| {
            let mut room = spare.pop().unwrap_or_default();
            room.extend_from_slice(bytes);
            What::Bytes(stream, room)
        });
    }

    /// Records bytes of a stream. The chunk is shared, not copied.
    pub fn shared(&self, stream: Stream, chunk: Arc<Vec<u8>>) {
        self.push(chunk.capacity(), |_| What::Shared(stream, chunk));
    }

    /// A chunk that was [`shared`](Self::shared) and has been written, for reuse. New memory is more expensive: the system
    /// has to clear each page.
    pub fn spare(&self) -> Option<Arc<Vec<u8>>> {
        self.shared.lock().spare_chunks.pop()
    }

    /// Records a line of the wire.
    pub fn line(&self, direction: Direction, line: &Line) {
        let stream = match direction {
            Direction::ToHost => Stream::ToHost,
            Direction::ToAgent => Stream::ToAgent,
        };
        self.push(line.raw().len(), |_| What::Event(stream.event(line.clone())));
    }

    /// Records the end of a stream. For stdin, this is a note.
    pub fn end(&self, stream: Stream) {
        self.push(0, |_| What::End(stream));
    }

    /// Records a note about the process.
    pub fn note(&self, text: impl Into<String>) {
        let text = text.into();
        self.push(text.len(), |_| What::Event(Event::Note(text)));
    }

    /// Records the exit of the process. It is the last entry: anything later is ignored.
    pub fn exit(&self, exit: Exit) {
        self.push(0, |_| What::Exit(exit));
    }

    fn push(&self, length: usize, what: impl FnOnce(&mut Vec<Vec<u8>>) -> What) {
        let millis = self.shared.millis();
        let mut state = self.shared.lock();
        if state.closed || state.stopped.is_some() {
            return;
        }
        if state.waiting + length > self.shared.budget {
            return state.stop("the disk is too slow for the conversation".to_owned());
        }
        let cost = length + ITEM;
        state.waiting += cost;
        // The writer sleeps only when it has found nothing.
        let wake = state.queue.is_empty();
        let what = what(&mut state.spare);
        state.closed = matches!(what, What::Exit(_));
        state.queue.push_back(Item { millis, cost, what });
        drop(state);
        if wake {
            self.shared.changed.notify_all();
        }
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// How much may wait.
    budget: usize,
    changed: Condvar,
    started: Instant,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

type OnStop = Box<dyn FnOnce(&Stopped) + Send>;

struct State {
    queue: VecDeque<Item>,
    /// Free buffers.
    spare: Vec<Vec<u8>>,
    /// Chunks that were shared, and have been written. The one that was written last is used first: it may
    /// still be in a cache.
    spare_chunks: Vec<Arc<Vec<u8>>>,
    /// What the queue costs, and what the writer has taken out of it but not written.
    waiting: usize,
    /// There will be nothing more.
    closed: bool,
    stopped: Option<Stopped>,
    on_stop: Option<OnStop>,
    /// The writer has ended; how often what was replaced.
    written: Option<crate::redact::Counts>,
}

impl State {
    fn stop(&mut self, reason: String) {
        if self.stopped.is_some() {
            return;
        }
        let stopped = Stopped(reason);
        self.stopped = Some(stopped.clone());
        if let Some(on_stop) = self.on_stop.take() {
            // The callback may block, so it gets a thread.
            let _ = thread::Builder::new().spawn(move || on_stop(&stopped));
        }
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

struct Item {
    millis: u64,
    cost: usize,
    what: What,
}

enum What {
    Bytes(Stream, Vec<u8>),
    Shared(Stream, Arc<Vec<u8>>),
    End(Stream),
    Event(Event),
    Exit(Exit),
}
