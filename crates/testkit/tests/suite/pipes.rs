//! The fake agent: floods, silence and closed pipes.

use duologue_testkit::fake::{Kind, Script, Step};
use duologue_testkit::leak::is_alive;
use serde_json::json;

use super::host::{Host, kinds, stage};

#[test]
fn floods_have_the_configured_size() {
    let script = Script::new().turn([Step::Init, Step::flood(5_000, 757), Step::Done("x".into())]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    let lines = host.until("result");
    let pieces = lines.iter().filter(|line| line["type"] == "stream_event");
    assert_eq!(pieces.clone().count(), 5_000);
    assert!(pieces.clone().all(|line| line.to_string().len() == 756));
}

#[test]
fn a_flood_is_interrupted() {
    let script = Script::new().turn([Step::Init, Step::flood(10_000_000, 1_000), Step::Stall]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    host.until("stream_event");
    host.request("1", &json!({ "subtype": "interrupt" }));
    assert_eq!(host.until("result").last().unwrap()["terminal_reason"], "aborted_streaming");
    assert_eq!(host.finish().code(), Some(1));
}

#[test]
fn lines_may_be_huge_torn_or_not_json() {
    let script = Script::new().turn([
        Step::Huge(2_000_000),
        Step::Line("not json".to_owned()),
        Step::Raw(vec![0xff, 0xfe, b'\n']),
        Step::StderrBytes(200_000),
        Step::Exit(3),
    ]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    let huge = host.until("assistant").pop().unwrap();
    assert_eq!(huge["message"]["content"][0]["text"].as_str().unwrap().len(), 2_000_000);
    assert_eq!(host.raw().unwrap(), b"not json\n");
    assert_eq!(host.raw().unwrap(), [0xff, 0xfe, b'\n']);
    assert_eq!(host.stderr().len(), 200_000);
    assert_eq!(host.child.wait().unwrap().code(), Some(3));
}

#[test]
fn stdin_is_closed_under_a_host_that_writes() {
    let script = Script::new().start([Step::CloseStdin, Step::Mark("closed".into()), Step::Stall]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    stage.reached_blocking("closed");
    let error = host.try_send(b"{}\n").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    assert!(is_alive(host.child.id()));
}

#[test]
fn stdout_is_closed_under_a_host_that_reads() {
    let script = Script::new().start([Step::CloseStdout, Step::WaitFor(Kind::End)]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    assert_eq!(host.raw(), None);
    assert!(is_alive(host.child.id()));
    assert_eq!(host.finish().code(), Some(0));
}

#[test]
fn an_agent_that_stops_reading_accepts_nothing_more() {
    let script = Script::new().start([
        Step::StopReading,
        Step::Mark("stopped".into()),
        Step::Gate("x".into()),
        Step::Exit(4),
    ]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    stage.reached_blocking("stopped");
    host.try_send(b"{}\n").unwrap();
    stage.open("x").unwrap();
    assert_eq!(host.child.wait().unwrap().code(), Some(4));
    assert!(stage.host_lines().is_empty());
}

#[test]
fn a_silent_agent_reads_and_answers_nothing() {
    let (_dir, stage) = stage(&[Script::new().turn([Step::Silent])]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    assert_eq!(kinds(&[host.read(), host.read()])[1], "command_lifecycle/started");
    host.request("1", &json!({ "subtype": "interrupt" }));
    host.close();
    stage.wait_for_blocking(|line| line["request_id"] == "1");
    host.child.kill().unwrap();
    assert_eq!(host.raw(), None);
}
