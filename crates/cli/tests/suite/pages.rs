//! The commands of the pages run, print exactly what the pages show, and end with the exit code that the pages state.
//!
//! In a `console` block of a page in `docs/`:
//!
//! - a line that begins with `$ ` is a command, up to the first line without a `\` at its end;
//! - the following lines are its output on stdout and stderr; `…` matches anything, a line of `…` any lines. A
//!   command that is followed by nothing prints nothing;
//! - `$ echo $?` and a number state the exit code of the command before it. Without that, it is 0.
//!
//! A block of another language after a line that ends with a file name, as in "`talk.toml`:", is that file.
//! `console,no_run` is not run: it needs a network, a key, a person or a program that is not part of this project.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use duologue_testkit::root;

use super::command::text;

/// The folder of the pages, whatever it is called here.
const PROJECT: &str = "/project";

/// The steps of a page.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A file with this name and text is there.
    File {
        name: String,
        text: String,
    },
    Command(Shown),
}

/// A command of a page, with its expected output and exit code.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    line: usize,
    command: String,
    prints: Vec<String>,
    code: i32,
}

/// The commands and files of a page, in their order.
fn steps(page: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    // The language of the block that is open, and the last line before it that was not empty.
    let (mut language, mut before) = (None, "");
    let (mut goes_on, mut states_code) = (false, false);
    for (line, text) in (1..).zip(page.lines()) {
        if let Some(info) = text.strip_prefix("```") {
            if states_code {
                return Err(format!("line {line}: `echo $?` without a number"));
            }
            if language.take().is_none() {
                language = Some(info);
                if let Some(name) = file_name(before, info) {
                    steps.push(Step::File { name: name.to_owned(), text: String::new() });
                    language = Some("file");
                }
            }
            (before, goes_on) = ("", false);
            continue;
        }
        match (language, steps.last_mut()) {
            (None, _) => before = if text.is_empty() { before } else { text },
            (Some("file"), Some(Step::File { text: file, .. })) => {
                file.push_str(text);
                file.push('\n');
            }
            (Some("console"), last) => match (text.strip_prefix("$ "), last) {
                (Some("echo $?"), Some(Step::Command(_))) => states_code = true,
                (Some(command), _) => {
                    let command = command.to_owned();
                    goes_on = command.ends_with('\\');
                    steps.push(Step::Command(Shown { line, command, prints: Vec::new(), code: 0 }));
                }
                (None, Some(Step::Command(shown))) if states_code => {
                    let code = text.trim().parse();
                    shown.code = code.map_err(|_| format!("line {line}: no exit code: {text}"))?;
                    states_code = false;
                }
                (None, Some(Step::Command(shown))) if goes_on => {
                    shown.command.push('\n');
                    shown.command.push_str(text);
                    goes_on = text.ends_with('\\');
                }
                (None, Some(Step::Command(shown))) => shown.prints.push(text.to_owned()),
                (None, _) => return Err(format!("line {line}: output without a command: {text}")),
            },
            _ => {}
        }
    }
    Ok(steps)
}

/// The name of the file that a block of this language is, by the line before it.
fn file_name<'a>(before: &'a str, language: &str) -> Option<&'a str> {
    let name = before.strip_suffix("`:")?.rsplit('`').next()?;
    let endings: &[&str] = match language {
        "toml" => &[".toml"],
        "json" => &[".json", ".tape"],
        _ => return None,
    };
    endings.iter().any(|ending| name.ends_with(ending)).then_some(name)
}

/// Whether a text matches a pattern in which `…` matches anything.
fn alike(said: &str, text: &str) -> bool {
    let Some((start, rest)) = said.split_once('…') else { return said == text };
    let Some(left) = text.strip_prefix(start) else { return false };
    let mut places = left.char_indices().map(|(at, _)| at).chain([left.len()]);
    places.any(|at| alike(rest, &left[at..]))
}

/// The same for lines, where a line `…` matches any lines.
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

