//! A panic in a handler is an answer, not the end of the session.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs a handler to its end. Nothing of it is used after a panic, so that nothing broken is seen.
///
/// # Errors
/// With what it said, if it panicked.
pub(super) async fn caught<F: Future>(start: impl FnOnce() -> F) -> Result<F::Output, String> {
    let future = catch_unwind(AssertUnwindSafe(start)).map_err(said)?;
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(said(panic))),
        }
    })
    .await
}

fn said(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => {
            panic.downcast::<&str>().map_or_else(|_| "no message".into(), |text| (*text).into())
        }
    }
}
