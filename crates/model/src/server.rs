//! [`Server`]: the scripted Messages API on loopback.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::purpose::Purpose;
use crate::request::Request;
use crate::scenario::{Scenario, ScenarioError};
use crate::script::{Answer, Mismatch, Script, Unfinished};

mod body;
mod checks;
mod connections;
mod routes;

/// A Messages API that plays a scenario, on this machine only.
///
/// Point the real `claude` at it: set `ANTHROPIC_BASE_URL` to [`Server::base_url`] and `ANTHROPIC_API_KEY` to anything.
/// Dropping it shuts it down.
///
/// ```
/// use duologue_model::{Reply, Scenario, Server};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::start(Scenario::new().reply(Reply::text("Hello."))).await?;
/// println!("ANTHROPIC_BASE_URL={}", server.base_url());
/// server.wait_for(1).await;
/// for exchange in server.requests() {
///     println!("{}: {}", exchange.purpose, exchange.request.prompt());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: Option<JoinHandle<()>>,
}

/// A request and its reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// Its purpose.
    pub purpose: Purpose,
    /// Its agent.
    pub agent: String,
    /// The request.
    pub request: Arc<Request>,
    /// The index of its reply in the scenario. `None` for a fixed reply, or none.
    pub reply: Option<usize>,
    /// Why it got no reply.
    pub mismatch: Option<Mismatch>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    #[non_exhaustive]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// How many requests are kept. A conversation of the real CLI has a few for each turn.
const MOST_REQUESTS: usize = 512;
/// How many bytes of bodies are kept: each request contains the whole conversation.
const MOST_BYTES: usize = 64 << 20;
/// How long open connections have to end at a shutdown. They are notified at once, so this is a safety net.
const GRACE: Duration = Duration::from_secs(2);

/// The state of the routes.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// The number of replies that were used.
    turns: watch::Sender<usize>,
    /// The number of requests.
    asked: watch::Sender<u64>,
    /// Becomes true when the server shuts down; stalled streams end then.
    ending: watch::Sender<bool>,
    /// Becomes true when stalled streams continue.
    resuming: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    script: Script,
    exchanges: VecDeque<(Exchange, usize)>,
    bytes: usize,
    messages: u64,
    /// The first request without a reply.
    mismatch: Option<Mismatch>,
}

impl Server {
    /// Starts it on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// If the scenario is invalid, or no port is free.
    pub async fn start(scenario: Scenario) -> Result<Self, StartError> {
        Self::start_on(SocketAddr::from(([127, 0, 0, 1], 0)), scenario).await
    }

