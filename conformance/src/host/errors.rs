//! Errors.

use duologue::Error;
use duologue_model::{ApiError, Block, Reply};
use serde_json::json;

use super::{ask, call, close, count, says, touch};
use crate::case::{Verdict, holds, same};
use crate::stage::Stage;

pub(super) async fn api_error(stage: &Stage) -> Verdict {
    let refuse = Reply::error(ApiError::new(400).message("this model is out of paper")).times(12);
    let replies = [refuse, Reply::text("Better.").always()];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.env("CLAUDE_CODE_MAX_RETRIES", "1").start().await?;
    let (_, outcome) = ask(&session, "Hi").await?;
    holds!(!outcome.is_success(), "an API error was taken for success");
    let error = outcome.error().unwrap_or_default().to_owned();
    holds!(error.contains("out of paper"), "the reason is lost: {error}");
    // The session continues.
    session.control().set_model("claude-other-model").await?;
    close(session).await
}

pub(super) async fn retried(stage: &Stage) -> Verdict {
    let replies = [Reply::error(ApiError::new(529)), Reply::text("At last.")];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    let (events, outcome) = ask(&session, "Hi").await?;
    same!(outcome.text(), "At last.", "the text");
    if stage.since("2.1.197") {
        holds!(count(&events, "api_retry") > 0, "the retry was not reported");
    }
    close(session).await
}

pub(super) async fn max_turns(stage: &Stage) -> Verdict {
    let look = || call("Bash", json!({ "command": "ls" }));
    let replies = [look(), look(), look(), Reply::text("Never said.").always()];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.max_turns(1).start().await?;
    let (_, outcome) = ask(&session, "Look").await?;
    holds!(!outcome.is_success(), "it was taken for success");
    same!(outcome.finished().subtype.as_deref(), Some("error_max_turns"), "the subtype");
    close(session).await
}

pub(super) async fn budget(stage: &Stage) -> Verdict {
    stage.needs("2.1.0", "--max-budget-usd is supported since 2.1")?;
    let replies = [Reply::text("Costly.").always()];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.max_budget_usd(0.000_001).start().await?;
    let (_, outcome) = ask(&session, "Hi").await?;
    holds!(outcome.cost_usd() > 0.0, "it cost nothing");
    let next = session.prompt("More").await;
    holds!(matches!(next, Err(Error::OverBudget { .. })), "the budget was not kept");
    close(session).await
}

pub(super) async fn bad_tool_input(stage: &Stage) -> Verdict {
    let bad = Reply::new().say(Block::tool_with_text("Bash", "{\"command\": "));
    let (_server, builder) = stage.play(says([bad, Reply::text("My mistake.")])).await?;
    let session = builder.start().await?;
    let (_, outcome) = ask(&session, "Hi").await?;
    same!(outcome.text(), "My mistake.", "the text");
    close(session).await
}

pub(super) async fn stderr_in_error(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(says([touch("x")])).await?;
    let builder = stage.builder(&server.base_url())?.extra_flag("no-such-flag");
    let error = match builder.start().await {
        Err(error) => error,
        Ok(session) => match ask(&session, "Hi").await {
            Err(error) => error,
            Ok(_) => return Err(crate::case::Trouble::fails("an unknown flag was accepted")),
        },
    };
    holds!(error.to_string().contains("no-such-flag"), "{error}");
    Ok(())
}

pub(super) async fn commands(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([Reply::text("Hello.").always()])).await?;
    let session = builder.start().await?;
    ask(&session, "Hi").await?;
    let before = session.session_id();
    let (_, outcome) = ask(&session, "/cost").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    ask(&session, "/clear").await?;
    let (_, outcome) = ask(&session, "Hi").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    if stage.since("2.1.197") {
        holds!(session.session_id() != before, "the conversation is the old one");
    }
    close(session).await
}

pub(super) async fn compact(stage: &Stage) -> Verdict {
    let replies = [
        Reply::text("The word is heron.").times(3),
        Reply::text("<summary>They spoke of a heron.</summary>").agent("summary"),
        Reply::text("A heron.").always(),
    ];
    let (server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    // There must be something to summarise.
    for _ in 0..3 {
        ask(&session, "Say a word").await?;
    }
    let (events, outcome) = ask(&session, "/compact").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    same!(count(&events, "compacted"), 1, "compaction is reported");
    ask(&session, "Which word?").await?;
    let last = server.requests().pop().map(|request| format!("{request:?}")).unwrap_or_default();
    holds!(last.contains("They spoke of a heron."), "the summary is lost");
    close(session).await
}

pub(super) async fn cut_short(stage: &Stage) -> Verdict {
    stage.needs("2.0.77", "an answer that reaches max_tokens is an error")?;
    let replies = [Reply::text("Half a").stop("max_tokens"), Reply::text("sentence.").always()];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    let (_, outcome) = ask(&session, "Say something long").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    close(session).await
}

pub(super) async fn refused(stage: &Stage) -> Verdict {
    let replies = [Reply::text("I will not").stop("refusal"), Reply::text("Hello.").always()];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    ask(&session, "Do something bad").await?;
    let (_, outcome) = ask(&session, "Say hello").await?;
    same!(outcome.text(), "Hello.", "the session continues");
    close(session).await
}
