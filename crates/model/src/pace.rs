//! Delays, cuts and stalls of a reply, for the server and for `ScriptedModel`.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Sleep;

use crate::scenario::Reply;

/// A stream of the pieces of a reply, paced as the reply says. It fails where the reply is cut, and ends after that.
#[derive(Debug)]
pub(crate) struct Paced<T> {
    pieces: std::vec::IntoIter<T>,
    given: usize,
    pause: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    cut_after: Option<usize>,
    stall_after: Option<usize>,
    is_over: bool,
}

/// The script cuts the reply here.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the script cuts the reply here")]
pub(crate) struct CutHere;

impl<T> Paced<T> {
    pub(crate) fn new(pieces: Vec<T>, reply: &Reply) -> Self {
        Self {
            pieces: pieces.into_iter(),
            given: 0,
            pause: Duration::from_millis(reply.pause_ms),
            waiting: None,
            cut_after: reply.cut_after,
            stall_after: reply.stall_after,
            is_over: false,
        }
    }

    /// Continues where it stalled.
    pub(crate) const fn resume(&mut self) {
        self.stall_after = None;
    }

    /// Whether this many pieces were sent. A reply with fewer pieces is cut, or stalls, at its end.
    fn reached(&self, after: Option<usize>) -> bool {
        after.is_some_and(|after| self.given >= after || self.pieces.len() == 0)
    }
}

impl<T: Unpin> Stream for Paced<T> {
    type Item = Result<T, CutHere>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        if this.reached(this.cut_after) {
            this.is_over = true;
            return Poll::Ready(Some(Err(CutHere)));
        }
        if this.reached(this.stall_after) {
            // Nothing wakes it: the reader has to cancel.
            return Poll::Pending;
        }
        if !this.pause.is_zero() && this.pieces.len() > 0 {
            let pause = this.pause;
            let waiting = this.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            if waiting.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            this.waiting = None;
        }
        let piece = this.pieces.next();
        this.given += 1;
        this.is_over = piece.is_none();
        Poll::Ready(piece.map(Ok))
    }
}
