//! What a session passes to the process that it starts, and what it reports about its options.

use duologue::handlers::Decision;
use duologue::launch::{CliVersion, Settings};
use duologue::protocol::RawObject;
use duologue::protocol::permission::PermissionMode;
use duologue::{Claim, Error, OsUser, Session, SessionBuilder, SpawnError, UsageMessage};
use duologue_testkit::fake::{Answer, Script, Step};
use serde_json::{Value, json};

use super::agent::pair;
use super::play::{Play, gone};

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
            .send(json!({
                "type": "result", "subtype": "success", "is_error": is_error, "result": text,
                "session_id": "s1", "user_message_uuids": [uuid],
            }))
            .await;
        let outcome = turn.outcome().await.unwrap();
        assert_eq!(outcome.usage_limit(), limit, "{text}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_failed_start_is_tried_again() {
    let dies = || Script::new().on("initialize", [Step::Stderr("not yet".into()), Step::Die(9)]);
    let play = Play::lives(&[dies(), dies(), Script::new()]);
    let session = play.builder().start_attempts(3).start().await.unwrap();
    assert_eq!(play.stage.starts().len(), 3);
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "hello");
    assert_eq!(session.notices().iter().filter(|notice| notice.contains("not yet")).count(), 2);
    drop((turn, session));
    play.over().await;

    let play = Play::lives(&[dies(), dies(), Script::new()]);
    let error = gone(play.builder().start_attempts(2).start().await.unwrap_err());
    assert_eq!(error.stderr.trim_end(), "not yet");
    assert_eq!(play.stage.starts().len(), 2);
    play.over().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_agent_that_uses_too_much_memory_is_replaced_between_turns() {
    let play = Play::of(Script::new());
    let session = play.builder().recycle_above(1).start().await.unwrap();
    for (number, prompt) in ["one", "two", "three"].into_iter().enumerate() {
        let before = session.pid();
        let mut turn = session.prompt(prompt).await.unwrap();
        assert_eq!(turn.outcome().await.unwrap().text(), prompt);
        // The next agent is the same conversation in another process.
        play.stage.started(number + 2).await;
        session.control().request("get_settings", &json!({})).await.ok();
        assert_ne!(session.pid(), before);
    }
    let starts = play.stage.starts();
    assert!(!starts[0].argv.iter().any(|arg| arg.starts_with("--resume")), "{starts:?}");
    assert!(starts[1].argv.iter().any(|arg| arg.starts_with("--resume")), "{starts:?}");
    drop(session);
    play.over().await;

    let play = Play::of(Script::new());
    let session = play.builder().recycle_above(u64::MAX).start().await.unwrap();
    for prompt in ["one", "two"] {
        session.prompt(prompt).await.unwrap().outcome().await.unwrap();
    }
    assert_eq!(play.stage.starts().len(), 1);
    drop(session);
    play.over().await;
}

#[tokio::test]
async fn a_spare_agent_is_claimed_for_a_session() {
    let reply = json!({ "status": "ok", "session_id": "s1" });
    let claimed = [Step::Reply(Answer::Success(reply))];
    let play = Play::of(Script::new().on("claim_session", claimed));
    let spare = play.builder().prewarm().await.unwrap();
    let start = &play.stage.starts()[0];
    assert!(start.argv.iter().any(|arg| arg == "--await-claim"), "{start:?}");
    assert!(start.cwd.exists());
    let project = tempfile::tempdir().unwrap();
    let settings = json!({ "permissions": { "deny": ["Bash"] }, "verbose": true });
    let claim = Claim::new(project.path())
        .permission_mode(PermissionMode::Plan)
        .model("sonnet")
        .settings(settings.as_object().unwrap().clone());
    let session = spare.claim(claim).await.unwrap();
    assert!(!start.cwd.exists(), "the folder is removed once the agent has left it");
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "hello");
    let requests: Vec<Value> = play.stage.host_values();
    let requests: Vec<&Value> = requests
        .iter()
        .filter(|line| line["type"] == "control_request")
        .map(|line| &line["request"])
        .collect();
    let subtypes: Vec<&str> =
        requests.iter().map(|request| request["subtype"].as_str().unwrap()).collect();
    assert_eq!(
        subtypes,
        ["initialize", "apply_flag_settings", "claim_session", "set_model", "apply_flag_settings"]
    );
    assert_eq!(requests[1]["settings"], json!({ "verbose": true }));
    assert_eq!(requests[2]["cwd"], project.path().to_str().unwrap());
    assert_eq!(
        (&requests[2]["permission_mode"], &requests[2]["sdk_mcp_servers"]),
        (&json!("plan"), &json!([]))
    );
    assert_eq!(requests[4]["settings"], json!({ "permissions": { "deny": ["Bash"] } }));
    drop((turn, session));
    play.over().await;
}

#[tokio::test]
async fn a_refused_claim_ends_the_spare() {
    let play = Play::of(Script::new().refuses("claim_session", "cwd_missing"));
    let spare = play.builder().prewarm().await.unwrap();
    let error = spare.claim(Claim::new("/no/such/folder")).await.unwrap_err();
    assert!(error.to_string().contains("cwd_missing"), "{error}");
    play.over().await;
}
