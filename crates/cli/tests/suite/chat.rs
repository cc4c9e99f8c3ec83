//! `duologue chat` without a terminal.

use std::io::Write as _;
use std::process::{Output, Stdio};

use duologue_testkit::fake::{Answer, Script, Step};
use duologue_testkit::leak::assert_gone_blocking;
use serde_json::json;

use super::command::text;
use super::play::{self, Play};

/// Types these lines.
fn chat(play: &Play, args: &[&str], lines: &str) -> Output {
    let mut command = play.command(&[&["chat"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_gone_blocking(&play.stage.pids());
    output
}

#[test]
fn each_line_is_a_prompt() {
    let play = Play::new(&Script::new());
    let output = chat(&play, &["first"], "one\\\ntwo\n\nthree\n/exit\nnever\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "first\none\ntwo\nthree\n");
    assert_eq!(play.prompts(), [json!("first"), json!("one\ntwo"), json!("three")]);
    // The cost goes to stderr, without escape sequences.
    let said = text(&output.stderr);
    assert!(said.contains("total $"), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('⠋'), "{said}");
}

#[test]
fn without_a_terminal_requests_are_denied() {
    let question =
        json!({ "questions": [{ "question": "Which?", "options": [{ "label": "A" }] }] });
    let play = Play::turn([
        Step::Init,
        Step::can_use_tool("a", "Bash", json!({ "command": "rm x" })),
        Step::can_use_tool("q", "AskUserQuestion", question),
        Step::can_use_tool("p", "ExitPlanMode", json!({ "plan": "Go" })),
        play::text("All right."),
        Step::Done("All right.".to_owned()),
    ]);
    let output = chat(&play, &[], "go\n");
    assert_eq!(text(&output.stdout), "All right.\n");
    let said = text(&output.stderr);
    assert!(said.contains("✗ Bash is refused: stdin is not a terminal"), "{said}");
    assert!(
        said.contains("✗ a question is refused") && said.contains("✗ a plan is refused"),
        "{said}"
    );
    for id in ["a", "q", "p"] {
        let is_answer = |line: &serde_json::Value| line["response"]["request_id"] == id;
        let answers: Vec<_> = play.stage.host_values().into_iter().filter(is_answer).collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["response"]["response"]["behavior"], "deny");
    }
}

#[test]
fn a_failed_turn_is_reported_and_the_next_one_works() {
    let script = Script::new().turn([Step::Init, Step::Failed("error_max_turns".to_owned())]);
    let play = Play::new(&script);
    let output = chat(&play, &[], "one\ntwo\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "two\n");
    assert!(text(&output.stderr).contains('✗'), "{}", text(&output.stderr));
}

#[test]
fn an_agent_that_dies_is_an_error() {
    let play = Play::turn([Step::Init, Step::Stderr("out of luck".to_owned()), Step::Exit(3)]);
    let output = chat(&play, &[], "one\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("out of luck"), "{}", text(&output.stderr));
}

#[test]
fn an_unknown_command_is_not_sent() {
    let commands = json!({ "commands": [{ "name": "compact", "description": "" }] });
    let script = Script::new().on("initialize", [Step::Reply(Answer::Success(commands))]);
    let play = Play::new(&script.turn([Step::Init, Step::Done(String::new())]));
    let output = chat(&play, &[], "/modle\n /as it is\n");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("There is no command /modle. Did you mean /model?"), "{said}");
    assert_eq!(play.prompts(), [json!(" /as it is")]);
}
