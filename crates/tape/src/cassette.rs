//! [`Cassette`]: records the conversation of a test once, and replays it from then on.

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use duologue::{Session, SessionBuilder};
use duologue_protocol::{Frame, LineDecoder};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio::task::JoinHandle;

mod policy;

use crate::entry::Header;
use crate::error::ReadError;
use crate::recorder::{Recorder, Stopped, Stream};
use crate::redact::Redactor;
use crate::replay::{Match, Mismatch, Player, Step, Wait};
use policy::policy;

pub use policy::Record;

/// Says whether a [`Cassette`] may record: `never`, `missing` or `always`. See [`Record`].
pub const RECORD: &str = "DUOLOGUE_RECORD";

/// How much of a conversation may be on its way.
const PIPE: usize = 64 * 1024;

/// The number of tapes that this process has begun. Each has a temporary name until it is complete.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// How long the disk may make no progress.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a conversation could not be recorded or replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The session failed.
    #[error(transparent)]
    Session(#[from] duologue::Error),
    /// There is no tape, and none may be recorded.
    #[error(
        "there is no tape at {}, and none is recorded because {reason}. Record it where Claude Code is installed: \
         run the test with {RECORD}=missing, and commit the file", path.display()
    )]
    #[non_exhaustive]
    Missing {
        /// Where the tape should be.
        path: PathBuf,
        /// Why none is recorded.
        reason: &'static str,
    },
    /// [`RECORD`] has an unknown value.
    #[error("{RECORD} is {value:?}; it can be never, missing or always")]
    #[non_exhaustive]
    BadVariable {
        /// The value.
        value: String,
    },
    /// The host does something else than on the tape.
    #[error(
        "{mismatch}\nThe tape is {}. If the conversation has changed on purpose, record it again: set {RECORD}=always",
        path.display()
    )]
    #[non_exhaustive]
    Mismatch {
        /// The tape.
        path: PathBuf,
        /// What the host did.
        mismatch: Box<Mismatch>,
    },
    /// The file exists, but it is not a tape.
    #[error("{} is not a tape. To record one in its place, set {RECORD}=always", .0.display())]
    NoTape(PathBuf),
    /// The tape cannot be read.
    #[error("could not read the tape {}: {source}", path.display())]
    #[non_exhaustive]
    Read {
        /// The tape.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// The tape cannot be written.
    #[error("could not write the tape {}: {source}", path.display())]
    #[non_exhaustive]
    Write {
        /// The tape.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Recording stopped early.
    #[error("recording to {} stopped early: {source}", path.display())]
    #[non_exhaustive]
    Stopped {
        /// The tape.
        path: PathBuf,
        /// Why.
        source: Stopped,
    },
}

/// A tape beside a test: recorded if it is missing, replayed if it exists.
///
/// ```no_run
/// # async fn test() -> Result<(), Box<dyn std::error::Error>> {
/// use duologue::Session;
/// use duologue_tape::Cassette;
///
/// let session = Cassette::new("tests/tapes/hello.tape").start(Session::builder()).await?;
/// let outcome = session.prompt("Say hello").await?.outcome().await?;
/// assert!(outcome.is_success());
/// session.close().await?;
/// # Ok(())
/// # }
/// ```
///
/// The first run uses the real agent and keeps the tape, but only if it reaches
/// [`close`](TapedSession::close). Every later run needs no agent. [`Record`] says when the real agent is started.
#[derive(Debug)]
pub struct Cassette {
    path: PathBuf,
    how: Match,
    redactor: Option<Redactor>,
    record: Option<Record>,
}

impl Cassette {
    /// The tape at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), how: Match::Exact, redactor: None, record: None }
    }

    /// How closely prompts and answers must match.
    #[must_use]
    pub const fn matching(mut self, how: Match) -> Self {
        self.how = how;
        self
    }

    /// Redacts the recording.
    #[must_use]
    pub fn redact(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// When to record. [`Record`] describes the default.
    ///
    /// ```
    /// use duologue_tape::{Cassette, Record};
    ///
    /// let cassette = Cassette::new("tests/tapes/hello.tape").record(Record::Never);
    /// ```
    #[must_use]
    pub const fn record(mut self, record: Record) -> Self {
        self.record = Some(record);
        self
    }

    /// When to record, and why.
    fn policy(&self) -> Result<(Record, &'static str), CassetteError> {
        policy(std::env::var_os(RECORD).as_deref(), std::env::var_os("CI").as_deref(), self.record)
    }

    /// Whether the tape is played. If not, it is to be recorded.
    fn plays(&self) -> Result<bool, CassetteError> {
        let (record, reason) = self.policy()?;
        // A tape that cannot be accessed is not a missing tape.
        let exists = self.path.try_exists().map_err(|source| CassetteError::Read {
            path: self.path.clone(),
            source: source.into(),
        })?;
        match record {
            Record::Always => Ok(false),
            _ if exists => Ok(true),
            Record::Missing => Ok(false),
            Record::Never => Err(CassetteError::Missing { path: self.path.clone(), reason }),
        }
    }

    /// Starts a session: with the agent on the tape, or with a real one that is recorded.
    ///
    /// # Errors
    /// If the session cannot be started, or the tape cannot be read or written.
    pub async fn start(self, builder: SessionBuilder) -> Result<TapedSession, CassetteError> {
        if self.plays()? {
            let (player, ours) = self.play()?;
            let (reader, writer) = tokio::io::split(ours.pipe);
            let reader = Playback { pipe: reader, complaint: ours.complaint };
            return match builder.connect(reader, writer).await {
                Ok(session) => Ok(TapedSession { session, side: Side::Player(player) }),
                Err(error) => Err(first(player, error.into()).await),
            };
        }
        let (recorder, builder) = self.tapped(builder)?;
        let session = builder.start().await?;
        Ok(TapedSession { session, side: Side::Recorder(recorder) })
    }

    /// Like [`start`](Self::start), with the agent at the other end of this pipe.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn connect(
        self,
        builder: SessionBuilder,
        agent: DuplexStream,
    ) -> Result<TapedSession, CassetteError> {
        if self.plays()? {
            return self.start(builder).await;
        }
        let (recorder, builder) = self.tapped(builder)?;
        let (reader, writer) = tokio::io::split(agent);
        let session = builder.connect(reader, writer).await?;
        Ok(TapedSession { session, side: Side::Recorder(recorder) })
    }

    fn tapped(
        &self,
        builder: SessionBuilder,
    ) -> Result<(Recording, SessionBuilder), CassetteError> {
        let write = |source| CassetteError::Write { path: self.path.clone(), source };
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(write)?;
        }
        let header = Header::new("claude", ["claude"]);
        let mut options = Recorder::options();
        if let Some(redactor) = &self.redactor {
            options = options.redact(redactor.fresh());
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let from = format!(".{}-{number}-{name}", std::process::id());
        let from = self.path.with_file_name(from);
        let recorder = options.create_new(&from, &header).map_err(write)?;
        let from = Unfinished(from);
        let tap = recorder.tap();
        let builder = builder.tap(move |direction, line| tap.line(direction, line));
        let replaces = self.policy()?.0 == Record::Always;
        Ok((Recording { recorder, from, to: self.path.clone(), replaces }, builder))
    }

    /// Plays the tape at the other end of a pipe.
    fn play(&self) -> Result<(Playing, Playback<DuplexStream>), CassetteError> {
        let path = self.path.clone();
        let read = |source| CassetteError::Read { path: self.path.clone(), source };
        let mut player = Player::new(|| File::open(&path), self.how).map_err(read)?;
        if player.header().map_err(read)?.is_none() {
            return Err(CassetteError::NoTape(path));
        }
        let (ours, its) = tokio::io::duplex(PIPE);
        let complaint = Complaint::default();
        let playback = Playback { pipe: ours, complaint: Arc::clone(&complaint) };
        Ok((tokio::spawn(play(player, its, complaint, path)), playback))
    }
}

