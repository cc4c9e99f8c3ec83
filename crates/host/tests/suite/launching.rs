//! What a session passes to the process that it starts, and what it reports about its options.

use duologue::handlers::Decision;
use duologue::launch::{CliVersion, Settings};
use duologue::protocol::RawObject;
use duologue::protocol::permission::PermissionMode;
use duologue::{Error, OsUser, Session, SessionBuilder, SpawnError, UsageMessage};
use serde_json::json;

use super::agent::pair;

/// A session whose agent is a shell that prints to stderr and exits.
fn shell(script: &str) -> SessionBuilder {
    Session::builder()
        .program("/bin/sh")
        .program_args(["-c", script, "agent"])
        .cli_version(CliVersion::new(2, 1, 325))
}

async fn stderr(builder: SessionBuilder) -> String {
    match builder.start().await {
        Err(Error::Gone(gone)) => gone.stderr.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_trace_context_is_in_the_environment() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let print = "echo \"$TRACEPARENT ${TRACESTATE-none}\" >&2";
    let with_state = shell(print).env("TRACESTATE", "inherited").trace_context(PARENT, Some("a=1"));
    assert_eq!(stderr(with_state).await, format!("{PARENT} a=1"));
    // The state of another trace is removed.
    let without_state = shell(print).env("TRACESTATE", "inherited").trace_context(PARENT, None);
    assert_eq!(stderr(without_state).await, format!("{PARENT} none"));
    let explicit = shell(print).trace_context(PARENT, None).env("TRACEPARENT", "explicit");
    assert_eq!(stderr(explicit).await, "explicit none");
}

#[tokio::test]
async fn the_agent_may_run_as_another_user() {
    // The option is too long for an argument, so the agent must be able to read the file with it.
    let long = RawObject::of(&json!({ "x": "x".repeat(200_000) })).unwrap();
    let print = "id -u >&2; id -g >&2; for a; do case $a in */duologue-*) test -r \"${a#*=}\" && echo ok >&2;; esac; done";
    let builder =
        shell(print).settings(Settings::from(long)).os_user(OsUser::new(65_534).group(65_533));
    let is_root = rustix::process::geteuid().is_root();
    match builder.start().await {
        Err(Error::Gone(gone)) if is_root => assert_eq!(gone.stderr, "65534\n65533\nok"),
        Err(Error::Spawn(error)) if !is_root => {
            assert!(matches!(&*error, SpawnError::User { uid: 65_534, .. }), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(OsUser::named("root").unwrap(), OsUser::new(0).group(0));
    assert!(OsUser::named("no such user").is_err());
}

#[tokio::test]
async fn a_shadowed_permission_handler_is_a_notice() {
    let asks = || Session::builder().on_permission(|_| async { Decision::allow() });
    let about = |session: &Session| {
        session.notices().into_iter().filter(|notice| notice.contains("permission handler")).count()
    };
    let (session, _agent) = pair(asks().allowed_tools(["Read", "Bash(git *)"])).await;
    assert_eq!(about(&session), 1, "{:?}", session.notices());
    let (session, _agent) = pair(asks().allowed_tools(["Bash(git *)"])).await;
    assert_eq!(about(&session), 0, "{:?}", session.notices());
    let (session, _agent) = pair(Session::builder().allowed_tools(["Read"])).await;
    assert_eq!(about(&session), 0, "{:?}", session.notices());
    let bypass = asks()
        .permission_mode(PermissionMode::BypassPermissions)
        .allow_dangerously_skip_permissions(true);
    let (session, _agent) = pair(bypass).await;
    assert_eq!(about(&session), 1, "{:?}", session.notices());
}

#[tokio::test]
async fn a_turn_that_failed_by_a_usage_limit_says_so() {
    for (text, is_error, limit) in [
        ("You've hit your session limit · resets 3pm", true, Some(UsageMessage::LimitReached)),
        ("You've hit your session limit · resets 3pm", false, None),
        ("The disk is full", true, None),
    ] {
        let (session, mut agent) = pair(Session::builder()).await;
        let mut turn = session.prompt("hi").await.unwrap();
        let (_, uuid) = agent.prompt().await;
        agent.init().await;
        agent
            .say(json!({
                "type": "result", "subtype": "success", "is_error": is_error, "result": text,
                "session_id": "s1", "user_message_uuids": [uuid],
            }))
            .await;
        let outcome = turn.outcome().await.unwrap();
        assert_eq!(outcome.usage_limit(), limit, "{text}: {outcome:?}");
    }
}
