//! [`Cassette`]: a test that records its conversation once, and replays it ever after.

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use duologue::{Session, SessionBuilder};
use duologue_protocol::{Frame, Line, LineDecoder};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio::task::JoinHandle;

use crate::entry::Header;
use crate::error::ReadError;
use crate::recorder::{Recorder, Stopped, Stream};
use crate::redact::Redactor;
use crate::replay::{Match, Mismatch, Player, Step, Wait};

/// Set to anything but `0`, it makes every [`Cassette`] record anew.
pub const RECORD: &str = "DUOLOGUE_RECORD";

/// How much of a conversation may be on its way.
const PIPE: usize = 64 * 1024;

/// How many tapes this process has begun: each has a name of its own until it is whole.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// How long the disk may take for nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a conversation could not be recorded or replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The session failed.
    #[error(transparent)]
    Session(#[from] duologue::Error),
    /// The host does something else than on the tape. Record anew with `DUOLOGUE_RECORD=1`.
    #[error("{0}\nIf that is meant to be, record anew: set {RECORD}=1")]
    Mismatch(Mismatch),
    /// The file is there, but is no tape.
    #[error("{} is no tape. To record one in its place, set {RECORD}=1", .0.display())]
    NoTape(PathBuf),
    /// The tape cannot be read.
    #[error("could not read the tape")]
    Read(#[from] ReadError),
    /// The tape cannot be written.
    #[error("could not write the tape")]
    Write(#[from] io::Error),
    /// Recording stopped early.
    #[error("recording stopped early: {0}")]
    Stopped(#[from] Stopped),
}

/// A tape beside a test: recorded if it is missing, replayed if it is there.
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
/// The first run talks to the real agent and keeps the tape, but only if it comes to
/// [`close`](TapedSession::close). Every later run needs no agent. [`RECORD`] makes it record anew.
#[derive(Debug)]
pub struct Cassette {
    path: PathBuf,
    how: Match,
    redactor: Option<Redactor>,
    anew: bool,
}

impl Cassette {
    /// The tape at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let anew = std::env::var_os(RECORD).is_some_and(|value| !value.is_empty() && value != "0");
        Self { path: path.into(), how: Match::Exact, redactor: None, anew }
    }

    /// How alike prompts and answers must be.
    #[must_use]
    pub const fn matching(mut self, how: Match) -> Self {
        self.how = how;
        self
    }

    /// Leaves out what should not be shared.
    #[must_use]
    pub fn redact(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Records anew, whatever is there.
    #[must_use]
    pub const fn record_anew(mut self) -> Self {
        self.anew = true;
        self
    }

    /// Starts a session: with the agent on the tape, or with a real one that is recorded.
    ///
    /// # Errors
    /// If the session cannot be started, or the tape cannot be read or written.
    pub async fn start(self, builder: SessionBuilder) -> Result<TapedSession, CassetteError> {
        if !self.anew && self.path.exists() {
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

    /// Like [`start`](Self::start); what is recorded is the agent at the other end of this pipe.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn connect(
        self,
        builder: SessionBuilder,
        agent: DuplexStream,
    ) -> Result<TapedSession, CassetteError> {
        if !self.anew && self.path.exists() {
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
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
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
        let recorder = options.create_new(&from, &header)?;
        let from = Unfinished(from);
        let tap = recorder.tap();
        let builder = builder.tap(move |direction, line| tap.line(direction, line));
        let replaces = self.anew;
        Ok((Recording { recorder, from, to: self.path.clone(), replaces }, builder))
    }

    /// Plays the tape at the other end of a pipe.
    fn play(&self) -> Result<(Playing, Playback<DuplexStream>), CassetteError> {
        let path = self.path.clone();
        let mut player = Player::new(|| File::open(&path), self.how)?;
        if player.header()?.is_none() {
            return Err(CassetteError::NoTape(path));
        }
        let (ours, its) = tokio::io::duplex(PIPE);
        let complaint = Complaint::default();
        let playback = Playback { pipe: ours, complaint: Arc::clone(&complaint) };
        Ok((tokio::spawn(play(player, its, complaint)), playback))
    }
}

type Playing = JoinHandle<Result<(), CassetteError>>;

/// Why the other end has stopped, if it was not the end of the tape.
type Complaint = Arc<Mutex<Option<String>>>;

/// What the agent on the tape says. Where it stops because of the host, the host is told so: a test that
/// fails there should say why.
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

/// What went wrong at the other end, which is why this end failed; else what this end says.
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
) -> Result<(), CassetteError> {
    let played = converse(&mut player, &mut pipe).await;
    if let Err(error) = &played {
        // Before the pipe is closed, which is when it is looked at.
        *complaint.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
    drop(pipe);
    played
}

async fn converse(player: &mut Player<File>, pipe: &mut DuplexStream) -> Result<(), CassetteError> {
    let mut decoder = LineDecoder::new();
    let mut chunk = vec![0; PIPE];
    loop {
        match player.next_step()? {
            Step::Say(_, Stream::ToHost, line) => {
                // A host that is gone reads no more.
                let _ = pipe.write_all(line.raw()).await;
                let _ = pipe.write_all(b"\n").await;
            }
            // Nobody can send one to an agent that is no process.
            Step::Wait(Wait::Signal(name)) => {
                player.handle_signal(&name);
            }
            Step::Wait(_) => {
                let count = pipe.read(&mut chunk).await.unwrap_or(0);
                let mut rest = chunk.get(..count).unwrap_or_default();
                while let Some(frame) = decoder.next(&mut rest) {
                    if let Frame::Line(line) = frame {
                        told(player, &line)?;
                    }
                }
                if count == 0 {
                    player.handle_end().map_err(CassetteError::Mismatch)?;
                }
            }
            Step::End(_) => return Ok(()),
            Step::Say(..) => {}
        }
    }
}

fn told(player: &mut Player<File>, line: &Line) -> Result<(), CassetteError> {
    player.handle_line(line).map_err(CassetteError::Mismatch)
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
    /// Whether a tape that is there by now is replaced.
    replaces: bool,
}

/// Where a tape is until it is whole. A test that fails must not leave half a tape.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Once it is whole, it is elsewhere.
        let _ = fs::remove_file(&self.0);
    }
}

impl TapedSession {
    /// Whether this conversation is being recorded.
    pub const fn is_recorded(&self) -> bool {
        matches!(self.side, Side::Recorder(_))
    }

    /// Ends the conversation. What was recorded is kept; what was replayed must have come to its end.
    ///
    /// # Errors
    /// If the session failed, or was not the one on the tape.
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
    recorder.finish(PATIENCE)?;
    if replaces {
        return Ok(fs::rename(&from.0, &to)?);
    }
    // Unlike a rename, a link never replaces what another test has written meanwhile.
    match fs::hard_link(&from.0, &to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !to.exists() => {
            // This file system has no links.
            Ok(fs::rename(&from.0, &to)?)
        }
        linked => Ok(linked?),
    }
}

impl Deref for TapedSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}
