//! Hooks of the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duologue::handlers::{Decision, Hook, HookEvent};
use duologue::protocol::RawObject;
use duologue::protocol::hook::{HookOutput, HookSpecificOutput, UserPromptSubmitOutput};
use duologue_model::Reply;
use serde_json::json;

use super::{ask, close, count, says, tool_results, touch};
use crate::case::{Verdict, holds, same};
use crate::stage::Stage;

pub(super) async fn allow(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("Done.")])).await?;
    let before =
        Hook::new(HookEvent::PreToolUse, async |_| HookOutput::allow_tool()).matcher("Bash");
    let after = Hook::new(HookEvent::PostToolUse, async |_| HookOutput::new());
    let session = builder.hook(before).hook(after).start().await?;
    let (events, outcome) = ask(&session, "Leave a file").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    holds!(stage.wrote("seen"), "the command did not run");
    same!(count(&events, "permission_asked"), 0, "asked");
    same!(count(&events, "hook_answered"), 2, "hooks");
    close(session).await
}

pub(super) async fn deny(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("A pity.")])).await?;
    let hook =
        Hook::new(HookEvent::PreToolUse, async |_| HookOutput::deny_tool("the hook says no"));
    let session = builder.hook(hook).on_permission(async |_| Decision::allow()).start().await?;
    let (events, outcome) = ask(&session, "Leave a file").await?;
    same!(outcome.text(), "A pity.", "the text");
    holds!(!stage.wrote("seen"), "the command ran");
    let results = tool_results(&events);
    holds!(results.iter().any(|(text, _)| text.contains("the hook says no")), "{results:?}");
    close(session).await
}

pub(super) async fn changed_input(stage: &Stage) -> Verdict {
    stage
        .needs("2.0.77", "changes of a hook are ignored: the command runs as the model wrote it")?;
    let (_server, builder) = stage.play(says([touch("one"), Reply::text("Done.")])).await?;
    let hook = Hook::new(HookEvent::PreToolUse, async |_| {
        match RawObject::of(&json!({ "command": "touch another" })) {
            Ok(input) => HookOutput::allow_tool_with(input),
            Err(_) => HookOutput::deny_tool("the test is broken"),
        }
    });
    let session = builder.hook(hook).start().await?;
    ask(&session, "Leave a file").await?;
    holds!(stage.wrote("another") && !stage.wrote("one"), "the changed command did not run");
    close(session).await
}

pub(super) async fn prompt_context(stage: &Stage) -> Verdict {
    let (server, builder) = stage.play(says([Reply::text("Noted.")])).await?;
    let hook = Hook::new(HookEvent::UserPromptSubmit, async |_| {
        let context = UserPromptSubmitOutput::new().additional_context("the tide is low");
        HookOutput::new().specific(HookSpecificOutput::from(context))
    });
    let session = builder.hook(hook).start().await?;
    let (_, outcome) = ask(&session, "Hi").await?;
    same!(outcome.text(), "Noted.", "the text");
    let asked = format!("{:?}", server.requests());
    holds!(asked.contains("the tide is low"), "the context did not arrive");
    close(session).await
}

pub(super) async fn stop_again(stage: &Stage) -> Verdict {
    let replies = [Reply::text("First."), Reply::text("Second.")];
    let (_server, builder) = stage.play(says(replies)).await?;
    let stops = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&stops);
    let hook = Hook::new(HookEvent::Stop, move |_| {
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if first { HookOutput::block("once more") } else { HookOutput::new() } }
    });
    let session = builder.hook(hook).start().await?;
    let (_, outcome) = ask(&session, "Hi").await?;
    same!(outcome.text(), "Second.", "the text");
    same!(stops.load(Ordering::SeqCst), 2, "stops");
    close(session).await
}

pub(super) async fn broken_denies(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("A pity.")])).await?;
    #[allow(clippy::panic, reason = "the case is about a hook that panics")]
    let hook = Hook::new(HookEvent::PreToolUse, async |_| panic!("this case wants a panic"));
    let session = builder.hook(hook).on_permission(async |_| Decision::allow()).start().await?;
    let (_, outcome) = ask(&session, "Leave a file").await?;
    same!(outcome.text(), "A pity.", "the text");
    holds!(!stage.wrote("seen"), "the command ran");
    close(session).await
}

pub(super) async fn too_late(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("A pity.")])).await?;
    let hook =
        Hook::new(HookEvent::PreToolUse, async |_| std::future::pending::<HookOutput>().await)
            .timeout(Duration::from_secs(1));
    let session = builder.hook(hook).on_permission(async |_| Decision::allow()).start().await?;
    let (_, outcome) = ask(&session, "Leave a file").await?;
    same!(outcome.text(), "A pity.", "the text");
    holds!(!stage.wrote("seen"), "the command ran");
    close(session).await
}
