//! The fake agent: behaviour like the CLI, and what scripts change.

use duologue_protocol::{Decoded, Line};
use duologue_testkit::fake::{Kind, Script, Step};
use duologue_testkit::peers::imitated_version;
use serde_json::{Value, json};

use super::host::{Host, kinds, stage};

fn text(text: &str) -> Step {
    Step::Text(text.to_owned())
}

#[test]
fn without_faults_it_writes_like_the_cli() {
    let (_dir, stage) = stage(&[Script::new()]);
    let mut host = Host::start(&stage, &["--replay-user-messages", "--session-id", "s-1"]);
    host.request("req_1", &json!({ "subtype": "initialize", "hooks": null }));
    let hello = host.read();
    assert_eq!(hello["response"]["request_id"], "req_1");
    assert_eq!(hello["response"]["response"]["claude_code_version"], imitated_version());
    host.prompt("Hi", "u-1");
    let lines = host.until("result");
    let expected = [
        "command_lifecycle/queued",
        "command_lifecycle/started",
        "system/init",
        "user",
        "assistant",
        "result",
    ];
    assert_eq!(kinds(&lines), expected);
    assert_eq!(lines[3]["uuid"], "u-1");
    assert_eq!(lines[3]["isReplay"], true);
    assert_eq!(lines[5]["result"], "Hi");
    assert_eq!(lines[5]["user_message_uuids"], json!(["u-1"]));
    assert_eq!(lines[5]["session_id"], "s-1");
    for line in lines.iter().chain([&hello]) {
        let line = Line::from(line.to_string());
        assert!(matches!(line.to_host(), Decoded::Known(_)), "{line:?}");
    }
    assert_eq!(host.finish().code(), Some(0));
    let sent: Vec<Value> = stage.host_values();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1]["message"]["content"], "Hi");
    let starts = stage.starts();
    assert_eq!(stage.pids(), [host.child.id()]);
    assert_eq!(starts[0].argv[1], "--replay-user-messages");
}

#[test]
fn it_prints_its_version() {
    let program = env!("CARGO_BIN_EXE_fake-agent");
    let output = std::process::Command::new(program).arg("--version").output().unwrap();
    assert_eq!(output.stdout, format!("{} (Claude Code)\n", imitated_version()).as_bytes());
}

