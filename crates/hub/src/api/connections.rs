//! Connections: at most so many at once, and none that sends its headers for ever.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// How many connections are open at once. Further ones wait to be accepted.
const MOST_CONNECTIONS: usize = 2048;

/// How long a client may take for the headers of a request.
const HEADERS: Duration = Duration::from_secs(30);

/// How long to wait after a connection could not be accepted: usually, there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Becomes ready when the server ends.
pub(super) async fn ended(mut ending: watch::Receiver<bool>) {
    // If the sender is dropped, the server is too.
    drop(ending.wait_for(|ending| *ending).await);
}

/// Serves connections until the server ends, then waits for those that are open.
pub(super) async fn serve(listener: TcpListener, routes: Router, ending: watch::Receiver<bool>) {
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut open = JoinSet::new();
    let mut end = std::pin::pin!(ended(ending.clone()));
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = &mut end => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, routes.clone(), ending.clone());
                open.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        while open.try_join_next().is_some() {}
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, routes: Router, ending: watch::Receiver<bool>) {
    // Entries are small writes: with Nagle's algorithm each would wait for the acknowledgement of the one before.
    drop(stream.set_nodelay(true));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let service = TowerToHyperService::new(routes);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A client that breaks off is its own affair.
        served = connection.as_mut() => return drop(served),
        () = ended(ending) => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}
