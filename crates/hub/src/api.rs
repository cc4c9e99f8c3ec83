//! [`Server`]: the HTTP API of a hub.
//!
//! | route | scope | what |
//! |---|---|---|
//! | `GET /healthz` | none | the process lives |
//! | `GET /readyz` | none | the log can be read |
//! | `POST /v1/pair` | none | exchanges a one-time code for a token and a cookie |
//! | `GET`, `POST /v1/tokens`, `DELETE /v1/tokens/{id}` | admin | tokens |
//! | `PUT /v1/sessions/{id}` | control | creates a session |
//! | `GET /v1/sessions`, `GET /v1/sessions/{id}` | read | sessions |
//! | `POST /v1/sessions/{id}/close` | control | closes it |
//! | `PUT`, `DELETE /v1/sessions/{id}/prompts/{prompt}` | prompt | queues a prompt, takes it out of the queue |
//! | `GET /v1/sessions/{id}/prompts/{prompt}` | read | its state |
//! | `POST /v1/sessions/{id}/interrupt` | prompt | interrupts a turn |
//! | `POST /v1/sessions/{id}/entries` | prompt | publishes an entry of the client |
//! | `GET /v1/sessions/{id}/log` | read | a page of the log |
//! | `GET /v1/sessions/{id}/stream` | read | the log from a cursor, then live |
//! | `GET /v1/asks`, `GET /v1/asks/{id}` | read | what agents ask |
//! | `POST /v1/asks/{id}/answer` | answer, or control | answers it |

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::hub::Hub;

mod call;
mod checks;
mod connections;
mod handlers;
mod problem;
mod stream;
mod tokens;
mod views;

pub use tokens::{PairingCode, Scope, TokenError, TokenInfo, Tokens};

/// How long open connections have to end at a shutdown. They are notified at once.
const GRACE: Duration = Duration::from_secs(5);

/// Options of a [`Server`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Names under which clients reach the hub, beside `localhost` and its address.
    pub hosts: Vec<String>,
    /// How many streams may be open at once.
    pub streams: usize,
    /// How often a stream that has nothing to send shows that it lives.
    pub beat: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { hosts: Vec::new(), streams: 1024, beat: Duration::from_secs(15) }
    }
}

/// The HTTP API of a hub.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    ending: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// What all routes share.
#[derive(Debug)]
struct App {
    hub: Hub,
    tokens: Tokens,
    options: ServerOptions,
    streams: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
}

impl Server {
    /// Serves a hub on a listener.
    ///
    /// # Errors
    ///
    /// If the address of the listener is not known.
    pub fn start(
        listener: TcpListener,
        hub: Hub,
        tokens: Tokens,
        options: ServerOptions,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let ending = watch::Sender::new(false);
        let hosts = options.hosts.clone();
        let app = Arc::new(App {
            hub,
            tokens,
            streams: Arc::new(Semaphore::new(options.streams)),
            options,
            ending: ending.subscribe(),
        });
        let routes = checks::checked(handlers::routes(app), address, hosts);
        let serving = tokio::spawn(connections::serve(listener, routes, ending.subscribe()));
        Ok(Self { address, ending, serving })
    }

    /// Its address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Accepts nothing more, ends the streams, and waits for what is being answered.
    pub async fn shutdown(mut self) {
        self.ending.send_replace(true);
        if tokio::time::timeout(GRACE, &mut self.serving).await.is_err() {
            self.serving.abort();
        }
    }
}
