//! Messages of `duologue run` and `chat`: what they print, and how often.

use duologue_testkit::fake::Step;
use serde_json::json;

use super::command::{duologue, json, text};
use super::play::{self, Play};
use super::terminal::Terminal;

#[test]
fn json_is_short_for_output_json() {
    let play = Play::turn([Step::Init, Step::Done("yes".to_owned())]);
    let output = play.run(&["go", "--json"]);
    assert_eq!(json(&output)["result"], "yes");
    let output = play.run(&["go", "--json", "--output", "text"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn an_error_of_the_api_is_printed_once() {
    let said = "Error: error: 529 Overloaded";
    let play = Play::turn([
        Step::Init,
        Step::Emit(
            json!({ "type": "assistant", "error": "server_error", "uuid": "u", "session_id": "s",
            "message": { "role": "assistant", "content": [{ "type": "text", "text": said }] } }),
        ),
        Step::Emit(
            json!({ "type": "result", "subtype": "success", "is_error": true, "result": said,
            "session_id": "s", "total_cost_usd": 0, "api_error_status": 529 }),
        ),
    ]);
    let output = play.run(&["go"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.matches("529 Overloaded").count(), 1, "{message}");
    assert!(message.contains("error: 529 Overloaded"), "{message}");
    let mut chat = play.command(&["chat", "go"]);
    let output = chat.output().unwrap();
    let message = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(message.matches("529 Overloaded").count(), 1, "{message}");
}

#[test]
fn flags_are_named_and_followed_advice_is_not_repeated() {
    let denied = Play::turn([
        Step::Init,
        Step::Emit(
            json!({ "type": "result", "subtype": "success", "is_error": false, "result": "",
            "session_id": "s", "permission_denials": [{ "tool_name": "Bash", "tool_use_id": "t", "tool_input": {} }] }),
        ),
    ]);
    for (flags, advice) in [
        (&[][..], "--permission-mode acceptEdits, or everything with --yes"),
        (&["--permission-mode", "acceptEdits"], "--allowed-tools, or everything with --yes"),
        (&["--yes"], "--yes does not override rules"),
    ] {
        let message = text(&denied.run(&[&["go"], flags].concat()).stderr);
        assert!(message.contains(advice), "{message}");
    }
    for (flags, named) in [
        (&["--max-turns", "0"][..], "--max-turns"),
        (&["--max-budget-usd", "-1"], "--max-budget-usd"),
        (&["--model", "a", "--fallback-model", "a"], "--fallback-model"),
        (&["--session-id", "x"], "--session-id"),
    ] {
        let output = denied.run(&[&["go"], flags].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(named) && !message.contains('_'), "{message}");
    }
    let output = duologue().args(["run", "--agent", "sh -c true", "hi"]).output().unwrap();
    let message = text(&output.stderr);
    assert!(message.contains("duologue doctor --agent 'sh -c true'"), "{message}");
    let message =
        text(&duologue().args(["run", "--agent", "/no/such", "x"]).output().unwrap().stderr);
    assert!(!message.contains("name one with --agent"), "{message}");
    let message =
        text(&duologue().args(["doctor", "--agent", "sh -c true"]).output().unwrap().stdout);
    assert!(message.contains("Does it speak stream-json?"), "{message}");
    assert!(!message.contains("install it again"), "{message}");
}

#[test]
fn a_todo_list_is_a_checklist() {
    let todos = json!({ "todos": [
        { "content": "Look", "status": "completed", "activeForm": "Looking" },
        { "content": "Leap", "status": "in_progress", "activeForm": "Leaping" } ] });
    let play = Play::turn([
        Step::Init,
        Step::ToolUse { id: "t".to_owned(), name: "TodoWrite".to_owned(), input: todos },
        Step::ToolResult { id: "t".to_owned(), content: "ok".to_owned(), is_error: false },
        Step::Done("yes".to_owned()),
    ]);
    let message = text(&play.run(&["go"]).stderr);
    assert!(message.contains("· TodoWrite\n  ☒ Look\n  ▸ Leaping\n"), "{message}");
    let message = text(&play.command(&["chat", "go"]).output().unwrap().stderr);
    assert!(message.contains("● TodoWrite \n  ☒ Look\n  ▸ Leaping\n"), "{message}");
}

#[test]
fn an_interrupt_stops_a_flood_at_once() {
    let huge = format!("{}THE END", "again and again ".repeat(200_000));
    let play = Play::turn([Step::Init, play::text(&huge), Step::Done(String::new())]);
    let mut terminal = Terminal::open(play.command(&["run", "go"]));
    terminal.shows("again and again");
    let pause = terminal.pause();
    let pid = rustix::process::Pid::from_raw(terminal.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    drop(pause);
    assert!(!terminal.whole().contains("THE END"), "all of it was printed");
}
