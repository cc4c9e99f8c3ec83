//! Recycling: an agent that uses too much memory is replaced between turns.

use std::sync::Arc;

use crate::dispatch::Status;

use super::inner::{Inner, Live, Stop, lock};

/// Checks the memory of one run after each turn.
pub(crate) async fn watch(inner: Arc<Inner>, live: Live, limit: u64) {
    let Some(process) = live.remote.process().cloned() else { return };
    let mut changes = live.link.status();
    let mut checked = 0;
    loop {
        let due = |status: &Status| status.ended || (is_idle(status) && status.results > checked);
        checked = match changes.wait_for(due).await {
            Ok(status) if !status.ended => status.results,
            _ => return,
        };
        let measured = process.clone();
        // It reads all of `/proc`.
        let memory = tokio::task::spawn_blocking(move || measured.memory()).await;
        if let Ok(Some(bytes)) = memory
            && bytes > limit
            && recycle(&inner, &live, bytes).await
        {
            return;
        }
    }
}

/// Nothing runs, waits or is asked, also in the background.
const fn is_idle(status: &Status) -> bool {
    status.idle && !status.asking && !status.ended
}

/// Ends the agent, which is then started again in its conversation. Returns false if a prompt was sent in the
/// meantime.
async fn recycle(inner: &Inner, live: &Live, bytes: u64) -> bool {
    // No prompt is sent until the end of this run is known. Prompts then wait for the next run.
    let _prompts = inner.prompts.write().await;
    if !is_idle(&live.link.status().borrow()) || inner.is_closing() {
        return false;
    }
    inner
        .notice(format!("the agent was restarted between turns: it used {} MB", bytes / 1_000_000));
    *lock(&inner.stop) = Some(Stop::Recycle);
    live.remote.mark_asked_to_end();
    live.link.close_now();
    let ended = async {
        inner.why_ended(live.number).await;
    };
    live.remote.end(inner.config.ladder, ended).await;
    inner.why_ended(live.number).await;
    true
}
