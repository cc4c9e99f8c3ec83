//! [`To`]: where an agent writes.

use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncWrite, BufWriter};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::connection::Connection;
use crate::fault::{Faulty, Wrote};

/// How much is written at once.
const CHUNK: usize = 64 * 1024;

/// Where an agent writes.
pub(crate) enum To<W> {
    Pipe(W),
    /// Written by a thread of its own. What tokio does instead goes through two threads for each line.
    Stdout,
}

impl To<Stdout> {
    pub(crate) const fn stdout() -> Self {
        Self::Stdout
    }
}

impl<W: AsyncWrite + Unpin + Send + 'static> To<W> {
    /// Starts to write queued lines, until `closed` and the queue is empty.
    pub(super) fn write(
        self,
        connection: Arc<Connection>,
        closed: oneshot::Receiver<()>,
    ) -> JoinHandle<Wrote> {
        match self {
            Self::Pipe(writer) => tokio::spawn(write(writer, connection, closed)),
            Self::Stdout => {
                let runtime = Handle::current();
                let stdout = BufWriter::with_capacity(CHUNK, Stdout);
                tokio::task::spawn_blocking(move || {
                    runtime.block_on(write(stdout, connection, closed))
                })
            }
        }
    }
}

/// Stdout, for a thread that may wait there.
#[derive(Debug)]
pub(crate) struct Stdout;

impl AsyncWrite for Stdout {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Poll::Ready(std::io::stdout().write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(std::io::stdout().flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.poll_flush(context)
    }
}

/// Writes queued lines until `closed` and the queue is empty.
async fn write<W: AsyncWrite + Unpin>(
    writer: W,
    connection: Arc<Connection>,
    mut closed: oneshot::Receiver<()>,
) -> Wrote {
    let mut writer = Faulty::new(writer, connection.options.fault);
    if writer.begin().await.is_err() {
        connection.stop_writing();
    }
    let mut is_closing = false;
    loop {
        let lines = connection.take_lines();
        if lines.is_empty() && is_closing {
            writer.end().await;
            return Wrote::Line;
        }
        for line in &lines {
            match writer.write(line).await {
                Ok(Wrote::Dead) => return Wrote::Dead,
                Ok(Wrote::Line) => {}
                // The host reads no more. The CLI continues, too.
                Err(_) => connection.stop_writing(),
            }
        }
        if !lines.is_empty() {
            let _ = writer.flush().await;
            continue;
        }
        tokio::select! {
            () = connection.to_write.notified() => {}
            _ = &mut closed => is_closing = true,
        }
    }
}
