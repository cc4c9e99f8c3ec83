//! The reference pages agree with what they describe: scenario files and exit codes.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use duologue_testkit::root;
use serde_json::Value;

/// The JSON Schema of scenario files, as the command prints it.
fn schema() -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_duologue"))
        .args(["schema", "--scenario"])
        .output()
        .unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A scenario somewhere in the tree: where it is, and its text.
struct Found {
    place: String,
    text: String,
}

/// The blocks of this language on a page, each with the line before it.
fn blocks(page: &str, language: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut before, mut open) = (String::new(), None);
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some((info == language, std::mem::take(&mut before), String::new()));
            }
            (Some(_), Some(_)) => {
                if let Some((true, before, text)) = open.take() {
                    found.push((before, text));
                }
            }
            (None, Some((_, _, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) if !line.is_empty() => before = line.to_owned(),
            (None, None) => {}
        }
    }
    found
}

/// Every scenario that is a file of this repository, or on a page. Those on pages that are named `wrong.…` are
/// the second list.
fn scenarios() -> (Vec<Found>, Vec<Found>) {
    let list = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for path in String::from_utf8(list.stdout).unwrap().lines() {
        let is_page = path.ends_with(".md");
        if !is_page && !path.ends_with(".toml") && !path.ends_with(".json") {
            continue;
        }
        let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
        if !is_page {
            if text.contains("[[replies]]") || text.contains("\"replies\"") {
                good.push(Found { place: path.to_owned(), text });
            }
            continue;
        }
        for (before, text) in blocks(&text, "toml") {
            if text.contains("[[replies]]") {
                let is_wrong = before.ends_with("`wrong.toml`:");
                let found = Found { place: format!("{path}, after {before:?}"), text };
                if is_wrong { wrong.push(found) } else { good.push(found) }
            }
        }
    }
    (good, wrong)
}

#[test]
fn every_scenario_of_the_tree_and_the_pages_fits_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let (good, wrong) = scenarios();
    assert!(good.len() > 10, "only {} scenarios were found", good.len());
    assert!(!wrong.is_empty(), "no page shows a wrong scenario");
    for Found { place, text } in &good {
        let value: Value = toml::from_str(text).unwrap_or_else(|error| panic!("{place}: {error}"));
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{place}: {errors:?}");
        // A misspelt name is found anywhere.
        for (path, broken) in misspelt(&value) {
            assert!(!validator.is_valid(&broken), "{place}: {path} may be misspelt");
        }
    }
    for Found { place, text } in &wrong {
        let value: Value = toml::from_str(text).unwrap();
        assert!(!validator.is_valid(&value), "{place} fits the schema");
    }
}

/// The scenario with each name of its own misspelt, one at a time. Names inside of inputs and blocks are not the
/// scenario's, nor are those of agents and headers.
fn misspelt(scenario: &Value) -> Vec<(String, Value)> {
    fn places(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let path = format!("{path}/{name}");
                    let is_free = ["/agents/", "/headers/"].iter().any(|list| {
                        path.rsplit_once('/')
                            .is_some_and(|(up, _)| up.ends_with(list.trim_end_matches('/')))
                    });
                    if !is_free {
                        found.push(path.clone());
                    }
                    if !["input", "block"].contains(&name.as_str()) {
                        places(inner, &path, found);
                    }
                }
            }
            Value::Array(items) => {
                for (at, inner) in items.iter().enumerate() {
                    places(inner, &format!("{path}/{at}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    places(scenario, "", &mut found);
    let misspell = |path: String| {
        let mut broken = scenario.clone();
        let (up, name) = path.rsplit_once('/').unwrap();
        let fields = broken.pointer_mut(up).unwrap().as_object_mut().unwrap();
        let value = fields.remove(name).unwrap();
        fields.insert(format!("{name}x"), value);
        (path, broken)
    };
    found.into_iter().map(misspell).collect()
}

/// The names of all fields that the schema describes.
fn fields(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(parts) => {
            // Conditions have `properties`, too, but are open.
            if parts.contains_key("additionalProperties")
                && let Some(Value::Object(properties)) = parts.get("properties")
            {
                found.extend(properties.keys().cloned());
            }
            parts.values().for_each(|part| fields(part, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| fields(part, found)),
        _ => {}
    }
}

/// The names that a value has anywhere.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(parts) => {
            found.extend(parts.keys().cloned());
            parts.values().for_each(|part| names(part, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| names(part, found)),
        _ => {}
    }
}

#[test]
fn the_page_of_scenarios_explains_every_field_and_shows_it_in_an_example() {
    let page = fs::read_to_string(root().join("docs/scenarios.md")).unwrap();
    let mut all = BTreeSet::new();
    fields(&schema(), &mut all);
    assert!(all.len() > 30, "{all:?}");
    let mut shown = BTreeSet::new();
    let examples = blocks(&page, "toml").into_iter().map(|(_, text)| text);
    // One is inside of a program.
    let program = page.split("r#\"").nth(1).and_then(|rest| rest.split("\"#").next()).unwrap();
    for example in examples.chain([program.to_owned()]) {
        names(&toml::from_str(&example).unwrap(), &mut shown);
    }
    for field in &all {
        let row = page.lines().any(|line| line.starts_with(&format!("| `{field}` |")));
        assert!(row, "docs/scenarios.md does not explain `{field}`");
        assert!(shown.contains(field), "no example of docs/scenarios.md has `{field}`");
    }
}

#[test]
fn the_page_of_exit_codes_has_every_constant_with_its_value() {
    let source = fs::read_to_string(root().join("crates/cli/src/exit.rs")).unwrap();
    let constants: BTreeSet<(String, String)> = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub(crate) const ")?.strip_suffix(';'))
        .map(|constant| {
            let (name, value) = constant.split_once(": u8 = ").expect(constant);
            (value.to_owned(), name.to_owned())
        })
        .collect();
    assert!(constants.len() > 8, "{constants:?}");
    let page = fs::read_to_string(root().join("docs/exit-codes.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let (code, name) = (cells.next()?, cells.next()?);
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        code.parse::<u8>().ok()?;
        Some((code.to_owned(), name.to_owned()))
    });
    assert_eq!(rows.collect::<BTreeSet<_>>(), constants);
}

#[test]
fn the_page_of_exit_codes_has_every_command() {
    let output = Command::new(env!("CARGO_BIN_EXE_duologue")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    // Continued lines are indented further.
    let commands: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(commands.len() > 8, "{commands:?}");
    let page = fs::read_to_string(root().join("docs/exit-codes.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    for command in commands {
        let is_there = rows.iter().any(|row| {
            let names = row.split(" | ").next().unwrap_or_default();
            names.split('`').any(|name| name.split(' ').next() == Some(command))
        });
        assert!(is_there, "docs/exit-codes.md says nothing about `{command}`");
    }
}
