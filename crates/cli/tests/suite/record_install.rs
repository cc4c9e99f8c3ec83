//! `duologue record --install`, and an existing `claude`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::command::text;

/// A program that prints its arguments.
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
fn a_claude_of_another_origin_is_kept() {
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
            assert!(text(&output.stderr).contains("not written by duologue"), "{args:?}");
        }
    }
    assert!(linked.join("claude").is_symlink());
    assert_eq!(fs::read(&real).unwrap(), before);
    // A file of duologue may be replaced by any of these commands.
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

/// Arguments that end a comment, a quote or a command, if they are not quoted well.
const ODD: [&str; 12] = [
    "a\ntouch seen #",
    "\n\ntouch seen\n",
    "'; touch seen; '",
    "$(touch seen)",
    "`touch seen`",
    "\"; touch seen; \"",
    "\\",
    "a'b",
    "",
    "}; touch seen; {",
    "\r\n#!x",
    "*",
];

#[test]
fn no_argument_gets_out_of_its_quotes() {
    use std::os::unix::ffi::OsStringExt as _;
    let folder = TempDir::new().unwrap();
    // Folders may have odd names, too.
    let odd = folder.path().join("an 'odd'\n$(touch seen)");
    let agent = odd.join("agent\ntouch seen");
    fs::create_dir_all(&odd).unwrap();
    fs::write(&agent, "#!/bin/sh\nprintf '%s\\0' \"$@\"\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let raw = std::ffi::OsString::from_vec(vec![b'x', 0xff, b'\'', b'\n']);
    let args: Vec<std::ffi::OsString> =
        ODD.iter().map(Into::into).chain([raw.clone(), "end".into()]).collect();
    let installed = Command::new(us())
        .args([
            "record",
            "--install",
            "bin\ntouch seen",
            "--redact",
            "--path",
            "a\ntouch seen",
            "--",
        ])
        .arg(&agent)
        .args(&args)
        .current_dir(&odd)
        .output()
        .unwrap();
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    let claude = odd.join("bin\ntouch seen/claude");
    let script = fs::read(&claude).unwrap();
    let comment = script.split(|byte| *byte == b'\n').nth(1).unwrap();
    assert_eq!(comment, b"# Made by `duologue record --install`.");
    let started = Command::new(&claude)
        .arg("more\ntouch seen")
        .current_dir(&odd)
        .env_remove("DUOLOGUE_TAPE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said: Vec<&[u8]> = started.stdout.split(|byte| *byte == 0).collect();
    use std::os::unix::ffi::OsStrExt as _;
    let mut expected: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
    expected.extend([b"more\ntouch seen".as_slice(), b""]);
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&started.stderr));
    for place in [folder.path(), &odd] {
        assert!(!place.join("seen").exists());
    }
}

#[test]
fn no_flag_of_the_agent_gets_out_of_its_quotes() {
    let folder = TempDir::new().unwrap();
    for odd in ODD {
        let installed = Command::new(us())
            .args(["agent", "--install", "bin", "--append-system-prompt", odd])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(installed.status.success(), "{odd:?}: {}", text(&installed.stderr));
        let output = Command::new(folder.path().join("bin/claude"))
            .arg("--version")
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(text(&output.stdout).contains("embedded agent"), "{odd:?}");
        assert!(!folder.path().join("seen").exists(), "{odd:?}");
    }
    let tape = folder.path().join("t\ntouch seen");
    let installed = Command::new(us())
        .args(["replay", "--install", "bin2"])
        .arg(&tape)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    let _ = run(&folder.path().join("bin2/claude"), &["-p", "x"], &[]);
    assert!(!folder.path().join("seen").exists() && !Path::new("/seen").exists());
}

#[test]
fn a_program_of_the_working_directory_is_not_run() {
    let folder = TempDir::new().unwrap();
    let work = folder.path().join("work");
    for place in ["node_modules/.bin", ".claude/local", "bin", "."] {
        let program = work.join(place).join("claude");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "#!/bin/sh\ntouch \"$SEEN\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let seen = folder.path().join("seen");
    let bin = work.join("bin");
    for path in [":/usr/bin:/bin", ".:/usr/bin:/bin", "bin:node_modules/.bin:/usr/bin:/bin"] {
        let path = format!("{path}:{}", bin.display());
        for args in [&["doctor"] as &[&str], &["run", "say hi"], &["record", "--install", "rec"]] {
            let output = Command::new(us())
                .args(args)
                .env_clear()
                .env("PATH", &path)
                .env("HOME", &home)
                .env("SEEN", &seen)
                .current_dir(&work)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert!(!seen.exists(), "{args:?} with {path}: {output:?}");
            assert!(!text(&output.stderr).contains("panicked"));
        }
    }
}