type Playing = JoinHandle<Result<(), CassetteError>>;

/// Why the other end stopped, if not at the end of the tape.
type Complaint = Arc<Mutex<Option<String>>>;

/// Plays the agent on the tape. If it stops because of a mismatch, the host gets the reason: a test that
/// fails there should report why.
struct Playback<R> {
    pipe: R,
    complaint: Complaint,
}

impl<R: AsyncRead + Unpin> AsyncRead for Playback<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.pipe).poll_read(context, buffer))?;
        let ended = buffer.filled().len() == before;
        let complaint = || self.complaint.lock().unwrap_or_else(PoisonError::into_inner).take();
        Poll::Ready(match ended.then(complaint).flatten() {
            Some(complaint) => Err(io::Error::other(complaint)),
            None => Ok(()),
        })
    }
}

/// The error of the other end, if it caused the failure of this end; otherwise the error of this end.
async fn first(player: Playing, error: CassetteError) -> CassetteError {
    match player.await {
        Ok(Err(theirs)) => theirs,
        _ => error,
    }
}

async fn play(
    mut player: Player<File>,
    mut pipe: DuplexStream,
    complaint: Complaint,
    path: PathBuf,
) -> Result<(), CassetteError> {
    let played = converse(&mut player, &mut pipe, &path).await;
    if let Err(error) = &played {
        // It is read when the pipe is closed, so it is set before.
        *complaint.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
    drop(pipe);
    played
}

async fn converse(
    player: &mut Player<File>,
    pipe: &mut DuplexStream,
    path: &Path,
) -> Result<(), CassetteError> {
    let read = |source| CassetteError::Read { path: path.to_owned(), source };
    let differs =
        |mismatch| CassetteError::Mismatch { path: path.to_owned(), mismatch: Box::new(mismatch) };
    let mut decoder = LineDecoder::new();
    let mut chunk = vec![0; PIPE];
    loop {
        match player.next_step().map_err(read)? {
            Step::Say(_, Stream::ToHost, line) => {
                // The host is gone and reads no more.
                let _ = pipe.write_all(line.raw()).await;
                let _ = pipe.write_all(b"\n").await;
            }
            // The agent is not a process, so it gets no signals.
            Step::Wait(Wait::Signal(name)) => {
                player.handle_signal(&name);
            }
            Step::Wait(_) => {
                let count = pipe.read(&mut chunk).await.unwrap_or(0);
                let mut rest = chunk.get(..count).unwrap_or_default();
                while let Some(frame) = decoder.next(&mut rest) {
                    if let Frame::Line(line) = frame {
                        player.handle_line(&line).map_err(differs)?;
                    }
                }
                if count == 0 {
                    player.handle_end().map_err(differs)?;
                }
            }
            Step::End(_) => return Ok(()),
            Step::Say(..) => {}
        }
    }
}

/// A session that is recorded or replayed. It is used like any [`Session`].
#[derive(Debug)]
pub struct TapedSession {
    session: Session,
    side: Side,
}

#[derive(Debug)]
enum Side {
    Recorder(Recording),
    Player(Playing),
}

#[derive(Debug)]
struct Recording {
    recorder: Recorder,
    from: Unfinished,
    to: PathBuf,
    /// Whether a tape that exists by now is replaced.
    replaces: bool,
}

/// The temporary file of a tape until it is complete. A test that fails leaves no partial tape.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A complete tape has been moved.
        let _ = fs::remove_file(&self.0);
    }
}

