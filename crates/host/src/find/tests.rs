//! Finding the CLI and its version.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use duologue_protocol::launch::CliVersion;
use tempfile::TempDir;

use super::*;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn put(&self, path: &str, contents: &str, mode: u32) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn program(&self, path: &str) -> PathBuf {
        self.put(path, "#!/bin/sh\n", 0o755)
    }

    fn search(&self) -> Search {
        let path = std::env::join_paths([self.at("one"), self.at("two")]).unwrap();
        Search::nowhere().path(path).home(self.at("home")).cwd(self.at("work"))
    }
}

#[test]
fn the_first_on_the_path_comes_before_the_usual_places() {
    let place = Place::new();
    place.program("work/node_modules/.bin/claude");
    assert!(place.search().find().is_err());
    for usual in [".yarn/bin", ".bun/bin", ".npm-global/bin", ".claude/bin", ".claude/local"] {
        let program = place.program(&format!("home/{usual}/claude"));
        assert_eq!(place.search().find().unwrap(), program);
    }
    let native = place.program("home/.local/bin/claude");
    assert_eq!(place.search().find().unwrap(), native);
    let second = place.program("two/claude");
    assert_eq!(place.search().find().unwrap(), second);
    let first = place.program("one/claude");
    assert_eq!(place.search().find().unwrap(), first);
}

#[test]
fn files_that_cannot_run_are_skipped_and_listed() {
    let place = Place::new();
    place.put("one/claude", "text", 0o644);
    place.put("two/claude", "", 0o755);
    fs::create_dir_all(place.at("home/.local/bin/claude")).unwrap();
    let error = place.search().find().unwrap_err();
    let verdicts: Vec<_> = error.looked.iter().map(|looked| looked.verdict).collect();
    assert_eq!(verdicts[..3], [Verdict::NotExecutable, Verdict::Empty, Verdict::Directory]);
    let told = error.to_string();
    assert!(told.contains("one/claude (not executable"), "{told}");
    assert!(told.contains("two/claude (empty)"), "{told}");
    assert!(told.contains(".local/bin/claude (a directory)"), "{told}");
    assert!(told.contains("npm install -g @anthropic-ai/claude-code"), "{told}");
    let program = place.program("home/.bun/bin/claude");
    assert_eq!(place.search().find().unwrap(), program);
}

#[test]
fn one_that_is_named_is_the_only_one() {
    let place = Place::new();
    place.program("one/claude");
    let other = place.program("work/tools/other");
    let named = |path: &str| place.search().explicit(Some(Path::new(path))).find();
    assert_eq!(named("tools/other").unwrap(), other);
    assert_eq!(named(other.to_str().unwrap()).unwrap(), other);
    assert_eq!(named("./tools/missing").unwrap_err().looked.len(), 1);
    // A name is looked up.
    let dev = place.program("two/claude-dev");
    assert_eq!(named("claude-dev").unwrap(), dev);
    assert_eq!(named("nobody").unwrap_err().looked.len(), 2);
}

#[test]
fn a_program_of_the_working_directory_is_never_found() {
    let place = Place::new();
    let local = [
        "checkout/claude",
        "checkout/bin/claude",
        "checkout/node_modules/.bin/claude",
        "checkout/.claude/local/claude",
        "checkout/.local/bin/claude",
        "checkout/sub/bin/claude",
    ];
    for program in local {
        place.program(program);
    }
    fs::create_dir_all(place.at("links")).unwrap();
    symlink(place.at("checkout/bin"), place.at("links/into")).unwrap();
    symlink(place.at("outside"), place.at("checkout/out")).unwrap();
    fs::create_dir_all(place.at("program")).unwrap();
    symlink(place.at("checkout/claude"), place.at("program/claude")).unwrap();
    fs::create_dir_all(place.at("outside")).unwrap();
    let checkout = place.at("checkout");
    let search = |path: &str| Search::nowhere().path(path).cwd(&checkout);
    let absolute = |path: &str| place.at(path).to_str().unwrap().to_owned();
    for path in [
        String::new(),
        ":".to_owned(),
        "::".to_owned(),
        ".".to_owned(),
        "./".to_owned(),
        "./bin".to_owned(),
        "bin".to_owned(),
        "node_modules/.bin:.claude/local".to_owned(),
        "../checkout/bin".to_owned(),
        absolute("checkout"),
        absolute("checkout/bin"),
        absolute("checkout/../checkout/bin"),
        absolute("outside/../checkout/bin"),
        absolute("checkout/node_modules/.bin"),
        absolute("links/into"),
        absolute("program"),
    ] {
        let found = search(&path).find();
        assert!(found.is_err(), "{path:?} found {found:?}");
        let named = search(&path).explicit(Some(Path::new("claude"))).find();
        assert!(named.is_err(), "{path:?} found {named:?} by name");
    }
    // A folder that leads out of it is still a part of it.
    place.program("outside/claude");
    assert!(search(&absolute("checkout/out")).find().is_err());
    assert_eq!(search(&absolute("outside")).find().unwrap(), place.at("outside/claude"));
    // The home directory must not become the working directory.
    for home in ["", ".", "checkout"] {
        assert!(Search::nowhere().home(home).cwd(&checkout).find().is_err(), "{home:?}");
    }
    // The error says where it is, and its path still works.
    let error = search(&absolute("checkout/bin")).find().unwrap_err();
    assert_eq!(error.looked[0].verdict, Verdict::InWorkingDirectory);
    assert!(
        error.to_string().contains("in the working directory: give its path to run it"),
        "{error}"
    );
    for named in ["bin/claude", "./claude", &absolute("checkout/bin/claude")] {
        assert!(search("").explicit(Some(Path::new(named))).find().is_ok(), "{named}");
    }
}

