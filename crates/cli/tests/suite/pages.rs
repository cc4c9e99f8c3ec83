//! The commands of the pages run, and print what the pages say they print.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use duologue_testkit::root;

use super::command::text;

/// The folder of the pages, whatever it is called here.
const PROJECT: &str = "/project";

/// A command of a page, and what follows it there.
struct Step {
    line: usize,
    command: String,
    prints: Vec<String>,
}

/// The commands in the `console` blocks of a page. `console,no_run` is not run.
fn steps(page: &str) -> Vec<Step> {
    let page = fs::read_to_string(root().join(page)).unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut in_console = false;
    let mut goes_on = false;
    for (line, text) in (1..).zip(page.lines()) {
        if let Some(info) = text.strip_prefix("```") {
            in_console = info == "console";
        } else if !in_console {
        } else if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step { line, command: command.to_owned(), prints: Vec::new() });
            goes_on = command.ends_with('\\');
        } else if goes_on {
            let command = &mut steps.last_mut().unwrap().command;
            command.push('\n');
            command.push_str(text);
            goes_on = text.ends_with('\\');
        } else {
            steps.last_mut().unwrap().prints.push(text.to_owned());
        }
    }
    steps
}

/// Whether a text is as it is said to be, where `…` stands for anything.
fn alike(said: &str, text: &str) -> bool {
    let Some((start, rest)) = said.split_once('…') else { return said == text };
    let Some(left) = text.strip_prefix(start) else { return false };
    let mut places = left.char_indices().map(|(at, _)| at).chain([left.len()]);
    places.any(|at| alike(rest, &left[at..]))
}

/// The same for lines, where a line of `…` stands for any lines.
fn all_alike(said: &[String], lines: &[&str]) -> bool {
    match said.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=lines.len()).any(|left_out| all_alike(rest, &lines[left_out..]))
        }
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| alike(first, line) && all_alike(rest, lines)),
    }
}

fn run(page: &str) {
    let home = tempfile::tempdir().unwrap();
    let here = home.path().canonicalize().unwrap();
    let project = here.join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("notes.txt"), "milk\n").unwrap();
    symlink(root().join("recordings"), project.join("recordings")).unwrap();
    let bin = here.join("bin");
    let duologue = Path::new(env!("CARGO_BIN_EXE_duologue"));
    // The agent of these pages is ours, so that they need no other.
    let installed = Command::new(duologue).args(["agent", "--install"]).arg(&bin).output();
    assert!(installed.unwrap().status.success());
    symlink(duologue, bin.join("duologue")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let steps = steps(page);
    assert!(!steps.is_empty(), "{page} has no commands");
    for Step { line, command, prints } in steps {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(&project)
            .env("HOME", &here)
            .env("PATH", &path)
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("ANTHROPIC_AUTH_TOKEN")
            .env_remove("ANTHROPIC_BASE_URL")
            .output()
            .unwrap();
        let printed = text(&output.stdout).replace(project.to_str().unwrap(), PROJECT);
        // 2 is a wrong command line. Others are the command's answers: of diff, for instance.
        let code = output.status.code();
        let ran = code.is_some_and(|code| code != 2 && code < 125);
        assert!(ran, "{page}:{line}: {command}\nended with {code:?}:\n{printed}");
        let lines: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
        assert!(
            prints.is_empty() || all_alike(&prints, &lines),
            "{page}:{line}: {command}\nprints:\n{printed}"
        );
    }
}

#[test]
fn from_the_shell() {
    run("docs/from-the-shell.md");
}

#[test]
fn record_and_replay() {
    run("docs/record-and-replay.md");
}

#[test]
fn see_the_wire() {
    run("docs/see-the-wire.md");
}
