//! A panic in a handler becomes an error response. The session continues.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs a handler to its end. After a panic its state is dropped, so no broken state can be observed.
///
/// # Errors
/// With the panic's message, if it panicked.
pub(super) async fn catch_panic<F: Future>(start: impl FnOnce() -> F) -> Result<F::Output, String> {
    let future = catch_unwind(AssertUnwindSafe(start)).map_err(message)?;
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(message(panic))),
        }
    })
    .await
}

fn message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => {
            panic.downcast::<&str>().map_or_else(|_| "no message".into(), |text| (*text).into())
        }
    }
}