#[test]
fn prompts_that_wait_are_joined() {
    let script = Script::new().turn([
        Step::Init,
        Step::WaitFor(Kind::Prompt),
        Step::WaitFor(Kind::Prompt),
        Step::Done("one".to_owned()),
    ]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    for (prompt, uuid) in [("a", "u-1"), ("b", "u-2"), ("c", "u-3"), ("c", "u-3")] {
        host.prompt(prompt, uuid);
    }
    assert_eq!(host.until("result").last().unwrap()["user_message_uuids"], json!(["u-1"]));
    let lines = host.until("result");
    let result = lines.last().unwrap();
    assert_eq!(result["user_message_uuids"], json!(["u-2", "u-3"]));
    assert_eq!(result["result"], "b\nc");
    assert_eq!(host.finish().code(), Some(0));
}

#[test]
fn prompts_join_a_turn_after_a_tool() {
    let script = Script::new().turn([
        Step::Init,
        Step::can_use_tool("1", "Bash", json!({})),
        Step::WaitFor(Kind::Prompt),
        Step::ToolResult { id: "toolu_1".to_owned(), content: String::new(), is_error: false },
        Step::Done("both".to_owned()),
    ]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    host.until("control_request");
    host.prompt("b", "u-2");
    host.answer("1", &json!({ "behavior": "allow" }));
    let lines = host.until("result");
    assert_eq!(lines.last().unwrap()["user_message_uuids"], json!(["u-1", "u-2"]));
    assert_eq!(host.finish().code(), Some(0));
}

#[test]
fn an_interrupt_withdraws_requests_and_ends_the_turn() {
    let tool = Step::ToolUse { id: "toolu_1".into(), name: "Bash".into(), input: json!({}) };
    let ask = Step::can_use_tool("1", "Bash", json!({}));
    let script = Script::new().turn([Step::Init, tool, ask, text("never said")]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    host.until("control_request");
    host.prompt("b", "u-2");
    host.request("req_1", &json!({ "subtype": "interrupt" }));
    let lines = host.until("result");
    let expected = [
        "command_lifecycle/queued",
        "control_cancel_request",
        "control_response",
        "user",
        "user",
        "result",
    ];
    assert_eq!(kinds(&lines), expected);
    assert_eq!(lines[2]["response"]["response"]["still_queued"], json!(["u-2"]));
    assert_eq!(lines[5]["terminal_reason"], "aborted_tools");
    // What waited comes next, and then an interrupt changes nothing.
    assert_eq!(host.until("result").last().unwrap()["result"], "b");
    host.request("req_2", &json!({ "subtype": "interrupt" }));
    let lines = host.until("control_response");
    assert_eq!(lines.last().unwrap()["response"]["response"]["still_queued"], json!([]));
    assert_eq!(host.finish().code(), Some(0));
}

#[test]
fn requests_are_answered_twice_never_and_with_an_error() {
    let script = Script::new()
        .answers_twice("interrupt")
        .never_answers("mcp_status")
        .refuses("set_model", "no");
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    for (id, subtype) in [("1", "mcp_status"), ("2", "interrupt"), ("3", "set_model"), ("4", "?")] {
        host.request(id, &json!({ "subtype": subtype }));
    }
    let replies: Vec<Value> = (0..4).map(|_| host.read()["response"].clone()).collect();
    let ids: Vec<&Value> = replies.iter().map(|reply| &reply["request_id"]).collect();
    assert_eq!(ids, ["2", "2", "3", "4"]);
    assert_eq!(replies[2]["error"], "no");
    assert_eq!(replies[3]["error_code"], "unsupported_request");
    assert_eq!(host.finish().code(), Some(0));
}

#[test]
fn requests_of_the_agent_wait_or_not() {
    let script = Script::new().turn([
        Step::hook_callback("h", "hook_0", json!({ "hook_event_name": "Stop" })),
        Step::ask_and_go_on("m", json!({ "subtype": "mcp_message", "server_name": "x" })),
        Step::Withdraw("m".to_owned()),
        Step::Usual,
    ]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    let lines = host.until("control_request");
    assert_eq!(kinds(&lines).last().unwrap(), "control_request/hook_callback");
    host.answer("h", &json!({}));
    let expected = [
        "control_request/mcp_message",
        "control_cancel_request",
        "system/init",
        "assistant",
        "result",
    ];
    assert_eq!(kinds(&host.until("result")), expected);
}

#[test]
fn marks_and_gates_let_a_test_set_the_pace() {
    let turn = [Step::Mark("here".to_owned()), Step::Gate("on".to_owned()), Step::Usual];
    let (_dir, stage) = stage(&[Script::new().turn(turn)]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    stage.reached_blocking("here");
    // It answers while it waits.
    host.request("1", &json!({ "subtype": "mcp_status" }));
    assert_eq!(kinds(&host.until("control_response")).last().unwrap(), "control_response");
    stage.open("on").unwrap();
    assert_eq!(host.until("result").last().unwrap()["result"], "a");
    let sent = stage.wait_for_blocking(|line| line["request"]["subtype"] == "mcp_status");
    assert_eq!(sent["request_id"], "1");
}

#[test]
fn a_line_that_is_not_json_ends_it() {
    let (_dir, stage) = stage(&[Script::new()]);
    let mut host = Host::start(&stage, &[]);
    host.try_send(b"hello\n").unwrap();
    assert_eq!(host.child.wait().unwrap().code(), Some(1));
    assert!(host.stderr().starts_with("Error parsing streaming input line"));
}
