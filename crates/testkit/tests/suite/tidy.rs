//! Rules for this repository.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use duologue_testkit::peers::imitated_version;
use duologue_testkit::root;
use serde_json::Value;

/// Everything `wire` and `protocol` may depend on, themselves included: no runtime, no clock, no files.
const PURE: &[&str] = &[
    "bytemuck",
    "duologue-protocol",
    "duologue-wire",
    "itoa",
    "memchr",
    "safe_arch",
    "serde",
    "serde_core",
    "serde_json",
    "simdutf8",
    "wide",
    "zmij",
    // The feature `preserve_order` of serde_json, which agent-client-protocol enables for the whole workspace.
    "allocator-api2",
    "equivalent",
    "foldhash",
    "hashbrown",
    "indexmap",
];

/// What no source of `wire` and `protocol` may name.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
    "Instant",
    "SystemTime",
];

fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let list = run(Command::new("git").args(["ls-files", "-co", "--exclude-standard", folder]));
    let files: Vec<PathBuf> = list
        .lines()
        .filter(|path| endings.iter().any(|ending| path.ends_with(ending)))
        .map(|path| root().join(path))
        .filter(|path| path.exists())
        .collect();
    assert!(!files.is_empty(), "no {endings:?} in {folder}");
    files
}

fn metadata() -> Value {
    // Only for this platform: packages for others need not be on this machine.
    let version = run(Command::new("rustc").arg("-vV"));
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let json = run(Command::new(env!("CARGO")).args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        host,
    ]));
    serde_json::from_str(&json).unwrap()
}

fn run(command: &mut Command) -> String {
    let output = command.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The packages that a crate is built from on this platform, tests aside.
fn built_from(package: &str, features: &[&str]) -> BTreeSet<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none"]);
    command.args(["--format", "{lib}", "--package", package]).args(features);
    run(&mut command).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_minimal_host_is_built_without_rmcp_and_schemars() {
    let minimal = built_from("duologue", &["--no-default-features"]);
    let default = built_from("duologue", &[]);
    for name in ["rmcp", "schemars"] {
        assert!(!minimal.contains(name), "{name} is in {minimal:?}");
        assert!(default.contains(name), "{name} is not in {default:?}");
    }
    let tape = built_from("duologue-tape", &["--no-default-features"]);
    assert!(tape.contains("duologue_tape"), "{tape:?}");
    assert!(!tape.contains("duologue") && !tape.contains("tokio"), "{tape:?}");
}

#[test]
fn the_pure_crates_depend_on_nothing_impure() {
    let metadata = metadata();
    let names: HashMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    let nodes: HashMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["id"].as_str().unwrap(), node))
        .collect();
    let is_macro = |id: &str| {
        let package =
            metadata["packages"].as_array().unwrap().iter().find(|p| p["id"] == id).unwrap();
        package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .any(|target| target["kind"][0] == "proc-macro")
    };
    let start = names.iter().find(|(_, name)| **name == "duologue-protocol").unwrap().0;
    let mut seen = BTreeSet::new();
    let mut open = vec![*start];
    while let Some(id) = open.pop() {
        if !seen.insert(names[id]) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            let id = dependency["pkg"].as_str().unwrap();
            // What runs on the builder's machine is not part of the crate.
            if kinds.iter().any(|kind| kind["kind"].is_null()) && !is_macro(id) {
                open.push(id);
            }
        }
    }
    let surprising: Vec<&&str> = seen.iter().filter(|name| !PURE.contains(name)).collect();
    assert!(surprising.is_empty(), "a pure crate now depends on {surprising:?}");
}

#[test]
fn the_pure_crates_name_nothing_impure() {
    let sources = |folder| files(folder, &[".rs"]);
    for path in [sources("crates/wire/src"), sources("crates/protocol/src")].concat() {
        let source = fs::read_to_string(&path).unwrap();
        for (number, line) in (1..).zip(source.lines()) {
            let code = line.trim_start();
            if code.starts_with("//") {
                continue;
            }
            for word in IMPURE {
                assert!(!code.contains(word), "{}:{number} names {word}", path.display());
            }
        }
    }
}

#[test]
fn every_direct_dependency_has_its_reason() {
    let reasons = fs::read_to_string(root().join("DEPENDENCIES.md")).unwrap();
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        if !package["source"].is_null() {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            let known = name.starts_with("duologue") || reasons.contains(&format!("| {name} |"));
            assert!(known, "{name} needs a line in DEPENDENCIES.md");
        }
    }
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let here = ["/work/", "/root/", "../shared", "shared/"];
    for path in files(".", &[".rs", ".toml", ".md", ".sh", "run"]) {
        if path.ends_with(Path::new("tidy.rs")) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for word in here {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
    }
}

#[test]
fn the_imitated_version_has_one_home_in_the_sources_and_one_in_the_list_of_peers() {
    let version = duologue_agent::VERSION;
    assert_eq!(version, imitated_version(), "the agent and peers.toml differ");
    let homes = ["peers.toml", "crates/agent/src/options.rs"];
    for folder in ["crates", "conformance", "bench", "fuzz", ".ci", "peers.toml"] {
        for path in files(folder, &[""]) {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            // Recorded files, and pages that show the version.
            if name.contains("/fixtures/") || name.ends_with(".md") {
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let is_home = homes.contains(&name.as_str());
            assert!(is_home || !text.contains(version), "{name} names {version}");
        }
    }
}

#[test]
fn the_licences_are_there() {
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(fs::metadata(root().join(name)).unwrap().len() > 1_000, "{name}");
    }
}
