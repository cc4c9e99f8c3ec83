//! Interrupts.

use std::sync::Arc;
use std::time::Duration;

use duologue::Session;
use duologue::handlers::Decision;
use duologue_model::{Reply, Scenario, When};
use serde_json::json;
use tokio::sync::Notify;

use super::{all, ask, call, close, held, says, touch, until_it_speaks};
use crate::case::{Verdict, holds, same};
use crate::stage::Stage;

/// A model that stalls after its first word, then gives a short answer.
fn dawdles() -> Scenario {
    says([held(&"word ".repeat(400)), Reply::text("Still here.")])
}

/// The next prompt must work.
async fn goes_on(session: Session) -> Verdict {
    let (_, outcome) = ask(&session, "Are you there?").await?;
    same!(outcome.text(), "Still here.", "the next turn");
    close(session).await
}

pub(super) async fn streaming(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(dawdles()).await?;
    let session = builder.partial_messages(true).start().await?;
    let mut turn = session.prompt("Talk").await?;
    until_it_speaks(&mut turn).await?;
    let receipt = session.interrupt().await?;
    holds!(receipt.effective, "there was nothing to interrupt");
    let (_, outcome) = all(&mut turn).await?;
    holds!(outcome.is_interrupted(), "{:?}", outcome.status());
    goes_on(session).await
}

pub(super) async fn idle(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([Reply::text("Still here.")])).await?;
    let session = builder.start().await?;
    let receipt = session.interrupt().await?;
    holds!(!receipt.effective, "there was something to interrupt");
    goes_on(session).await
}

pub(super) async fn right_away(stage: &Stage) -> Verdict {
    // Whether the model is asked before the interrupt arrives depends on timing. It does not answer either way.
    let replies = [
        Reply::text("Still here.").when(When::prompt("Are you there?")).always(),
        Reply::text("Never said.").stall_after(0),
    ];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    let mut turn = session.prompt("Talk").await?;
    let receipt = session.interrupt().await?;
    holds!(receipt.effective, "there was nothing to interrupt");
    let (_, outcome) = all(&mut turn).await?;
    holds!(outcome.is_interrupted(), "{:?}", outcome.status());
    goes_on(session).await
}

pub(super) async fn twice(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(dawdles()).await?;
    let session = builder.partial_messages(true).start().await?;
    let mut turn = session.prompt("Talk").await?;
    until_it_speaks(&mut turn).await?;
    let (first, second) = tokio::join!(session.interrupt(), session.interrupt());
    first?;
    second?;
    let (_, outcome) = all(&mut turn).await?;
    holds!(outcome.is_interrupted(), "{:?}", outcome.status());
    goes_on(session).await
}

pub(super) async fn during_tool(stage: &Stage) -> Verdict {
    let sleep = call("Bash", json!({ "command": "touch begun && sleep 30" }));
    let (_server, builder) = stage.play(says([sleep, Reply::text("Still here.")])).await?;
    let session = builder.on_permission(async |_| Decision::allow()).start().await?;
    let mut turn = session.prompt("Sleep").await?;
    while !stage.wrote("begun") {
        // Poll the stage: no line reports that a command runs.
        let _ = tokio::time::timeout(Duration::from_millis(50), turn.next()).await;
    }
    session.interrupt().await?;
    let (_, outcome) = all(&mut turn).await?;
    holds!(outcome.is_interrupted(), "{:?}", outcome.status());
    goes_on(session).await
}

pub(super) async fn open_permission(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("Still here.")])).await?;
    let asked = Arc::new(Notify::new());
    let called = Arc::clone(&asked);
    let session = builder
        .on_permission(move |_| {
            called.notify_one();
            std::future::pending::<Decision>()
        })
        .start()
        .await?;
    let mut turn = session.prompt("Leave a file").await?;
    asked.notified().await;
    session.interrupt().await?;
    let (_, outcome) = all(&mut turn).await?;
    holds!(outcome.is_interrupted(), "{:?}", outcome.status());
    holds!(!stage.wrote("seen"), "the command ran");
    goes_on(session).await
}

pub(super) async fn by_signal(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(dawdles()).await?;
    let session = builder.partial_messages(true).start().await?;
    let before = session.pid();
    let mut turn = session.prompt("Talk").await?;
    until_it_speaks(&mut turn).await?;
    session.abort_by_signal().await?;
    let (_, outcome) = all(&mut turn).await?;
    holds!(outcome.is_interrupted(), "{:?}", outcome.status());
    holds!(session.pid() != before, "the agent was not started again");
    goes_on(session).await
}
