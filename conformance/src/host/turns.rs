//! Several prompts at once.

use duologue::Event;
use duologue_model::Reply;

use super::{all, allow_later, close, held, read_so_far, says, touch, until_it_speaks};
use crate::case::{Trouble, Verdict, holds, same};
use crate::stage::Stage;

pub(super) async fn queued(stage: &Stage) -> Verdict {
    let replies = [held("The first answer, in parts."), Reply::text("The rest.").always()];
    let (server, builder) = stage.play(says(replies)).await?;
    let session = builder.partial_messages(true).start().await?;
    let mut first = session.prompt("one").await?;
    holds!(first.accepted().await?, "the first was not accepted");
    // The first turn cannot end before both others are queued.
    until_it_speaks(&mut first).await?;
    let mut second = session.prompt("two").await?;
    let mut third = session.prompt("three").await?;
    read_so_far(&session).await?;
    server.resume();
    same!(first.outcome().await?.text(), "The first answer, in parts.", "the first");
    same!(second.outcome().await?.text(), "The rest.", "the second");
    same!(third.outcome().await?.text(), "The rest.", "the third");
    close(session).await
}

pub(super) async fn folded(stage: &Stage) -> Verdict {
    // A prompt that arrives while a permission is open joins the same turn or the next.
    let replies = [touch("seen"), Reply::text("Both answered.").always()];
    let (_server, builder) = stage.play(says(replies)).await?;
    let (builder, asked, go) = allow_later(builder);
    let session = builder.start().await?;
    let mut first = session.prompt("one").await?;
    asked.notified().await;
    let mut second = session.prompt("two").await?;
    go.notify_one();
    same!(first.outcome().await?.text(), "Both answered.", "the first");
    same!(second.outcome().await?.text(), "Both answered.", "the second");
    close(session).await
}

pub(super) async fn cancelled(stage: &Stage) -> Verdict {
    stage.needs("2.1.197", "prompts cannot be cancelled")?;
    let replies = [held("The first answer, in parts."), Reply::text("Never asked for.").always()];
    let (server, builder) = stage.play(says(replies)).await?;
    let session = builder.partial_messages(true).start().await?;
    let mut first = session.prompt("one").await?;
    holds!(first.accepted().await?, "the first was not accepted");
    until_it_speaks(&mut first).await?;
    let mut second = session.prompt("never mind").await?;
    holds!(second.cancel().await?, "it could not be cancelled");
    let (_, outcome) = all(&mut second).await?;
    holds!(outcome.is_cancelled(), "{:?}", outcome.status());
    server.resume();
    same!(first.outcome().await?.text(), "The first answer, in parts.", "the first");
    let asked = format!("{:?}", server.requests());
    holds!(!asked.contains("never mind"), "the model was asked all the same");
    close(session).await
}

pub(super) async fn accepted(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([Reply::text("Taken.")])).await?;
    let session = builder.start().await?;
    let mut turn = session.prompt("one").await?;
    holds!(turn.accepted().await?, "it was not taken");
    let (events, _) = all(&mut turn).await?;
    let accepted = events.iter().filter(|event| matches!(event, Event::PromptAccepted(_))).count();
    same!(accepted, 1, "acceptance is reported");
    close(session).await
}

pub(super) async fn two_in_flight(stage: &Stage) -> Verdict {
    let replies = [held("An answer."), Reply::text("An answer.").always()];
    let (server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    let mut turns = Vec::new();
    for prompt in ["one", "two", "three"] {
        turns.push(session.prompt(prompt).await?);
    }
    // The first turn cannot end before the others are queued.
    read_so_far(&session).await?;
    server.resume();
    // Read in reverse order: nothing depends on the order of reading.
    for turn in turns.iter_mut().rev() {
        let outcome = turn.outcome().await?;
        holds!(outcome.is_success(), "{:?}", outcome.error());
        if outcome.text() != "An answer." {
            return Err(Trouble::fails(format!("the text is {:?}", outcome.text())));
        }
    }
    close(session).await
}
