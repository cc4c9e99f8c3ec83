//! Waiting for the first line of a host before a refused conversation ends the process.
//!
//! A host writes `initialize` as soon as it has started the agent. Claude Code takes longer than that to find out that
//! there is no such conversation; this agent is faster. If it had exited by then, the host would fail to write, and
//! report that in place of the refusal it was sent.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How long a host may take to write its first line.
pub(super) const LIMIT: Duration = Duration::from_secs(2);

/// Waits until the host has written something or closed its end, but not longer than `limit`.
pub(super) async fn wait(mut host: impl AsyncRead + Unpin, limit: Duration) {
    // What it wrote does not matter, nor does an error: the process ends either way.
    let _ = tokio::time::timeout(limit, host.read(&mut [0])).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::time::Instant;

    use super::{LIMIT, wait};

    #[tokio::test(start_paused = true)]
    async fn it_waits_for_the_first_bytes() {
        let (mut host, ours) = tokio::io::duplex(64);
        let waiting = tokio::spawn(wait(ours, LIMIT));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "it did not wait for the host");
        host.write_all(b"{").await.unwrap();
        let start = Instant::now();
        waiting.await.unwrap();
        assert_eq!(start.elapsed().as_millis(), 0, "it waited although the host had written");
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_for_a_host_that_is_gone() {
        let (host, ours) = tokio::io::duplex(64);
        drop(host);
        let start = Instant::now();
        wait(ours, LIMIT).await;
        assert_eq!(start.elapsed().as_millis(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_for_ever() {
        let (_host, ours) = tokio::io::duplex(64);
        let start = Instant::now();
        wait(ours, LIMIT).await;
        assert_eq!(start.elapsed(), LIMIT);
    }
}
