//! Duologue.

use anyhow::Result;
use duologue::handlers::{Decision, Hook, HookEvent, PermissionRequest};
use duologue::protocol::hook::HookOutput;
use duologue::{Event, Session};
use duologue_bench::hazard::DEADLINE;
use duologue_bench::meter::agent;

use crate::tally::Tally;
use crate::{Job, Seen};

pub async fn run(job: Job, tally: &'static Tally) -> Result<()> {
    let mut builder = Session::builder().program(agent()?);
    if job.has_handlers() {
        builder = builder
            .on_permission(move |_: PermissionRequest| async move {
                job.block();
                Decision::allow()
            })
            .answer_within(DEADLINE)
            .hook(Hook::new(HookEvent::PreToolUse, |_| async { HookOutput::new() }));
    }
    let session = builder.start().await?;
    let mut turn = session.prompt("Go").await?;
    job.read(tally, async || {
        Some(match turn.next().await {
            Ok(event) => Ok(match event? {
                Event::Text(text) => Seen::Text(text.text.len()),
                Event::TurnFinished(_) => Seen::Result,
                _ => Seen::Other,
            }),
            Err(error) => Err(error.into()),
        })
    })
    .await;
    drop(turn);
    if job.closes(tally).await {
        session.close().await?;
    }
    Ok(())
}
