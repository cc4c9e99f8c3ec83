//! Connections, with a limit on their number and timeouts.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Shared;

/// The most open connections. Further ones wait to be accepted.
const MOST_CONNECTIONS: usize = 256;

/// How long a client may take for the headers of a request.
const HEADERS: Duration = Duration::from_secs(30);

/// How long to wait after a connection could not be accepted: usually, there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until the server shuts down, then waits for open ones.
pub(super) async fn serve(listener: TcpListener, routes: Router, shared: Arc<Shared>) {
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut open = JoinSet::new();
    let mut ended = std::pin::pin!(shared.ended());
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = &mut ended => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, routes.clone(), Arc::clone(&shared));
                open.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        // Those that are done.
        while open.try_join_next().is_some() {}
    }
    while open.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, routes: Router, shared: Arc<Shared>) {
    // Events are small writes: with Nagle's algorithm each would wait for the acknowledgement of the one before.
    drop(stream.set_nodelay(true));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let service = TowerToHyperService::new(routes);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // A client that breaks off is its own affair.
    tokio::select! {
        served = connection.as_mut() => return drop(served),
        () = shared.ended() => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}
