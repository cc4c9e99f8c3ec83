//! `duologue sessions` and `duologue usage`, on transcripts of the real CLI.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use duologue_agent::VERSION;
use duologue_testkit::root;
use serde_json::Value;

use super::command::{duologue, json, text};

const FIRST: &str = "00021325-0000-4000-8000-000000000001";
const VERSIONS: [&str; 3] = [VERSION, "2.0.77", "1.0.128"];

/// A copy of the transcripts of one version.
struct Config(tempfile::TempDir);

impl Config {
    fn of(version: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let from = root().join("crates/sessions/tests/fixtures").join(version);
        copy(&from.join("projects"), &folder.path().join("projects"));
        Self(folder)
    }

    fn duologue(&self, args: &[&str]) -> Command {
        let mut command = duologue();
        command.env("CLAUDE_CONFIG_DIR", self.0.path()).env("HOME", self.0.path()).args(args);
        command.env_remove("CLAUDE_CODE_PROJECT_DIR_NAME").env_remove("DUOLOGUE_PRICES");
        command
    }

    fn transcripts(&self) -> Vec<PathBuf> {
        let folder = self.0.path().join("projects/-tmp-duologue-fixture-work");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
    }

    fn transcript(&self, id: &str) -> PathBuf {
        self.0.path().join(format!("projects/-tmp-duologue-fixture-work/{id}.jsonl"))
    }

