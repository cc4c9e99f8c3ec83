//! Bodies that come piece by piece, stop short, or never end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_core::Stream;
use tokio::sync::mpsc;

use super::Shared;
use crate::scenario::Reply;

/// Pieces that wait for the network. One is enough: what is written is paced by who reads it.
const WAITING: usize = 1;

type Piece = Result<Bytes, io::Error>;

/// A body of these pieces, in the manner that the reply asks for.
pub(super) fn paced(pieces: Vec<Bytes>, reply: &Reply, shared: &Arc<Shared>) -> Body {
    let (sender, receiver) = mpsc::channel(WAITING);
    let pause = Duration::from_millis(reply.pause_ms);
    let (cut_after, stall_after) = (reply.cut_after, reply.stall_after);
    let ended = shared.ended();
    tokio::spawn(async move {
        let play = play(pieces, pause, cut_after, stall_after, &sender);
        tokio::select! {
            // Neither branch is tried again, so that nothing is lost between them.
            () = play => {}
            () = ended => cut(&sender).await,
        }
    });
    Body::from_stream(Pieces(receiver))
}

async fn play(
    pieces: Vec<Bytes>,
    pause: Duration,
    cut_after: Option<usize>,
    stall_after: Option<usize>,
    sender: &mpsc::Sender<Piece>,
) {
    let count = pieces.len();
    for (index, piece) in pieces.into_iter().enumerate() {
        if cut_after == Some(index) {
            return cut(sender).await;
        }
        if stall_after == Some(index) {
            return sender.closed().await;
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        if sender.send(Ok(piece)).await.is_err() {
            return;
        }
    }
    // A reply with fewer events than that is cut, or stalls, where it would have ended.
    if cut_after.is_some_and(|after| after >= count) {
        cut(sender).await;
    } else if stall_after.is_some_and(|after| after >= count) {
        sender.closed().await;
    }
}

/// A body that fails makes the server close the connection in the midst of it.
async fn cut(sender: &mpsc::Sender<Piece>) {
    // Nobody is there to be cut off, if this fails.
    drop(sender.send(Err(io::Error::other("the script cuts here"))).await);
}

struct Pieces(mpsc::Receiver<Piece>);

impl Stream for Pieces {
    type Item = Piece;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(context)
    }
}
