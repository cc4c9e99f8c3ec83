//! [`serve`]: a conversation over a pipe, from its first line to its exit code.

mod write;

use std::sync::Arc;

use duologue_protocol::{Frame, LineDecoder};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf,
};

use crate::agent::{Agent, RequestHandler, TurnError};
use crate::connection::{Begun, Connection};
use crate::fault::Wrote;
use crate::options::Options;
use crate::session::Session;
use crate::turn::Turn;

pub(crate) use write::To;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exit {
    /// What a process should exit with: 1 if the last turn failed, or a line was fatal.
    pub code: u8,
    /// A message for stderr.
    pub message: Option<String>,
}

impl Exit {
    /// An exit with code 0 and no message.
    pub const fn success() -> Self {
        Self { code: 0, message: None }
    }

    /// An exit with code 1 and no message.
    pub const fn failure() -> Self {
        Self { code: 1, message: None }
    }
}

/// Serves an agent over these two ends of a pipe, until the host has closed its end and all work is done.
///
/// ```
/// use duologue_agent::{Agent, Options, Turn, TurnResult, serve};
/// use tokio::io::AsyncWriteExt;
///
/// struct Parrot;
/// impl Agent for Parrot {
///     async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
///         turn.say(turn.text()).await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let stdin: &[u8] = br#"{"type":"user","message":{"role":"user","content":"Hi"}}"#;
/// let exit = serve(Parrot, stdin, tokio::io::sink(), Options::new()).await;
/// assert_eq!(exit.code, 0);
/// # Ok(())
/// # }
/// ```
pub async fn serve<A, R, W>(mut agent: A, reader: R, writer: W, options: Options) -> Exit
where
    A: Agent,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let connection = Connection::new(options);
    serve_on(&mut agent, &connection, reader, To::Pipe(writer)).await
}

/// Serves an agent in a task of this program, and gives a host its two ends of the pipe: for tests.
///
/// ```
/// use duologue_agent::{Agent, Options, Turn, TurnResult, in_process};
/// use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
///
/// struct Parrot;
/// impl Agent for Parrot {
///     async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
///         turn.say(turn.text()).await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let (reader, mut writer) = in_process(Parrot, Options::new());
/// writer.write_all(br#"{"type":"user","message":{"role":"user","content":"Hi"}}"#).await?;
/// writer.write_all(b"\n").await?;
/// let first = BufReader::new(reader).lines().next_line().await?;
/// assert!(first.is_some_and(|line| line.contains(r#""subtype":"init""#)));
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// Outside of a tokio runtime.
pub fn in_process<A: Agent + 'static>(
    agent: A,
    options: Options,
) -> (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
    let (ours, theirs) = tokio::io::duplex(CHUNK);
    let (reader, writer) = tokio::io::split(ours);
    tokio::spawn(serve(agent, reader, writer, options));
    tokio::io::split(theirs)
}

/// Serves an agent as a process does: signals count. SIGTERM ends it at once, with all that it runs.
pub(crate) async fn serve_process<A, R, W>(
    agent: &mut A,
    reader: R,
    to: To<W>,
    options: Options,
) -> Exit
where
    A: Agent,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let is_lenient = options.lenient;
    let connection = Connection::new(options);
    let signals = tokio::spawn({
        let connection = Arc::clone(&connection);
        async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if is_lenient {
                    connection.with(|state| state.link.handle_interrupt());
                } else {
                    connection.leave();
                }
            }
        }
    });
    let exit = tokio::select! {
        exit = serve_on(agent, &connection, reader, to) => exit,
        () = terminated() => Exit { code: TERMINATED, message: None },
    };
    signals.abort();
    exit
}

/// As shells count it: 128 and SIGTERM.
const TERMINATED: u8 = 143;

/// Waits for SIGTERM.
async fn terminated() {
    if let Ok(mut signal) =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    {
        signal.recv().await;
        return;
    }
    std::future::pending::<()>().await;
}

