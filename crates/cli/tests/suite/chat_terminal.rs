//! `duologue chat` in a terminal: one that this test holds the other end of.

use duologue_testkit::fake::{Answer, Script, Step};
use serde_json::{Value, json};

use super::play::{self, Play};
use super::terminal::Terminal;

fn answer(play: &Play, id: &str) -> Value {
    let line = play.stage.wait_for_blocking(|line| line["response"]["request_id"] == id);
    line["response"]["response"].clone()
}

#[test]
fn the_user_decides_in_menus() {
    let play = Play::turn([
        Step::Init,
        Step::can_use_tool("a", "Bash", json!({ "command": "ls" })),
        Step::can_use_tool("b", "Bash", json!({ "command": "rm x" })),
        play::text("All right."),
        Step::Done("All right.".to_owned()),
    ]);
    let mut terminal = Terminal::open(play.command(&["chat"]));
    terminal.shows("› ");
    terminal.types("look\r");
    terminal.shows("? May the agent use Bash?");
    terminal.shows("Esc denies");
    terminal.types("1");
    terminal.shows("allowed once");
    terminal.shows("  │ rm x");
    terminal.shows("Esc denies");
    terminal.types("2too risky\r");
    terminal.shows("not allowed: too risky");
    terminal.shows("All right.");
    terminal.shows("› ");
    assert_eq!(answer(&play, "a")["behavior"], "allow");
    assert_eq!(answer(&play, "b")["message"], "too risky");
    terminal.exit(&play);
}

#[test]
fn the_form_of_an_mcp_server_is_filled_in() {
    let form = |id: &str| {
        Step::ask(
            id,
            json!({
                "subtype": "elicitation", "mcp_server_name": "db", "message": "Which table?", "mode": "form",
                "requested_schema": {
                    "type": "object", "required": ["table", "rows"],
                    "properties": {
                        "table": { "type": "string", "enum": ["users", "orders"] },
                        "rows": { "type": "integer", "title": "How many rows?" },
                    },
                },
                "property_order": ["table", "rows"],
            }),
        )
    };
    let play = Play::turn([
        Step::Init,
        form("a"),
        form("b"),
        play::text("All right."),
        Step::Done("All right.".to_owned()),
    ]);
    let mut terminal = Terminal::open(play.command(&["chat", "look"]));
    terminal.shows("? The MCP server db asks (1 of 2)");
    terminal.shows("  │ Which table?");
    terminal.shows("2 orders");
    terminal.types("2");
    terminal.shows("How many rows?");
    terminal.types("1many\r");
    terminal.shows("Enter a whole number.");
    terminal.types("17\r");
    terminal.shows("✓ sent");
    terminal.shows("3 Decline");
    terminal.types("3");
    terminal.shows("✗ declined");
    terminal.shows("All right.");
    terminal.shows("› ");
    let sent = json!({ "table": "orders", "rows": 7 });
    assert_eq!(answer(&play, "a"), json!({ "action": "accept", "content": sent }));
    assert_eq!(answer(&play, "b")["action"], "decline");
    terminal.exit(&play);
}

#[test]
fn a_turn_is_interrupted_and_the_next_works() {
    let play = Play::turn([Step::Init, play::text("I begin."), Step::Stall]);
    let mut terminal = Terminal::open(play.command(&["chat", "begin"]));
    terminal.shows("I begin.");
    terminal.types("\u{3}");
    terminal.shows("✗ interrupted");
    terminal.shows("› ");
    terminal.types("again\r");
    play.stage.wait_for_blocking(|line| line["message"]["content"] == "again");
    terminal.shows("$0.25");
    terminal.shows("› ");
    terminal.types("/exit\r");
    terminal.ends(&play);
}

#[test]
fn a_second_interrupt_leaves() {
    let play = Play::new(
        &Script::new()
            .turn([Step::Init, play::text("I begin."), Step::Stall])
            .never_answers("interrupt"),
    );
    let mut terminal = Terminal::open(play.command(&["chat", "begin"]));
    terminal.shows("I begin.");
    terminal.types("\u{3}");
    terminal.shows("interrupting");
    terminal.types("\u{3}");
    terminal.shows("exiting");
    terminal.types("\u{3}");
    terminal.ends(&play);
}

#[test]
fn a_withdrawn_request_closes_its_menu_and_output_appears_above_the_prompt() {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
    let play = Play::turn([
        Step::Init,
        Step::ask_and_go_on("a", request),
        Step::Gate("withdraw".to_owned()),
        Step::Withdraw("a".to_owned()),
        Step::Done(String::new()),
        Step::Gate("more".to_owned()),
        play::text("By the way."),
        Step::Done("By the way.".to_owned()),
    ]);
    let mut terminal = Terminal::open(play.command(&["chat", "begin"]));
    terminal.shows("Esc denies");
    play.stage.open("withdraw").unwrap();
    terminal.shows("no longer asked");
    terminal.shows("› ");
    terminal.types("half");
    terminal.shows("half");
    play.stage.open("more").unwrap();
    terminal.shows("By the way.");
    // The input line is below it again.
    terminal.shows("› half");
    terminal.types("\u{3}");
    terminal.shows("to exit");
    terminal.exit(&play);
}

#[test]
fn keys_typed_before_the_menu_appears_are_kept() {
    let play = Play::turn([Step::Init, Step::Done(String::new())]);
    let mut terminal = Terminal::open(play.command(&["chat"]));
    terminal.shows("› ");
    terminal.types("one\rtwo\r");
    play.stage.wait_for_blocking(|line| line["message"]["content"] == "one");
    play.stage.wait_for_blocking(|line| line["message"]["content"] == "two");
    terminal.shows("$0.25");
    terminal.shows("$0.25");
    terminal.shows("› ");
    terminal.exit(&play);
}