    /// Starts it on this address. There is no authentication: keep it on loopback.
    ///
    /// Requests of web pages are refused. The `Host` of a request must be `localhost`, a loopback address or the address
    /// that the server is bound to (any IP address if that is `0.0.0.0` or `::`), and an `Origin` must be the server itself.
    /// A client has 30 seconds for the headers of a request and 60 seconds for its body of at most 64 MiB. The server keeps
    /// at most 256 connections open; others wait.
    ///
    /// # Errors
    ///
    /// If the scenario is invalid, or the server cannot listen on the address.
    pub async fn start_on(address: SocketAddr, scenario: Scenario) -> Result<Self, StartError> {
        let script = Script::new(scenario)?.for_api();
        let listen = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let bound = listener.local_addr().map_err(listen)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                script,
                exchanges: VecDeque::new(),
                bytes: 0,
                messages: 0,
                mismatch: None,
            }),
            turns: watch::Sender::new(0),
            asked: watch::Sender::new(0),
            ending: watch::Sender::new(false),
            resuming: watch::Sender::new(false),
        });
        let routes = checks::checked(routes::routes(shared.clone()), bound);
        let serving = tokio::spawn(connections::serve(listener, routes, shared.clone()));
        Ok(Self { address: bound, shared, serving: Some(serving) })
    }

    /// Its URL, for `ANTHROPIC_BASE_URL`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The latest requests, oldest first: at most 512, and at most 64 MiB of them. Keys are not kept.
    #[must_use]
    pub fn requests(&self) -> Vec<Exchange> {
        self.shared.lock().exchanges.iter().map(|(exchange, _)| exchange.clone()).collect()
    }

    /// The number of replies that were used.
    #[must_use]
    pub fn turns(&self) -> usize {
        *self.shared.turns.borrow()
    }

    /// Waits until this many replies have begun. Cancel safe.
    pub async fn wait_for(&self, turns: usize) {
        // The sender lives as long as `self`.
        drop(self.shared.turns.subscribe().wait_for(|given| *given >= turns).await);
    }

    /// Waits for requests after the first `seen`. Returns the new ones and the number of all. Cancel safe.
    pub async fn requests_after(&self, seen: u64) -> (Vec<Exchange>, u64) {
        // The sender lives as long as `self`.
        drop(self.shared.asked.subscribe().wait_for(|asked| *asked > seen).await);
        let state = self.shared.lock();
        let new = usize::try_from(state.messages.saturating_sub(seen)).unwrap_or(usize::MAX);
        let known = state.exchanges.len();
        let latest = state.exchanges.iter().skip(known.saturating_sub(new));
        (latest.map(|(exchange, _)| exchange.clone()).collect(), state.messages)
    }

    /// Checks that every request had a reply, and that every reply was used.
    ///
    /// # Errors
    ///
    /// The first request without a reply, or the replies that are left.
    pub fn finished(&self) -> Result<(), Unplayed> {
        let state = self.shared.lock();
        if let Some(mismatch) = &state.mismatch {
            return Err(mismatch.clone().into());
        }
        Ok(state.script.finished()?)
    }

    /// Continues all stalled streams (`stall_after`), and disables later stalls.
    ///
    /// With this, a test can act in the middle of an answer:
    ///
    /// ```
    /// use duologue_model::{Chunk, Reply, Scenario, Server};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// // `message_start`, `content_block_start` and the first word are sent, then nothing.
    /// let reply = Reply::text("One moment.").chunk(Chunk::Words).stall_after(3);
    /// let server = Server::start(Scenario::new().reply(reply)).await?;
    /// server.wait_for(1).await;
    /// // … the client has the beginning of an answer …
    /// server.resume();
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume(&self) {
        self.shared.resuming.send_replace(true);
    }

    /// Shuts it down: streams are cut, and the port is free again.
    pub async fn shutdown(mut self) {
        self.shared.ending.send_replace(true);
        if let Some(mut serving) = self.serving.take()
            && tokio::time::timeout(GRACE, &mut serving).await.is_err()
        {
            serving.abort();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ending.send_replace(true);
    }
}

/// Why a scenario was not played completely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unplayed {
    /// A request had no reply.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A reply had no request.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can leave the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Becomes ready when the server shuts down.
    fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut ending = self.ending.subscribe();
        async move {
            // If the sender is dropped, the server is too.
            drop(ending.wait_for(|ending| *ending).await);
        }
    }

    /// Becomes ready when stalled streams continue.
    fn resumed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut resuming = self.resuming.subscribe();
        async move {
            if resuming.wait_for(|resuming| *resuming).await.is_err() {
                // The server was dropped and ends its streams.
                std::future::pending::<()>().await;
            }
        }
    }

    /// The reply to a request, and the number of its message.
    fn answer(&self, request: Request, bytes: usize) -> Result<(Answer, u64), Mismatch> {
        let mut state = self.lock();
        let answer = state.script.answer(&request);
        state.keep(request, &answer, bytes);
        state.messages += 1;
        let (number, given) = (state.messages, state.script.turns());
        drop(state);
        self.turns.send_replace(given);
        self.asked.send_replace(number);
        answer.map(|answer| (answer, number))
    }
}

impl State {
    fn keep(&mut self, request: Request, answer: &Result<Answer, Mismatch>, bytes: usize) {
        let (purpose, agent, reply, mismatch) = match answer {
            Ok(answer) => (answer.purpose, &answer.agent, answer.index, None),
            Err(mismatch) => (request.purpose(), &mismatch.agent, None, Some(mismatch.clone())),
        };
        if self.mismatch.is_none() {
            self.mismatch.clone_from(&mismatch);
        }
        let (agent, request) = (agent.clone(), Arc::new(request));
        let exchange = Exchange { purpose, agent, request, reply, mismatch };
        self.exchanges.push_back((exchange, bytes));
        self.bytes += bytes;
        while self.exchanges.len() > MOST_REQUESTS
            || (self.bytes > MOST_BYTES && self.exchanges.len() > 1)
        {
            let Some((_, bytes)) = self.exchanges.pop_front() else { break };
            self.bytes -= bytes;
        }
    }
}
