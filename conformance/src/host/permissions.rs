//! Permissions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duologue::handlers::{Decision, PermissionRequest};
use duologue::protocol::RawObject;
use duologue::protocol::permission::{PermissionMode, PermissionRule, PermissionUpdate};
use duologue::{Event, Session};
use duologue_model::Reply;
use serde_json::json;
use tokio::sync::Barrier;

use super::{allow_later, ask, call, close, count, says, tool_results, touch};
use crate::case::{Trouble, Verdict, holds, same};
use crate::stage::Stage;

pub(super) async fn allow(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("Done.")])).await?;
    let session = builder
        .on_permission(|ask: PermissionRequest| async move {
            match ask.tool_name() {
                "Bash" => Decision::allow(),
                _ => Decision::deny("only commands"),
            }
        })
        .start()
        .await?;
    let (events, outcome) = ask(&session, "Leave a file").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    holds!(stage.wrote("seen"), "the command did not run");
    same!(count(&events, "permission_asked"), 1, "asked once");
    same!(count(&events, "permission_resolved"), 1, "resolved once");
    close(session).await
}

pub(super) async fn deny(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("A pity.")])).await?;
    let session = builder.on_permission(async |_| Decision::deny("not today")).start().await?;
    let (events, outcome) = ask(&session, "Leave a file").await?;
    same!(tool_results(&events), [("not today".to_owned(), true)], "the tool's result");
    same!(outcome.denials(), 1, "denials");
    same!(outcome.text(), "A pity.", "the text");
    holds!(!stage.wrote("seen"), "the command ran");
    close(session).await
}

pub(super) async fn deny_and_interrupt(stage: &Stage) -> Verdict {
    let replies = [touch("seen"), Reply::text("And now?")];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session =
        builder.on_permission(async |_| Decision::deny_and_interrupt("stop")).start().await?;
    let (_, outcome) = ask(&session, "Leave a file").await?;
    holds!(outcome.is_interrupted(), "{:?}", outcome.status());
    holds!(!stage.wrote("seen"), "the command ran");
    let (_, outcome) = ask(&session, "Go on").await?;
    same!(outcome.text(), "And now?", "the next turn");
    close(session).await
}

pub(super) async fn changed_input(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("one"), Reply::text("Done.")])).await?;
    let session = builder
        .on_permission(async |_| match RawObject::of(&json!({ "command": "touch another" })) {
            Ok(input) => Decision::allow_with(input),
            Err(_) => Decision::deny("the test is broken"),
        })
        .start()
        .await?;
    ask(&session, "Leave a file").await?;
    holds!(stage.wrote("another") && !stage.wrote("one"), "the changed command did not run");
    close(session).await
}

pub(super) async fn always(stage: &Stage) -> Verdict {
    let replies = [touch("one"), touch("two"), Reply::text("Done.")];
    let (_server, builder) = stage.play(says(replies)).await?;
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let session = builder
        .on_permission(move |ask: PermissionRequest| {
            counter.fetch_add(1, Ordering::SeqCst);
            async move {
                // As a session rule, so that it applies to this session.
                let rule = PermissionRule::new().tool_name(ask.tool_name()).rule_content("touch:*");
                Decision::allow_and_update([PermissionUpdate::allow_in_session([rule])])
            }
        })
        .start()
        .await?;
    ask(&session, "Leave two files").await?;
    holds!(stage.wrote("one") && stage.wrote("two"), "a command did not run");
    if !stage.since("2.1.197") {
        return Err(Trouble::Lacks(
            "a rule for the session does not prevent the next permission request".into(),
        ));
    }
    same!(asked.load(Ordering::SeqCst), 1, "asked");
    close(session).await
}

