//! `duologue record --install`, and what must not happen to a `claude` that is there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::command::text;

/// A program that tells its arguments.
fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\necho real \"$@\"\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs something with these folders on the PATH, before the others.
fn run(program: &Path, args: &[&str], first: &[&Path]) -> Output {
    let old = std::env::var_os("PATH").unwrap();
    let path = first.iter().map(|folder| folder.to_path_buf()).chain(std::env::split_paths(&old));
    Command::new(program)
        .args(args)
        .env("PATH", std::env::join_paths(path).unwrap())
        .env_remove("DUOLOGUE_TAPE")
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn us() -> PathBuf {
    assert_cmd::cargo::cargo_bin("duologue")
}

#[test]
fn a_claude_that_was_not_made_here_stays() {
    let folder = TempDir::new().unwrap();
    let real = folder.path().join("real/claude");
    program(&real);
    let linked = folder.path().join("linked");
    fs::create_dir(&linked).unwrap();
    symlink(&real, linked.join("claude")).unwrap();
    let before = fs::read(&real).unwrap();
    for bin in [&linked, &folder.path().join("real")] {
        let bin = bin.to_str().unwrap();
        for (args, code) in [
            (&["record", "--install", bin, "--", "cat"] as &[&str], 125),
            (&["replay", "--install", bin], 2),
            (&["agent", "--install", bin], 2),
        ] {
            let output = run(&us(), args, &[]);
            assert_eq!(output.status.code(), Some(code), "{args:?}");
            assert!(text(&output.stderr).contains("not made by duologue"), "{args:?}");
        }
    }
    assert!(linked.join("claude").is_symlink());
    assert_eq!(fs::read(&real).unwrap(), before);
    // What was made here may be made again, by any of them.
    let bin = folder.path().join("bin");
    let bin = bin.to_str().unwrap();
    for args in [
        &["agent", "--install", bin] as &[&str],
        &["replay", "--install", bin],
        &["record", "--install", bin, "--", "cat"],
        &["agent", "--install", bin],
    ] {
        assert!(run(&us(), args, &[]).status.success(), "{args:?}");
    }
}

#[test]
fn the_claude_that_is_recorded_is_never_a_recorder() {
    let folder = TempDir::new().unwrap();
    let [real, first, second] = ["real", "first", "second"].map(|name| folder.path().join(name));
    program(&real.join("claude"));
    fs::write(folder.path().join("claude"), "not executable").unwrap();
    let on_path = [&*second, &*first, folder.path(), &*real];
    let claude = ["--", "claude"];
    for (bin, named) in [(&first, &claude[..]), (&first, &[]), (&second, &claude), (&second, &[])] {
        let install = [&["record", "--install", bin.to_str().unwrap()], named].concat();
        let output = run(&us(), &install, &on_path);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let output = run(&bin.join("claude"), &["a b"], &on_path);
        assert_eq!(text(&output.stdout), "real a b\n");
    }
    assert_eq!(fs::read_dir(first.join("tapes")).unwrap().count(), 2);
}

#[test]
fn an_agent_beside_us_is_found_from_anywhere() {
    let folder = TempDir::new().unwrap();
    program(&folder.path().join("agent"));
    let output = Command::new(us())
        .args(["record", "--install", "bin", "--", "./agent", "one"])
        .current_dir(folder.path())
        .output();
    assert!(output.unwrap().status.success());
    let output = run(&folder.path().join("bin/claude"), &["two"], &[]);
    assert_eq!(text(&output.stdout), "real one two\n");
}