#[test]
fn a_program_of_the_repository_around_is_not_found_either() {
    let place = Place::new();
    place.program("repository/node_modules/.bin/claude");
    fs::create_dir_all(place.at("repository/.git")).unwrap();
    fs::create_dir_all(place.at("repository/deep/down")).unwrap();
    let path = place.at("repository/node_modules/.bin");
    let search = Search::nowhere().path(path).cwd(place.at("repository/deep/down"));
    assert!(search.find().is_err());
}

#[test]
fn where_programs_are_installed_is_not_a_checkout() {
    let place = Place::new();
    let program = place.program("home/.local/bin/claude");
    let search = |cwd: PathBuf| Search::nowhere().home(place.at("home")).cwd(cwd).find();
    assert_eq!(search(place.at("home")).unwrap(), program);
    assert_eq!(search(place.at("")).unwrap(), program);
    assert_eq!(search("/".into()).unwrap(), program);
    let on_path = Search::nowhere().path(place.at("home/.local/bin")).home(place.at("home"));
    assert_eq!(on_path.cwd("/").find().unwrap(), program);
}

#[test]
fn without_a_path_nothing_is_looked_at() {
    let error = Search::nowhere().find().unwrap_err();
    assert!(error.to_string().contains("nothing"));
}

#[tokio::test]
async fn the_native_installer_names_the_file_after_the_version() {
    let place = Place::new();
    // To run it would fail: its contents are no program.
    let file = place.put("share/claude/versions/2.1.0", "\u{0}", 0o755);
    let link = place.at("claude");
    symlink(&file, &link).unwrap();
    assert_eq!(version(&link, &[]).await, Some(CliVersion::new(2, 1, 0)));
}

#[tokio::test]
async fn the_package_has_the_version() {
    let place = Place::new();
    let package = "lib/node_modules/@anthropic-ai/claude-code";
    let about = r#"{"name":"@anthropic-ai/claude-code","version":"2.0.77","bin":{}}"#;
    place.put(&format!("{package}/package.json"), about, 0o644);
    let script = place.put(&format!("{package}/cli.js"), "\u{0}", 0o755);
    let link = place.at("claude");
    symlink(&script, &link).unwrap();
    assert_eq!(version(&link, &[]).await, Some(CliVersion::new(2, 0, 77)));
    let leading = [OsString::from(&script)];
    assert_eq!(version(Path::new("node"), &leading).await, Some(CliVersion::new(2, 0, 77)));
}

#[tokio::test]
async fn others_are_asked_once() {
    let place = Place::new();
    let log = place.at("log");
    let text = |version: &str| {
        format!(
            "echo asked >> '{}'; cat; echo '{version} (Claude Code)'; sleep 1000",
            log.display()
        )
    };
    let script = place.put("agent", &text("2.1.52"), 0o644);
    let leading = [OsString::from(&script)];
    let asked = || fs::read_to_string(&log).unwrap().lines().count();
    // Also if several want to know at once.
    let sh = Path::new("/bin/sh");
    let all = tokio::join!(version(sh, &leading), version(sh, &leading), version(sh, &leading));
    assert_eq!(all, (Some(CliVersion::new(2, 1, 52)), all.0, all.0));
    assert_eq!(version(sh, &leading).await, all.0);
    assert_eq!(asked(), 1);
    // Replaced, it is asked again.
    place.put("agent", &text("2.1.1970"), 0o644);
    let version = version(Path::new("/bin/sh"), &leading).await;
    assert_eq!(version, Some(CliVersion::new(2, 1, 1970)));
    assert_eq!(asked(), 2);
}

#[tokio::test]
async fn a_program_that_prints_no_version_has_none() {
    let place = Place::new();
    assert_eq!(version(&place.at("missing"), &[]).await, None);
    let script = place.put("agent", "echo none; exit 1", 0o644);
    assert_eq!(version(Path::new("/bin/sh"), &[script.into()]).await, None);
    let script = place.put("endless", "cat /dev/zero", 0o644);
    assert_eq!(version(Path::new("/bin/sh"), &[script.into()]).await, None);
    // A directory of that name says nothing if the package is another.
    let package = "node_modules/@anthropic-ai/claude-code";
    let about = r#"{"name":"something-else","version":"9.9.9"}"#;
    place.put(&format!("{package}/package.json"), about, 0o644);
    let script = place.put(&format!("{package}/agent"), "echo nothing", 0o644);
    assert_eq!(version(Path::new("/bin/sh"), &[script.into()]).await, None);
}

#[test]
fn the_tested_versions_are_known() {
    assert!(is_tested(&CliVersion::new(2, 1, 325)));
    assert!(is_tested(&CliVersion::new(1, 0, 128)));
    assert!(!is_tested(&CliVersion::new(2, 1, 326)));
    assert!(TESTED.is_sorted_by(|newer, older| newer > older));
}