pub(super) async fn set_mode(stage: &Stage) -> Verdict {
    let write = |name: &str| {
        let path = stage.work().join(name);
        call("Write", json!({ "file_path": path, "content": "x" }))
    };
    let replies = [write("a.txt"), write("b.txt"), Reply::text("Done.")];
    let (_server, builder) = stage.play(says(replies)).await?;
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let session = builder
        .on_permission(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            async { Decision::allow_and_set_mode(PermissionMode::AcceptEdits) }
        })
        .start()
        .await?;
    ask(&session, "Write two files").await?;
    holds!(stage.wrote("a.txt") && stage.wrote("b.txt"), "a file is missing");
    same!(asked.load(Ordering::SeqCst), 1, "asked");
    close(session).await
}

pub(super) async fn by_hand(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("Done.")])).await?;
    let session = builder.answer_by_hand().start().await?;
    let mut turn = session.prompt("Leave a file").await?;
    while let Some(event) = turn.next().await? {
        if let Event::PermissionAsked(asked) = event {
            let id = Some(asked.request_id.clone());
            let id = id.ok_or_else(|| Trouble::fails("the request has no id"))?;
            session.respond(id, Decision::allow()).await?;
        }
    }
    holds!(turn.outcome().await?.is_success(), "it failed");
    holds!(stage.wrote("seen"), "the command did not run");
    close(session).await
}

pub(super) async fn no_handler(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("A pity.")])).await?;
    let session = builder.start().await?;
    let (_, outcome) = ask(&session, "Leave a file").await?;
    same!(outcome.text(), "A pity.", "the text");
    holds!(!stage.wrote("seen"), "the command ran");
    close(session).await
}

pub(super) async fn slow_answer(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([touch("seen"), Reply::text("Done.")])).await?;
    let (builder, asked, go) = allow_later(builder);
    let session = builder.start().await?;
    let mut turn = session.prompt("Leave a file").await?;
    asked.notified().await;
    // The agent answers requests while a permission is open.
    session.control().set_permission_mode(PermissionMode::Default).await?;
    go.notify_one();
    holds!(turn.outcome().await?.is_success(), "it failed");
    holds!(stage.wrote("seen"), "the command did not run");
    close(session).await
}

pub(super) async fn two_at_once(stage: &Stage) -> Verdict {
    let outside = stage.work().with_file_name("outside");
    let mut reply = Reply::new();
    for name in ["a", "b"] {
        std::fs::create_dir_all(&outside)?;
        let path = outside.join(name);
        std::fs::write(&path, name)?;
        reply = reply.say(duologue_model::Block::tool("Read", json!({ "file_path": path })));
    }
    let (_server, builder) = stage.play(says([reply, Reply::text("Read.")])).await?;
    // Both must be open before either is answered.
    let both = Arc::new(Barrier::new(2));
    let session = builder
        .on_permission(move |_| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                Decision::allow()
            }
        })
        .start()
        .await?;
    let (events, outcome) = ask(&session, "Read both").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    same!(count(&events, "tool_result"), 2, "results");
    close(session).await
}

pub(super) async fn modes(stage: &Stage) -> Verdict {
    let replies = || [touch("seen"), Reply::text("Done.")];
    let run = async |mode: PermissionMode| -> Result<bool, Trouble> {
        let (_server, builder) = stage.play(says(replies())).await?;
        let all = mode == PermissionMode::BypassPermissions;
        let builder = builder.permission_mode(mode).allow_dangerously_skip_permissions(all);
        let session: Session = builder.start().await?;
        ask(&session, "Leave a file").await?;
        close(session).await?;
        let wrote = stage.wrote("seen");
        if wrote {
            std::fs::remove_file(stage.work().join("seen"))?;
        }
        Ok(wrote)
    };
    holds!(run(PermissionMode::BypassPermissions).await?, "bypass: the command did not run");
    holds!(!run(PermissionMode::Default).await?, "default: the command ran");
    if stage.since("2.1.0") {
        holds!(!run(PermissionMode::DontAsk).await?, "dontAsk: the command ran");
    }
    Ok(())
}
