//! `docs/environment.md` names every environment variable that the sources read or set, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use duologue_testkit::root;
use regex::Regex;

/// Prefixes of the variables of this project and of Claude Code.
const FAMILIES: &[&str] = &["DUOLOGUE_", "CLAUDE", "ANTHROPIC_", "API_TIMEOUT", "DISABLE_", "XDG_"];

/// Reads of a parameter whose values all belong to a family.
const PARAMETERS: &[(&str, &str)] =
    &[("crates/embedded/src/models.rs", "variable"), ("crates/cli/src/session_args.rs", "name")];

/// The section of variables that only libraries read: their names are not in our sources.
const LIBRARIES: &str = "## Through libraries";

/// The sources of the crates that are published, without their tests and comments, by path.
fn sources() -> BTreeMap<String, String> {
    let list = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard", "crates"])
        .current_dir(root())
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let ours = list.lines().filter(|path| {
        path.ends_with(".rs")
            && path.contains("/src/")
            && !path.starts_with("crates/testkit/")
            && !path.contains("/tests")
    });
    let read = |path: &str| {
        let text = fs::read_to_string(root().join(path)).ok()?;
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        Some((path.to_owned(), code.collect::<Vec<_>>().join("\n")))
    };
    ours.filter_map(read).collect()
}

/// The variables that the sources name, with where; and reads whose variable cannot be found out.
fn named(sources: &BTreeMap<String, String>) -> (BTreeMap<String, String>, Vec<String>) {
    let reads = Regex::new(r"env::(?:var|var_os|set_var|remove_var)\(\s*([^)]*?)\s*\)").unwrap();
    // A closure that is given a name, or something that is set for others: `set("CLAUDE_CONFIG_DIR")`.
    let calls = Regex::new(r#"\b(?:var|set|on|env|env_remove)\(\s*"([A-Z][A-Z0-9_]+)""#).unwrap();
    // Where such a closure is made.
    let closure = Regex::new(r"let (?:var|set|on) = \|name: &str\||from_vars\(\|name\|").unwrap();
    let literals = Regex::new(r#""([A-Z][A-Z0-9_]+)""#).unwrap();
    let in_scripts = Regex::new(r"\$\{*([A-Z][A-Z0-9_]+)").unwrap();
    let constant = Regex::new(r#"const ([A-Z_]+): &str = "([A-Z][A-Z0-9_]+)""#).unwrap();
    let mut found = BTreeMap::new();
    let mut unclear = Vec::new();
    for (path, code) in sources {
        let mut add = |name: &str| drop(found.insert(name.to_owned(), path.clone()));
        for read in reads.captures_iter(code) {
            let argument = &read[1];
            if let Some(name) = argument.strip_prefix('"') {
                add(name.trim_end_matches('"'));
            } else if argument.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') {
                let known = constant.captures_iter(code).find(|found| &found[1] == argument);
                match known {
                    Some(known) => add(&known[2]),
                    None => unclear.push(format!("{path}: {argument}")),
                }
            } else {
                // A parameter, whose values are found by the calls.
                let start = read.get(0).map_or(0, |read| read.start());
                let line = code[..start].rsplit('\n').next().unwrap_or_default();
                if !closure.is_match(line) && !PARAMETERS.contains(&(path.as_str(), argument)) {
                    unclear.push(format!("{path}: {argument}"));
                }
            }
        }
        for call in calls.captures_iter(code) {
            add(&call[1]);
        }
        for name in in_scripts.captures_iter(code) {
            // A constant of ours, where a script is made of it.
            let known = constant.captures_iter(code).find(|found| found[1] == name[1]);
            add(known.as_ref().map_or(&name[1], |known| &known[2]));
        }
        // Where they are given in another way: in a list, as a constant, as a pattern.
        for literal in literals.captures_iter(code) {
            if FAMILIES.iter().any(|family| literal[1].starts_with(family)) {
                add(&literal[1]);
            }
        }
        if code.contains("env::home_dir()") {
            add("HOME");
        }
        if code.contains("tempfile::") || code.contains("env::temp_dir()") {
            add("TMPDIR");
        }
    }
    (found, unclear)
}

/// The names on a page: those in the first column of its tables, and elsewhere.
fn on_page(page: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let name = Regex::new(r"`([A-Z][A-Z0-9_]+)`").unwrap();
    let names = |text: &str| -> Vec<String> {
        name.captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    let first = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    (first.flat_map(names).collect(), names(page).into_iter().collect())
}

#[test]
fn every_variable_of_the_sources_is_on_the_page() {
    let (named, unclear) = named(&sources());
    assert!(unclear.is_empty(), "which variable is read here? Name it: {unclear:#?}");
    assert!(named.len() > 30, "{named:#?}");
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let (_, all) = on_page(&page);
    let missing: Vec<_> = named.iter().filter(|(name, _)| !all.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/environment.md does not name {missing:#?}");
}

#[test]
fn every_variable_of_the_page_is_in_the_sources() {
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let (before, rest) = page.split_once(LIBRARIES).unwrap();
    let (_, after) = rest.split_once("\n## ").unwrap();
    let sources: String = sources().into_values().collect();
    let known = named(&self::sources()).0;
    for part in [before, after] {
        for name in on_page(part).0 {
            let is_there = known.contains_key(&name) || sources.contains(&format!("\"{name}\""));
            assert!(is_there, "docs/environment.md names {name}, which nothing reads or sets");
        }
    }
}

#[test]
fn a_variable_that_is_read_in_any_way_is_found() {
    let code = r##"
        const PLACE: &str = "OTHER_PLACE";
        fn f() {
            std::env::var("SOME_NAME").ok();
            std::env::var_os(PLACE);
            let set = |name: &str| std::env::var(name);
            set("PASSED_ON");
            let script = format!("tape=${{IN_A_SCRIPT:-x}}");
            let list = ["DUOLOGUE_IN_A_LIST"];
            std::env::var(made_up());
        }
    "##;
    let sources = BTreeMap::from([("a.rs".to_owned(), code.to_owned())]);
    let (found, unclear) = named(&sources);
    let found: Vec<&str> = found.keys().map(String::as_str).collect();
    let wanted = ["DUOLOGUE_IN_A_LIST", "IN_A_SCRIPT", "OTHER_PLACE", "PASSED_ON", "SOME_NAME"];
    assert_eq!(found, wanted);
    assert_eq!(unclear, ["a.rs: made_up("]);
}
