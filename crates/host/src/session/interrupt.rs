//! Interrupts: a receipt at once, and an end within a deadline.

use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::Uuid;
use duologue_protocol::control::{Interrupt, InterruptReply};

use crate::error::Error;
use crate::process::{Ladder, Signal};
use crate::timeouts::{EXIT_AFTER_SIGINT, INTERRUPT_RECEIPT};

use super::inner::{Inner, Live, Phase, Stop, lock};

/// The agent's reply to an interrupt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InterruptReceipt {
    /// Whether there was something to interrupt: a turn ran, or a prompt waited.
    pub effective: bool,
    /// Prompts that still wait and will be taken next.
    pub still_queued: Vec<Uuid>,
    /// Prompts that were taken back.
    pub cancelled: Vec<Uuid>,
}

/// Interrupts what runs. If it has not ended within the deadline, the agent is killed.
pub(crate) async fn interrupt(
    inner: &Arc<Inner>,
    live: &Live,
    stuck: Option<String>,
) -> Result<InterruptReceipt, Error> {
    let (effective, results) = {
        let status = live.link.status();
        let status = status.borrow();
        (!status.between_turns, status.results)
    };
    if effective {
        tokio::spawn(kill_unless_settled(Arc::clone(inner), live.clone(), results, stuck));
    }
    let reply = live.link.request(Interrupt::new(), Some(INTERRUPT_RECEIPT)).await;
    let reply: InterruptReply = match reply {
        Ok(reply) => reply,
        Err(error) => {
            return Err(match Error::of_request("interrupt", Some(INTERRUPT_RECEIPT), error) {
                Some(error) => error,
                None => inner.why_ended(live.number).await,
            });
        }
    };
    Ok(InterruptReceipt {
        effective,
        still_queued: reply.still_queued.items().to_vec(),
        cancelled: reply.cancelled.items().to_vec(),
    })
}

/// Waits until the turn has ended, and kills the agent if it does not.
async fn kill_unless_settled(inner: Arc<Inner>, live: Live, results: u64, stuck: Option<String>) {
    if settles(&live, results, inner.config.settle).await {
        return;
    }
    let settle = inner.config.settle.as_secs_f64();
    let why = stuck.unwrap_or_else(|| "it was interrupted".to_owned());
    *lock(&inner.stop) = Some(Stop::Stuck(format!("{why}, and did not stop within {settle} s")));
    live.remote.kill();
}

/// Waits until a turn has ended since, or none runs. False if that takes too long.
async fn settles(live: &Live, results: u64, within: Duration) -> bool {
    let mut status = live.link.status();
    let settled =
        status.wait_for(|status| status.results != results || status.between_turns || status.ended);
    tokio::time::timeout(within, settled).await.is_ok()
}

/// Sends SIGINT to the agent alone. An agent that dies of it is started again.
pub(crate) async fn abort_by_signal(inner: &Arc<Inner>) -> Result<(), Error> {
    let live = inner.live().await?;
    let Some(process) = live.remote.process() else { return Err(Error::Closed) };
    let results = live.link.status().borrow().results;
    *lock(&inner.stop) = Some(Stop::Abort);
    if process.signal_child(Signal::Int).is_err() {
        // It has ended by itself: its supervisor handles that.
        *lock(&inner.stop) = None;
        return Ok(());
    }
    if !settles(&live, results, inner.config.settle).await {
        process.end(Ladder::at_once()).await;
    }
    // Current versions of the CLI exit. An agent that keeps running is left alone.
    let exited = tokio::time::timeout(EXIT_AFTER_SIGINT, process.exited()).await.is_ok();
    if exited {
        let mut phase = inner.phase.subscribe();
        let again = |phase: &Phase| match phase {
            Phase::Live(now) => now.number != live.number,
            Phase::Starting => false,
            Phase::Over(_) => true,
        };
        return match phase.wait_for(again).await.as_deref() {
            Ok(Phase::Over(error)) => Err(error.clone()),
            _ => Ok(()),
        };
    }
    *lock(&inner.stop) = None;
    Ok(())
}
