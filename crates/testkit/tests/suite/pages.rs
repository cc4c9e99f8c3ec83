//! The documentation: links work, the book contains every page, programs compile.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use duologue_testkit::root;

/// A folder's pages, by name.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    pages.sort();
    assert!(!pages.is_empty(), "no page in {folder}");
    pages
}

/// The README of every crate.
fn crate_readmes() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    crates.map(|entry| entry.unwrap().path().join("README.md")).collect()
}

/// The lines of a page outside of code.
fn prose(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut in_code = false;
    let outside = |line: &&str| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !fence && !in_code
    };
    text.lines().filter(outside).map(str::to_owned).collect()
}

/// The links of a page.
fn links(page: &Path) -> Vec<String> {
    let lines = prose(page);
    let after = lines.iter().flat_map(|line| line.split("](").skip(1));
    after.filter_map(|rest| rest.split_once(')')).map(|(link, _)| link.to_owned()).collect()
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn every_link_has_a_target() {
    let mut broken = Vec::new();
    for page in [pages("."), pages("docs"), crate_readmes()].concat() {
        for link in links(&page) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, part) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let is_there = target.exists()
                && (part.is_empty()
                    || prose(&target)
                        .iter()
                        .filter(|line| line.starts_with('#'))
                        .any(|line| anchor(line.trim_start_matches('#')) == part));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_book_holds_every_page() {
    let summary = root().join("docs/SUMMARY.md");
    let linked = links(&summary);
    for page in pages("docs") {
        let name = page.file_name().unwrap().to_str().unwrap();
        let held = page == summary || linked.iter().any(|link| link == name);
        assert!(held, "docs/SUMMARY.md does not name {name}");
    }
}

#[test]
fn every_crate_has_a_readme_whose_programs_are_doctests() {
    for readme in crate_readmes() {
        let text = fs::read_to_string(&readme)
            .unwrap_or_else(|error| panic!("{}: {error}", readme.display()));
        assert!(
            !links(&readme).is_empty() || text.contains("It is not published."),
            "{}",
            readme.display()
        );
        let library = readme.with_file_name("src").join("lib.rs");
        if let Ok(library) = fs::read_to_string(library) {
            assert!(text.contains("```rust"), "{} has no example", readme.display());
            let included = "include_str!(\"../README.md\")";
            assert!(library.contains(included), "{} is not compiled", readme.display());
        }
    }
}

#[test]
fn programs_of_pages_are_doctests() {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let sources: String = crates
        .map(|entry| {
            fs::read_to_string(entry.unwrap().path().join("src/lib.rs")).unwrap_or_default()
        })
        .collect();
    for page in pages("docs") {
        let name = page.file_name().unwrap().to_str().unwrap();
        if fs::read_to_string(&page).unwrap().contains("```rust") {
            let included = format!("include_str!(\"../../../docs/{name}\")");
            assert!(sources.contains(&included), "the programs of docs/{name} are not compiled");
        }
    }
}

/// The table of errors in `docs/drive-claude-code.md`, and the errors of the library.
#[test]
fn the_table_of_errors_is_complete() {
    let source = fs::read_to_string(root().join("crates/host/src/error.rs")).unwrap();
    let (_, body) = source.split_once("pub enum Error {").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let is_name = |line: &&str| {
        line.strip_prefix("    ")
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let name = |line: &str| -> String {
        line.trim().chars().take_while(|c| c.is_ascii_alphanumeric()).collect()
    };
    let errors: BTreeSet<String> = body.lines().filter(is_name).map(name).collect();
    assert!(errors.len() > 10, "{errors:?}");

    let page = fs::read_to_string(root().join("docs/drive-claude-code.md")).unwrap();
    let (_, table) = page.split_once("| `Error` | cause |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let listed: BTreeSet<String> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    assert_eq!(listed, errors);
}

/// Words that make a reader stop: see CONTRIBUTING.md. Code may have them, for example in a recorded text.
#[test]
fn pages_use_plain_words() {
    let words = ["told", "nobody", "somebody", "anybody", "whoever", "in vain", "mended", "hears"];
    let top =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "DEPENDENCIES.md", "CHANGELOG.md"];
    let all =
        top.map(|name| root().join(name)).into_iter().chain(pages("docs")).chain(crate_readmes());
    for page in all {
        for line in prose(&page) {
            // Without code in backticks.
            let text = line.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
            let text = text.replace(|letter: char| !letter.is_alphanumeric(), " ");
            let found =
                words.iter().find(|word| format!(" {text} ").contains(&format!(" {word} ")));
            assert!(found.is_none(), "{}: {found:?} in {line}", page.display());
        }
    }
}
