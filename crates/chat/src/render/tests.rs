#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use duologue_protocol::Wire as _;

use super::*;

/// What these events look like: what the agent says, and lines in brackets.
fn shown(renderer: &mut Renderer, events: &[&str]) -> String {
    let mut shown = String::new();
    for event in events {
        let event = Event::from_json(event).unwrap();
        for piece in renderer.event(&event) {
            match piece {
                Piece::Text(text) => shown.push_str(text.plain().as_str()),
                Piece::Line(line) => shown.push_str(&format!("[{}]\n", line.plain())),
            }
        }
    }
    shown
}

fn renderer() -> Renderer {
    Renderer::new(true, 60)
}

const BASH: &str =
    r#"{"event":"tool_call","id":"t1","name":"Bash","input":{"command":"cargo test\necho"}}"#;

#[test]
fn a_streamed_text_is_not_printed_twice() {
    let said = shown(
        &mut renderer(),
        &[
            r#"{"event":"text_delta","text":"Hel"}"#,
            r#"{"event":"text_delta","text":"lo \u001b[2J"}"#,
            r#"{"event":"text","text":"Hello \u001b[2J"}"#,
            r#"{"event":"text","text":"Not streamed"}"#,
        ],
    );
    assert_eq!(said, "Hello ␛[2J\n[]\nNot streamed\n");
}

#[test]
fn above_the_prompt_texts_are_whole() {
    let mut renderer = renderer();
    renderer.streaming = false;
    let said = shown(
        &mut renderer,
        &[r#"{"event":"text_delta","text":"Hel"}"#, r#"{"event":"text","text":"Hello"}"#],
    );
    assert_eq!(said, "Hello\n");
}

#[test]
fn thinking_is_shown_if_wanted() {
    let events = [
        r#"{"event":"thinking_delta","text":"Hm"}"#,
        r#"{"event":"thinking","text":"Hm"}"#,
        r#"{"event":"text_delta","text":"Yes"}"#,
        r#"{"event":"text","text":"Yes"}"#,
    ];
    assert_eq!(shown(&mut renderer(), &events), "Hm\n[]\nYes\n");
    assert_eq!(shown(&mut Renderer::new(false, 60), &events), "Yes\n");
}

#[test]
fn a_call_and_its_result_take_a_line_each() {
    let said = shown(
        &mut renderer(),
        &[
            r#"{"event":"run_started","cwd":"/src","model":"m"}"#,
            r#"{"event":"text","text":"I test."}"#,
            BASH,
            r#"{"event":"tool_result","tool_use_id":"t1","content":"one\ntwo\n"}"#,
            r#"{"event":"tool_call","id":"t2","name":"Read","input":{"file_path":"/src/a/b.rs"}}"#,
            r#"{"event":"tool_result","tool_use_id":"t2","is_error":true,
                "content":"<tool_use_error>No such file</tool_use_error>"}"#,
            r#"{"event":"text","text":"Done."}"#,
        ],
    );
    assert_eq!(
        said,
        "I test.\n[]\n[● Bash cargo test …]\n[  └ ok, 2 lines: one]\n[● Read a/b.rs]\n\
         [  └ error: No such file]\n[]\nDone.\n"
    );
}

#[test]
fn results_out_of_order_name_their_call() {
    let said = shown(
        &mut renderer(),
        &[
            BASH,
            r#"{"event":"tool_call","id":"t2","name":"mcp__db__ask","input":{}}"#,
            r#"{"event":"tool_result","tool_use_id":"t1","content":"x"}"#,
            r#"{"event":"tool_result","tool_use_id":"t2","content":""}"#,
        ],
    );
    assert_eq!(
        said,
        "[● Bash cargo test …]\n[● db: ask ]\n[  └ Bash cargo test … ok: x]\n[  └ ok]\n"
    );
}

#[test]
fn agents_are_indented_and_long_lines_cut() {
    let said = shown(
        &mut renderer(),
        &[
            r#"{"event":"tool_call","id":"a","name":"Agent","input":{"description":"Look"}}"#,
            r#"{"event":"agent_started","tool_use_id":"a","name":"x","description":"Look"}"#,
            r#"{"event":"text_delta","agent":"a","text":"never"}"#,
            r#"{"event":"text","agent":"a","text":"I look."}"#,
            r#"{"event":"tool_call","agent":"a","id":"b","name":"Bash",
                "input":{"command":"日本語日本語日本語日本語日本語日本語日本語日本語日本語"}}"#,
            r#"{"event":"tool_result","agent":"a","tool_use_id":"b","content":""}"#,
        ],
    );
    assert_eq!(
        said,
        "[● Agent Look]\n[│ I look.]\n[│ ● Bash 日本語日本語日本語日本語日本語日本語日本語日本語…]\n[│   └ ok]\n"
    );
}

#[test]
fn a_turn_ends_with_its_price() {
    let mut renderer = renderer();
    let done = r#"{"event":"turn_finished","outcome":"success","cost_usd":0.25,"duration_ms":1500,
        "usage":{"input_tokens":1000,"cache_read_input_tokens":500,"output_tokens":7}}"#;
    assert_eq!(shown(&mut renderer, &[done]), "[$0.25 · 1.5k in, 7 out · 1.5s]\n[]\n");
    let failed =
        r#"{"event":"turn_finished","outcome":"error","error":"Overloaded","cost_usd":0.5}"#;
    assert_eq!(shown(&mut renderer, &[failed]), "[✗ Overloaded]\n[$0.50 · total $0.75]\n[]\n");
    let stopped = r#"{"event":"turn_finished","outcome":"interrupted","error":"x","cost_usd":0}"#;
    let half = r#"{"event":"text_delta","text":"Hel"}"#;
    assert_eq!(shown(&mut renderer, &[half, stopped]), "Hel\n[✗ interrupted]\n[total $0.75]\n[]\n");
}

#[test]
fn requests_are_not_printed_as_lines() {
    let asked =
        r#"{"event":"tool_call","id":"q","name":"AskUserQuestion","input":{"questions":[]}}"#;
    let result = r#"{"event":"tool_result","tool_use_id":"q","is_error":true,"content":"no"}"#;
    let menu = r#"{"event":"question_asked","request_id":"r","tool_use_id":"q"}"#;
    assert_eq!(shown(&mut renderer(), &[asked, menu, result]), "");
    // Without a request, something went wrong.
    assert_eq!(shown(&mut renderer(), &[asked, result]), "[  └ AskUserQuestion  error: no]\n");
}

#[test]
fn the_tag_around_what_a_command_printed_is_not_shown() {
    let notice =
        |text: &str| format!(r#"{{"event":"notice","kind":"local_command","text":"{text}"}}"#);
    let set = notice("<local-command-stdout>Set model to `opus`</local-command-stdout>");
    assert_eq!(shown(&mut renderer(), &[&set]), "[· Set model to `opus`]\n");
    let other = notice("<local-command-stdout>not closed");
    assert_eq!(shown(&mut renderer(), &[&other]), "[· <local-command-stdout>not closed]\n");
}
