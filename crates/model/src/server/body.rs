//! Bodies that are sent piece by piece, until the server shuts down.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use futures_core::Stream;

use super::Shared;
use crate::pace::{CutHere, Paced};

/// A body of these pieces.
pub(super) fn paced(pieces: Paced<Bytes>, shared: &Arc<Shared>) -> Body {
    let ended = Some(Box::pin(shared.ended()) as Signal);
    let resumed = Some(Box::pin(shared.resumed()) as Signal);
    Body::from_stream(Until { pieces, ended, resumed, is_cut: false })
}

/// Pieces that are cut off when the server shuts down. A body that fails closes the connection.
struct Until {
    pieces: Paced<Bytes>,
    /// `None` after it was cut off.
    ended: Option<Signal>,
    /// Becomes ready when stalled streams are resumed. `None` after that.
    resumed: Option<Signal>,
    is_cut: bool,
}

type Signal = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Stream for Until {
    type Item = Result<Bytes, CutHere>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(ended) = &mut this.ended else { return Poll::Ready(None) };
        if this.is_cut || ended.as_mut().poll(context).is_ready() {
            this.ended = None;
            return Poll::Ready(Some(Err(CutHere)));
        }
        if let Some(resumed) = &mut this.resumed
            && resumed.as_mut().poll(context).is_ready()
        {
            this.resumed = None;
            this.pieces.resume();
        }
        let next = Pin::new(&mut this.pieces).poll_next(context);
        if let Poll::Ready(Some(Err(CutHere))) = next {
            // A body that fails drops what is not written yet: flush it first.
            this.is_cut = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        next
    }
}