impl TapedSession {
    /// Whether this conversation is being recorded.
    pub const fn is_recorded(&self) -> bool {
        matches!(self.side, Side::Recorder(_))
    }

    /// Ends the conversation. A recording is kept; a replay must have reached its end.
    ///
    /// # Errors
    /// If the session failed, or differs from the tape.
    pub async fn close(self) -> Result<(), CassetteError> {
        let Self { session, side } = self;
        let closed = session.close().await;
        match side {
            Side::Recorder(recording) => {
                closed?;
                finish(recording)
            }
            Side::Player(player) => match player.await {
                Ok(Err(theirs)) => Err(theirs),
                _ => Ok(closed.map(|_| ())?),
            },
        }
    }
}

fn finish(recording: Recording) -> Result<(), CassetteError> {
    let Recording { recorder, from, to, replaces } = recording;
    let tap = recorder.tap();
    tap.end(Stream::ToAgent);
    tap.exit(crate::entry::Exit::with_code(0));
    let stopped = |source| CassetteError::Stopped { path: to.clone(), source };
    let write = |source| CassetteError::Write { path: to.clone(), source };
    recorder.finish(PATIENCE).map_err(stopped)?;
    if replaces {
        return fs::rename(&from.0, &to).map_err(write);
    }
    // Unlike a rename, a link never replaces a tape that another test has written meanwhile.
    match fs::hard_link(&from.0, &to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !to.exists() => {
            // This file system has no links.
            fs::rename(&from.0, &to).map_err(write)
        }
        linked => linked.map_err(write),
    }
}

impl Deref for TapedSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}
