//! `--resume` without an id: a list to choose from. A chat shows the end of what it resumes, and how to resume it.

use std::fs;
use std::path::{Path, PathBuf};

use duologue_testkit::fake::Step;
use serde_json::{Value, json};

use super::command::text;
use super::play::{self, Play};
use super::terminal::Terminal;

const OLD: &str = "11111111-2222-4333-8444-555555555555";
const NEW: &str = "22222222-2222-4333-8444-555555555555";

/// Two conversations of the home directory, which is also the working directory.
fn with_conversations(play: &Play) -> PathBuf {
    let home = fs::canonicalize(play.home.path()).unwrap();
    let sessions = duologue_sessions::Sessions::in_config_dir(home.join(".claude"));
    let folder = sessions.project_dir(&home);
    fs::create_dir_all(&folder).unwrap();
    for (id, prompt, answer) in
        [(OLD, "Count the herons", "Three herons."), (NEW, "Count the owls", "No owls.")]
    {
        let entry = |kind: &str, uuid: &str, parent: Value, content: Value| {
            json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": id, "cwd": home,
                "timestamp": "2026-01-02T03:04:05.000Z", "message": { "role": kind, "content": content } })
        };
        let lines = [
            entry("user", "a", Value::Null, json!(prompt)),
            entry("assistant", "b", json!("a"), json!([{ "type": "text", "text": answer }])),
        ];
        let path = folder.join(format!("{id}.jsonl"));
        fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
        let seconds = if id == OLD { 1_000 } else { 2_000 };
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    home
}

fn resumed(play: &Play) -> Vec<String> {
    let starts = play.stage.starts();
    starts.iter().flat_map(|start| start.argv.clone()).filter(|it| it.contains("resume")).collect()
}

fn chat(play: &Play, home: &Path, args: &[&str]) -> Terminal {
    let mut command = play.command(&[&["chat"], args].concat());
    command.current_dir(home);
    Terminal::open(command)
}

#[test]
fn a_chat_resumes_what_is_chosen_and_shows_its_end() {
    let play =
        Play::turn([Step::Init, play::text("Still three."), Step::Done("Still three.".into())]);
    let home = with_conversations(&play);
    let mut terminal = chat(&play, &home, &["--resume"]);
    terminal.shows("  1");
    terminal.shows("Count the owls");
    terminal.shows("  2");
    terminal.shows("Count the herons");
    terminal.shows("Which one?");
    terminal.types("2\r");
    terminal.shows("› Count the herons");
    terminal.shows("  Three herons.");
    terminal.shows("/help");
    terminal.shows("› ");
    terminal.types("Sure?\r");
    terminal.shows("Still three.");
    terminal.shows("› ");
    terminal.types("\u{4}");
    terminal.shows("To resume: duologue chat --agent");
    terminal.shows("--resume");
    terminal.ends(&play);
    assert_eq!(resumed(&play), [format!("--resume={OLD}")]);
}

#[test]
fn the_beginning_of_an_id_is_enough() {
    let play = Play::turn([Step::Init, Step::Done(String::new())]);
    let home = with_conversations(&play);
    let mut command = play.command(&["run", "x", "--resume", "2222"]);
    let output = command.current_dir(&home).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(resumed(&play), [format!("--resume={NEW}")]);
}

#[test]
fn without_a_terminal_an_id_is_needed() {
    let play = Play::turn([]);
    let home = with_conversations(&play);
    let mut command = play.command(&["run", "x", "--resume"]);
    let output = command.current_dir(&home).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("no terminal") && said.contains("duologue sessions"), "{said}");
    assert!(play.stage.starts().is_empty());
}

#[test]
fn nothing_is_started_if_nothing_is_chosen() {
    for (typed, said) in
        [("\r", "no conversation was chosen"), ("7\r", "is not a number of the list")]
    {
        let play = Play::turn([]);
        let home = with_conversations(&play);
        let mut terminal = chat(&play, &home, &["--resume"]);
        terminal.shows("Which one?");
        terminal.types(typed);
        terminal.shows(said);
        assert!(play.stage.starts().is_empty());
    }
}