/// Stdin, read by a thread of its own: a runtime does not end while one of its threads waits there.
pub fn stdin() -> tokio::io::DuplexStream {
    let (ours, mut theirs) = tokio::io::duplex(CHUNK);
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut chunk = vec![0; CHUNK];
        while let Ok(count) = std::io::Read::read(&mut stdin, &mut chunk)
            && count > 0
        {
            let bytes = chunk.get(..count).unwrap_or_default();
            if runtime.block_on(theirs.write_all(bytes)).is_err() {
                return;
            }
        }
    });
    ours
}

async fn serve_on<A, R, W>(
    agent: &mut A,
    connection: &Arc<Connection>,
    reader: R,
    to: To<W>,
) -> Exit
where
    A: Agent,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let session = Session { connection: Arc::clone(connection) };
    if let Some(hooks) = agent.local_hooks() {
        connection.set_local_hooks(hooks);
    }
    agent.start(&session);
    session.say_init_at_start();
    let reading = tokio::spawn(read(reader, session.clone(), agent.requests()));
    let (closing, closed) = tokio::sync::oneshot::channel();
    let mut writing = to.write(Arc::clone(connection), closed);
    let wrote = tokio::select! {
        () = turns(agent, &session) => None,
        wrote = &mut writing => Some(wrote),
    };
    reading.abort();
    let wrote = match wrote {
        Some(wrote) => wrote,
        None => {
            // A session handle may still queue lines, but they are not written.
            let _ = closing.send(());
            writing.await
        }
    };
    if matches!(wrote, Ok(Wrote::Dead)) {
        return Exit { code: 1, message: None };
    }
    let message = connection.fatal.borrow().as_ref().map(|fatal| fatal.message.clone());
    Exit { code: connection.exit_code(), message }
}

/// Reads the host. This never waits for a turn.
async fn read<R>(mut reader: R, session: Session, handler: Option<RequestHandler>)
where
    R: AsyncRead + Unpin,
{
    let mut decoder = LineDecoder::new().max_line(usize::MAX);
    let mut chunk = vec![0; CHUNK];
    let hear = |frame| {
        if let Frame::Line(line) = frame {
            for (key, request) in session.connection.handle_line(&line) {
                session.answer(key, &request, handler.as_ref());
            }
        }
    };
    loop {
        match reader.read(&mut chunk).await {
            Ok(0) => break,
            Ok(count) => {
                let mut bytes = chunk.get(..count).unwrap_or_default();
                while let Some(frame) = decoder.next(&mut bytes) {
                    hear(frame);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if let Some(frame) = decoder.finish() {
        hear(frame);
    }
    session.connection.with(|state| state.link.handle_end());
}

async fn turns<A: Agent>(agent: &mut A, session: &Session) {
    while let Some(begun) = session.connection.next_turn().await {
        let mut fatal = session.connection.fatal.subscribe();
        tokio::select! {
            () = one_turn(agent, session, begun) => {}
            // The process ends at once, whatever runs.
            _ = fatal.wait_for(Option::is_some) => return,
        }
    }
}

async fn one_turn<A: Agent>(agent: &mut A, session: &Session, begun: Begun) {
    agent.before_turn(session).await;
    let mut turn = Turn::new(session, begun);
    let blocked = turn.submit().await;
    if blocked.is_none() {
        agent.opening(&mut turn).await;
    }
    if !turn.begin(blocked).await {
        return;
    }
    let outcome = loop {
        if turn.is_interrupted() {
            break Err(TurnError::Interrupted);
        }
        let emitter = turn.emitter();
        let patience = async {
            emitter.interrupted().await;
            tokio::time::sleep(session.connection.options.grace).await;
        };
        let outcome = tokio::select! {
            outcome = agent.turn(&mut turn) => outcome,
            () = patience => Err(TurnError::Interrupted),
        };
        let is_over = outcome.is_err() || turn.is_interrupted() || turn.is_local();
        if is_over || turn.may_stop().await {
            break outcome;
        }
    };
    turn.finish(outcome).await;
}
