//! claude-wrapper, with its duplex session and a subscriber. Its `send` waits for the result; a subscriber gets the events
//! before it. The process group is its default.

use anyhow::Result;
use claude_wrapper::Claude;
use claude_wrapper::duplex::{
    DuplexOptions, DuplexSession, InboundEvent, PermissionDecision, PermissionHandler,
};
use duologue_bench::hazard::Ending;
use duologue_bench::meter::agent;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;

use crate::tally::Tally;
use crate::{Job, Seen};

pub async fn run(job: Job, tally: &'static Tally) -> Result<()> {
    let claude = Claude::builder().binary(agent()?).build()?;
    let mut options = DuplexOptions::default();
    if job.has_handlers() {
        options = options.on_permission(PermissionHandler::new(move |_| async move {
            job.block();
            PermissionDecision::Allow { updated_input: None }
        }));
    }
    let session = DuplexSession::spawn(&claude, options).await?;
    let mut events = session.subscribe();
    let reader = job.read(tally, async || {
        loop {
            return Some(Ok(match events.recv().await {
                Ok(InboundEvent::Assistant(line)) => text(&line),
                Ok(_) => Seen::Other,
                Err(RecvError::Lagged(count)) => {
                    tally.lost(count);
                    continue;
                }
                Err(RecvError::Closed) => return None,
            }));
        }
    });
    // The subscriber may still have some to read when the turn is over; it ends with the session.
    let (closed, ()) = tokio::join!(converse(job, tally, session), reader);
    tally.report("done");
    closed
}

async fn converse(job: Job, tally: &'static Tally, session: DuplexSession) -> Result<()> {
    match session.send("Go").await {
        Ok(turn) => {
            tally.see(&Ok(Seen::Result));
            let texts = turn.events.iter().filter(|line| matches!(text(line), Seen::Text(_)));
            tally.kept(texts.count() as u64);
        }
        Err(error) => tally.see(&Err(error.into())),
    }
    if job.hazard.ending() != Ending::Close && !job.closes(tally).await {
        return Ok(());
    }
    Ok(session.close().await?)
}

fn text(line: &Value) -> Seen {
    match line["message"]["content"][0]["text"].as_str() {
        Some(text) => Seen::Text(text.len()),
        None => Seen::Other,
    }
}