/// The problem with the result of a command, if there is one.
fn judge(shown: &Shown, code: Option<i32>, printed: &str) -> Result<(), String> {
    let Shown { line, command, prints, code: stated } = shown;
    if code != Some(*stated) {
        return Err(format!(
            "line {line}: {command}\nended with {code:?}, the page says {stated}; it printed:\n{printed}"
        ));
    }
    let lines: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    if !all_alike(prints, &lines) {
        let wanted = prints.join("\n");
        return Err(format!(
            "line {line}: {command}\nprints:\n{printed}\nthe page says:\n{wanted}"
        ));
    }
    Ok(())
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
    let text_of_page = fs::read_to_string(root().join(page)).unwrap();
    let mut faults = Vec::new();
    for step in steps(&text_of_page).unwrap_or_else(|fault| panic!("{page}: {fault}")) {
        let shown = match step {
            Step::File { name, text } => {
                fs::write(project.join(name), text).unwrap();
                continue;
            }
            Step::Command(shown) => shown,
        };
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{}", shown.command)])
            .current_dir(&project)
            .env("HOME", &here)
            .env("PATH", &path)
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("ANTHROPIC_AUTH_TOKEN")
            .env_remove("ANTHROPIC_BASE_URL")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("XDG_DATA_HOME")
            .output()
            .unwrap();
        let printed = text(&output.stdout).replace(project.to_str().unwrap(), PROJECT);
        if let Err(fault) = judge(&shown, output.status.code(), &printed) {
            faults.push(format!("{page}: {fault}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        /// The pages whose commands run.
        const PAGES: &[&str] = &[$($page),*];

        $(#[test]
        fn $test() {
            run(concat!("docs/", $page));
        })*
    };
}

pages! {
    acp: "acp.md",
    environment: "environment.md",
    exit_codes: "exit-codes.md",
    from_the_shell: "from-the-shell.md",
    record_and_replay: "record-and-replay.md",
    scenarios: "scenarios.md",
    see_the_wire: "see-the-wire.md",
    tape_format: "tape-format.md",
    test_offline: "test-offline.md",
}

#[test]
fn every_page_with_commands_is_run() {
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".md") {
            continue;
        }
        let steps = steps(&fs::read_to_string(&path).unwrap()).unwrap();
        let has_commands = steps.iter().any(|step| matches!(step, Step::Command(_)));
        assert_eq!(has_commands, PAGES.contains(&name), "docs/{name}: is it run by this file?");
    }
}

/// The faults of a page of one block, if its only command ended like this.
fn fault(block: &str, code: i32, printed: &str) -> Option<String> {
    let page = format!("```console\n{block}\n```\n");
    let [Step::Command(shown)] = &steps(&page).unwrap()[..] else { panic!("{block}") };
    judge(shown, Some(code), printed).err()
}

#[test]
fn a_command_ends_with_the_code_that_the_page_states_or_with_0() {
    assert_eq!(fault("$ true", 0, ""), None);
    assert!(fault("$ true", 1, "").unwrap().contains("the page says 0"));
    assert!(fault("$ true", 3, "").is_some());
    assert_eq!(fault("$ false\n$ echo $?\n3", 3, ""), None);
    assert!(fault("$ false\n$ echo $?\n3", 0, "").unwrap().contains("the page says 3"));
    assert!(steps("```console\n$ false\n$ echo $?\n```\n").is_err(), "no number follows");
    assert!(steps("```console\n$ false\n$ echo $?\nsome\n```\n").is_err(), "it is not a number");
}

#[test]
fn a_command_without_output_on_the_page_prints_nothing() {
    assert!(fault("$ true", 0, "surprise\n").is_some());
    assert_eq!(fault("$ true\n…", 0, "any\nthing\n"), None);
    assert_eq!(fault("$ true\na…c", 0, "abc\n"), None);
    assert!(fault("$ true\na…c", 0, "abd\n").is_some());
    assert!(steps("```console\nno command\n```\n").is_err());
}

#[test]
fn a_block_after_a_file_name_is_that_file() {
    let page = "This is `a.toml`:\n\n```toml\nb = 1\n```\n\nNot `a.toml`:\n\n```rust\n```\n";
    let file = Step::File { name: "a.toml".to_owned(), text: "b = 1\n".to_owned() };
    assert_eq!(steps(page).unwrap(), [file]);
}
