//! The async runtime, and Ctrl-C.

use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Builder;
use tokio::sync::watch;

/// How long to wait at the end for writes to a stdout that is not read.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// Runs a future to its end.
///
/// It runs on this thread. The agent is read and answered on other threads.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let result = runtime.block_on(future);
    runtime.shutdown_timeout(OUTPUT_GRACE);
    result
}

/// Counts Ctrl-C. It no longer ends this process.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts(watch::Receiver<u32>);

impl Interrupts {
    /// Starts to count. Must be called in a runtime.
    pub(crate) fn new() -> Self {
        let (count, counted) = watch::channel(0);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                count.send_modify(|count| *count += 1);
            }
            std::future::pending::<()>().await;
        });
        Self(counted)
    }

    /// Waits until it was pressed this many times. Cancel safe.
    pub(crate) async fn pressed(&mut self, times: u32) {
        if self.0.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// How often it was pressed.
    pub(crate) fn count(&self) -> u32 {
        *self.0.borrow()
    }
}