    fn list(&self) -> Vec<Value> {
        let output = self.duologue(&["sessions", "--json", "--limit", "0"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn run(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_list_has_title_age_cost_turns_and_project() {
    let config = Config::of(VERSION);
    let table = run(config.duologue(&["sessions"]));
    let row = table.lines().find(|line| line.starts_with(FIRST)).expect(&table);
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[2..], ["3", "$0.0017", "duologue-fixture/work", "Thanks"], "{row}");
    let listed = config.list();
    let first = listed.iter().find(|it| it["id"] == FIRST).unwrap();
    assert_eq!(first["turns"], 3);
    assert_eq!(first["input_tokens"], 60);
    assert_eq!(first["cwd"], "/tmp/duologue-fixture/work");
    let brief = run(config.duologue(&["sessions", "list", "--brief", "--limit", "1"]));
    assert_eq!(brief.lines().count(), 2, "{brief}");
    assert!(!brief.contains("COST"), "{brief}");
}

#[test]
fn a_damaged_file_is_listed_with_what_is_wrong() {
    let config = Config::of("2.0.77");
    let damaged: Vec<Value> =
        config.list().into_iter().filter(|it| it["problem"].is_string()).collect();
    assert_eq!(damaged.len(), 1, "{damaged:?}");
    assert_eq!(damaged[0]["problem"], "the file is empty");
    let output = config.duologue(&["sessions"]).output().unwrap();
    assert!(text(&output.stderr).contains("the file is empty"));
}

#[test]
fn sessions_of_all_versions_become_tapes_that_are_understood() {
    for version in VERSIONS {
        let config = Config::of(version);
        let sessions = config.list();
        assert!(sessions.len() >= 4, "{version}");
        for session in sessions.iter().filter(|it| it["summary"].is_string()) {
            let id = session["id"].as_str().unwrap();
            let tape = config.0.path().join(format!("{id}.tape"));
            let tape = tape.to_str().unwrap();
            run(config.duologue(&["sessions", "export", id, "-o", tape]));
            run(config.duologue(&["check", "--strict", tape]));
            // The id is as good as the tape.
            run(config.duologue(&["diff", tape, id]));
            let output = config.duologue(&["inspect", "--json", id]).output().unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
            let events: Vec<Value> = text(&output.stdout)
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            let is_turn = |it: &&Value| it["event"] == "turn_finished" && it["num_turns"] != 0;
            let finished = events.iter().filter(is_turn).count() as u64;
            let count = |name: &str| events.iter().filter(|it| it["event"] == name).count();
            let turns = session["turns"].as_u64().unwrap();
            assert!((1..=turns).contains(&finished), "{version} {id}: {events:?}");
            assert_eq!(count("malformed_line") + count("unknown_line"), 0, "{version} {id}");
        }
    }
}

#[test]
fn what_is_synthesised_is_marked_on_the_tape() {
    let config = Config::of(VERSION);
    let tape = run(config.duologue(&["sessions", "export", FIRST, "-o", "-", "--format", "tape"]));
    let lines: Vec<Value> =
        tape.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let marks = lines.windows(2).filter(|pair| {
        pair[0]["note"].as_str().is_some_and(|note| note.starts_with("synthesised: "))
    });
    let marked: Vec<&str> = marks.filter_map(|pair| pair[1]["line"].as_str()).collect();
    let is_synthetic = |line: &str| {
        ["\"type\":\"control_", "\"subtype\":\"init\"", "\"type\":\"result\""]
            .iter()
            .any(|mark| line.contains(mark))
    };
    assert_eq!(marked.len(), 2 + 3 + 3, "{marked:?}");
    assert!(marked.iter().all(|line| is_synthetic(line)), "{marked:?}");
    let all = lines.iter().filter_map(|line| line["line"].as_str());
    assert_eq!(all.filter(|line| is_synthetic(line)).count(), marked.len());
}

#[test]
fn a_session_is_a_web_page_and_can_be_redacted() {
    let config = Config::of(VERSION);
    let page = config.0.path().join("talk.html");
    run(config.duologue(&["sessions", "export", FIRST, "-o", page.to_str().unwrap()]));
    assert!(fs::read_to_string(&page).unwrap().contains("Three herons."));
    // It is not replaced.
    let again = config.duologue(&["sessions", "export", FIRST, "-o", page.to_str().unwrap()]);
    assert_eq!({ again }.output().unwrap().status.code(), Some(2));
    let redacted = run(config.duologue(&["redact", FIRST]));
    assert!(redacted.contains("\"redacted\":true"), "{redacted}");
}

#[test]
fn a_session_is_shown_by_the_beginning_of_its_id() {
    let config = Config::of(VERSION);
    let shown = run(config.duologue(&["sessions", "show", "9098"]));
    assert!(shown.contains("session  90982843-f179-428b-a16b-98f470b09a6a"), "{shown}");
    assert!(shown.contains("Ask a helper"), "{shown}");
    let output = config.duologue(&["sessions", "show", "0002"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("3 sessions"), "{}", text(&output.stderr));
    for (id, code) in [("ffff", 1), ("../../etc/passwd", 2), ("abc", 2)] {
        let output = config.duologue(&["sessions", "show", id]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{id}: {}", text(&output.stderr));
    }
    let output = config.duologue(&["sessions", "show", FIRST, "--json"]).output().unwrap();
    let shown = json(&output);
    assert_eq!(shown["messages"][0]["message"]["content"], "Look around");
    assert_eq!(shown["agents"].as_array().unwrap().len(), 1);
}

#[test]
fn a_session_is_renamed_tagged_archived_and_forked() {
    let config = Config::of(VERSION);
    run(config.duologue(&["sessions", "rename", FIRST, "Herons"]));
    run(config.duologue(&["sessions", "tag", FIRST, "birds"]));
    let tagged = run(config.duologue(&["sessions", "--tag", "birds"]));
    assert_eq!(tagged.lines().count(), 2, "{tagged}");
    assert!(tagged.contains("#birds Herons"), "{tagged}");
    run(config.duologue(&["sessions", "tag", FIRST, "--remove"]));
    let before = config.list().len();
    run(config.duologue(&["sessions", "archive", FIRST]));
    assert_eq!(config.list().len(), before - 1);
    run(config.duologue(&["sessions", "unarchive", FIRST]));
    assert_eq!(config.list().len(), before);
    let fork = run(config.duologue(&["sessions", "fork", FIRST, "--title", "Other herons"]));
    let found = config.list().into_iter().find(|it| it["id"] == fork.trim()).expect(&fork);
    assert_eq!(found["title"], "Other herons");
}

#[test]
fn a_session_moves_to_another_config_directory() {
    let (old, new) = (Config::of(VERSION), tempfile::tempdir().unwrap());
    let file = new.path().join("herons.session");
    let file = file.to_str().unwrap();
    run(old.duologue(&["sessions", "export", FIRST, "-o", file]));
    let import = || {
        let mut command = duologue();
        command.env("CLAUDE_CONFIG_DIR", new.path()).args(["sessions", "import", file]);
        command
    };
    assert_eq!(run(import()).trim(), FIRST);
    let copy = new.path().join(format!("projects/-tmp-duologue-fixture-work/{FIRST}.jsonl"));
    assert_eq!(fs::read(copy).unwrap(), fs::read(old.transcript(FIRST)).unwrap());
    assert_eq!(import().output().unwrap().status.code(), Some(1));
}

#[test]
fn deleting_needs_a_confirmation_and_a_session_that_is_not_in_use() {
    let config = Config::of(VERSION);
    let output = config.duologue(&["sessions", "rm", FIRST]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--yes"), "{}", text(&output.stderr));
    assert!(config.transcript(FIRST).exists());

    let open = fs::File::open(config.transcript(FIRST)).unwrap();
    let output = config.duologue(&["sessions", "rm", "--yes", FIRST]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("in use by process"), "{}", text(&output.stderr));
    let output = config.duologue(&["sessions", "rename", FIRST, "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    drop(open);

    run(config.duologue(&["sessions", "rm", "--yes", FIRST]));
    assert!(!config.transcript(FIRST).exists());
    assert!(!config.transcript(FIRST).with_extension("").exists());
    assert_eq!(config.transcripts().len(), 3);
}

#[test]
fn usage_counts_each_response_once() {
    let config = Config::of(VERSION);
    let used = || {
        let mut command = config.duologue(&["usage", "--json", "--utc"]);
        json(&command.output().unwrap())
    };
    let before = used();
    assert_eq!(before["rows"][0]["day"], "2026-11-16");
    assert_eq!(before["rows"][0]["project"], "/tmp/duologue-fixture/work");
    assert!(before["total"]["cost_usd"].as_f64().unwrap() > 0.0);
    run(config.duologue(&["sessions", "fork", FIRST]));
    assert_eq!(used(), before);

    let table = run(config.duologue(&["usage", "--by", "model"]));
    assert!(table.contains("claude-opus-5-5"), "{table}");
    let none = config.duologue(&["usage", "--since", "2026-11-18"]).output().unwrap();
    assert!(none.status.success() && none.stdout.is_empty(), "{}", text(&none.stdout));
    let wrong = config.duologue(&["usage", "--since", "yesterday"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