#[test]
fn a_long_command_shows_its_beginning_and_how_much_is_folded() {
    let hidden = format!("rm -rf ~/work{}echo hi", "\nx".repeat(40));
    let play = Play::turn([
        Step::Init,
        Step::can_use_tool("a", "Bash", json!({ "command": hidden })),
        Step::Done(String::new()),
    ]);
    for (rows, columns) in [(24, 80), (5, 20)] {
        let mut terminal = Terminal::sized(play.command(&["chat", "go"]), rows, columns);
        terminal.shows("rm -rf ~/work");
        terminal.shows("more");
        terminal.shows("Ctrl-O");
        terminal.shows("❯ 1 Yes");
        // The menu is drawn at once, and the lines above it are still visible.
        assert!(terminal.lines_since("rm -rf") < usize::from(rows));
        while !terminal.has_shown("echo hi") {
            let before = terminal.len();
            terminal.types("\u{f}");
            terminal.grows(before);
        }
        terminal.types("2\r");
        terminal.shows("not allowed");
        terminal.shows("› ");
        terminal.exit(&play);
    }
}

#[test]
fn a_menu_is_drawn_again_when_the_terminal_shrinks() {
    let long: String = (0..60).map(|at| format!("line {at}\n")).collect();
    let play = Play::turn([
        Step::Init,
        Step::can_use_tool("p", "ExitPlanMode", json!({ "plan": long })),
        Step::Done(String::new()),
    ]);
    let mut terminal = Terminal::sized(play.command(&["chat", "go"]), 24, 80);
    terminal.shows("│ line 10");
    terminal.shows("shows all");
    terminal.resize(8, 30);
    terminal.shows("line 0");
    terminal.shows("Ctrl-O");
    assert!(terminal.lines_since("line 0") < 8);
    terminal.types("4");
    terminal.shows("rejected");
    terminal.shows("› ");
    terminal.exit(&play);
}

#[test]
fn an_interrupt_stops_a_flood_at_once() {
    let line = json!({ "type": "assistant", "message": { "role": "assistant", "content": [
        { "type": "text", "text": "again and again and again" } ] } });
    let many = [Step::Init, Step::flood_of(40_000, &line), play::text("THE END")];
    let huge = [Step::Init, play::text(&format!("{}THE END", "again and again ".repeat(200_000)))];
    for steps in [Vec::from(many), Vec::from(huge)] {
        let steps = steps.into_iter().chain([Step::Done(String::new())]);
        let play = Play::turn(steps);
        let mut terminal = Terminal::open(play.command(&["chat", "go"]));
        terminal.shows("again and again");
        // A slow terminal: its output is not read until the key is pressed.
        let pause = terminal.pause();
        terminal.types("\u{3}");
        drop(pause);
        terminal.shows("› ");
        let screen = terminal.exit(&play);
        assert!(!screen.contains("THE END"), "all of it was printed");
    }
}

#[test]
fn a_foreground_command_is_not_labelled_as_background() {
    let task = |id: &str, background: bool| {
        Step::Emit(json!({ "type": "system", "subtype": "task_started", "task_id": id,
            "tool_use_id": "t", "description": format!("sleep {id}"), "is_backgrounded": background,
            "task_type": "local_bash", "uuid": id, "session_id": "s" }))
    };
    let play = Play::turn([
        Step::Init,
        task("one", false),
        task("two", true),
        task("three", false),
        Step::Emit(json!({ "type": "system", "subtype": "task_updated", "task_id": "three",
            "patch": { "is_backgrounded": true }, "uuid": "u", "session_id": "s" })),
        play::text("Done."),
        Step::Done("Done.".to_owned()),
    ]);
    let mut terminal = Terminal::open(play.command(&["chat", "go"]));
    terminal.shows("in the background: sleep two");
    terminal.shows("now in the background: sleep three");
    terminal.shows("› ");
    let screen = terminal.exit(&play);
    assert!(!screen.contains("sleep one"), "{screen}");
}

#[test]
fn an_unknown_command_is_sent_only_after_a_question() {
    let commands = json!({ "commands": [{ "name": "compact", "description": "" }] });
    let script = Script::new().on("initialize", [Step::Reply(Answer::Success(commands))]);
    let play = Play::new(&script.turn([Step::Init, Step::Done(String::new())]));
    let mut terminal = Terminal::open(play.command(&["chat"]));
    terminal.shows("› ");
    terminal.types("/compcat\r");
    terminal.shows("There is no command /compcat. Did you mean /compact?");
    terminal.shows("› ");
    terminal.types("/frob\r");
    terminal.shows("There is no command /frob");
    terminal.shows("› ");
    terminal.types("\r");
    play.stage.wait_for_blocking(|line| line["message"]["content"] == "/frob");
    terminal.shows("$0.25");
    terminal.shows("› ");
    terminal.exit(&play);
    assert_eq!(play.prompts(), [json!("/frob")]);
}

#[test]
fn an_agent_that_dies_is_an_error() {
    let dies = [Step::Stderr("out of luck".to_owned()), Step::Exit(3)];
    let play = Play::turn([Step::Init, play::text("I begin.")].into_iter().chain(dies));
    let screen = Terminal::open(play.command(&["chat", "begin"])).whole();
    assert!(screen.contains("the agent is gone (exit code 3)"), "{screen}");
    assert!(screen.contains("out of luck"), "{screen}");
}
