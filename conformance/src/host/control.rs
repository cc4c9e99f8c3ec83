//! Control requests of the host.

use duologue::Error;
use duologue::protocol::permission::PermissionMode;
use duologue_model::Reply;
use serde_json::json;

use super::{ask, close, held, says, until_it_speaks};
use crate::case::{Verdict, holds, same};
use crate::stage::Stage;

/// Sends a request: a refusal is an answer, a timeout is not.
macro_rules! answered {
    ($request:expr) => {
        match $request.await {
            Ok(_) | Err(Error::Refused { .. }) => {}
            Err(error) => {
                return Err($crate::case::Trouble::Fails(format!(
                    "{}: {error}",
                    stringify!($request)
                )));
            }
        }
    };
}

pub(super) async fn round_trips(stage: &Stage) -> Verdict {
    stage.needs("2.1.0", "unknown requests are never answered")?;
    let (_server, builder) = stage.play(says([Reply::text("Hello.")])).await?;
    let session = builder.start().await?;
    ask(&session, "Hi").await?;
    let control = session.control();
    answered!(control.reinitialize());
    answered!(control.get_settings());
    answered!(control.mcp_status());
    answered!(control.get_context_usage());
    answered!(control.get_usage());
    answered!(control.get_session_cost());
    answered!(control.get_binary_version());
    answered!(control.list_models());
    answered!(control.list_permission_rules());
    answered!(control.get_hooks_listing());
    answered!(control.reload_plugins());
    answered!(control.reload_skills());
    answered!(control.reload_output_styles());
    answered!(control.get_status());
    answered!(control.get_plan());
    answered!(control.export_conversation());
    answered!(control.get_workspace_diff());
    answered!(control.file_suggestions("no"));
    answered!(control.read_file(stage.work().join("none").display().to_string()));
    answered!(control.rename_session("A title"));
    answered!(control.set_max_thinking_tokens(Some(1024)));
    answered!(control.set_has_subscribers(true));
    answered!(control.background_tasks(None));
    answered!(control.stop_task("none"));
    answered!(control.cancel_async_message("00000000-0000-4000-8000-000000000000"));
    answered!(control.rewind_files_dry_run("00000000-0000-4000-8000-000000000000"));
    answered!(control.mcp_reconnect("none"));
    answered!(control.mcp_toggle("none", false));
    answered!(control.reset_model());
    close(session).await
}

pub(super) async fn set_model(stage: &Stage) -> Verdict {
    let replies = [Reply::text("Hello."), Reply::text("Hello again.")];
    let (server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    ask(&session, "Hi").await?;
    session.control().set_model("claude-other-model").await?;
    ask(&session, "Hi").await?;
    let last = server.requests().pop().map(|request| format!("{request:?}")).unwrap_or_default();
    holds!(last.contains("claude-other-model"), "the other model was not asked");
    close(session).await
}

pub(super) async fn set_permission_mode(stage: &Stage) -> Verdict {
    let path = stage.work().join("a.txt");
    let write = super::call("Write", json!({ "file_path": path, "content": "x" }));
    let (_server, builder) = stage.play(says([write, Reply::text("Written.")])).await?;
    let session = builder.start().await?;
    // 2.0.77 answers twice: the second answer must not disturb anything.
    session.control().set_permission_mode(PermissionMode::AcceptEdits).await?;
    let (_, outcome) = ask(&session, "Write").await?;
    same!(outcome.text(), "Written.", "the text");
    holds!(stage.wrote("a.txt"), "nothing was written");
    close(session).await
}

pub(super) async fn in_a_turn(stage: &Stage) -> Verdict {
    let (server, builder) = stage.play(says([held("In the middle of it.")])).await?;
    let session = builder.partial_messages(true).start().await?;
    let mut turn = session.prompt("Hi").await?;
    until_it_speaks(&mut turn).await?;
    session.control().set_permission_mode(PermissionMode::Plan).await?;
    session.control().set_permission_mode(PermissionMode::Default).await?;
    server.resume();
    same!(turn.outcome().await?.text(), "In the middle of it.", "the turn");
    close(session).await
}

pub(super) async fn unknown(stage: &Stage) -> Verdict {
    stage.needs("2.1.0", "unknown requests are never answered")?;
    let (_server, builder) = stage.play(says([Reply::text("Hello.")])).await?;
    let session = builder.start().await?;
    let error = session.control_request("frobnicate", &json!({ "x": 1 })).await;
    holds!(matches!(error, Err(Error::Refused { unsupported: true, .. })), "{error:?}");
    let (_, outcome) = ask(&session, "Hi").await?;
    same!(outcome.text(), "Hello.", "the next turn");
    close(session).await
}
