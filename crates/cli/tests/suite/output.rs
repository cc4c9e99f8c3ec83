//! No command writes over a file that it did not make.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::command::{duologue, recording, text};
use super::record::{await_end, fifo};

const PRECIOUS: &str = "precious";

fn inspect(args: &[&Path]) -> Output {
    duologue().arg("inspect").args(args).write_stdin("").output().unwrap()
}

fn tape() -> std::path::PathBuf {
    recording("01-plain-text.tape")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// How many files are in a folder: none may be left behind.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_page_does_not_replace_the_tape_if_the_output_is_omitted() {
    let folder = TempDir::new().unwrap();
    let (keep, html) = (folder.path().join("keep.tape"), Path::new("--html"));
    fs::copy(tape(), &keep).unwrap();
    let before = fs::read(&keep).unwrap();
    let [link, hard, unnamed] = ["link", "hard", "unnamed"].map(|name| folder.path().join(name));
    symlink(&keep, &link).unwrap();
    fs::hard_link(&keep, &hard).unwrap();
    fs::copy(&keep, &unnamed).unwrap();
    for args in [
        &[html, &keep] as &[&Path],
        &[html, &link],
        &[html, &hard, &keep],
        &[html, &unnamed, Path::new("--force")],
        &[html, &keep, Path::new("--force")],
        &[&keep, html, &link, Path::new("--force")],
        // There is none yet, but it would be taken for a tape.
        &[&keep, html, &folder.path().join("new.tape")],
    ] {
        let output = inspect(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).contains("duologue inspect TAPE --html OUT"), "{args:?}");
    }
    assert_eq!(fs::read(&keep).unwrap(), before);
    assert_eq!(fs::read(&unnamed).unwrap(), before);
    assert_eq!(count(folder.path()), 4);
}

#[test]
fn a_page_replaces_another_file_only_with_force() {
    let folder = TempDir::new().unwrap();
    let [page, link, dangling] =
        ["p.html", "link", "dangling"].map(|name| folder.path().join(name));
    fs::write(&page, PRECIOUS).unwrap();
    symlink(&page, &link).unwrap();
    symlink(folder.path().join("nowhere"), &dangling).unwrap();
    for path in [&page, &link, &dangling] {
        let output = inspect(&[&tape(), Path::new("--html"), path]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("--force"), "{}", text(&output.stderr));
    }
    let output = inspect(&[&tape(), Path::new("--html"), folder.path()]);
    assert!(text(&output.stderr).contains("is a directory"), "{}", text(&output.stderr));
    // The link is replaced, not its target.
    let force = |path: &Path| inspect(&[&tape(), Path::new("--html"), path, Path::new("--force")]);
    assert!(force(&link).status.success());
    assert_eq!(fs::read_to_string(&page).unwrap(), PRECIOUS);
    assert!(force(&page).status.success());
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert_eq!([mode(&page), mode(&link)], [0o600, 0o600]);
    assert_eq!(count(folder.path()), 3);
    // Without events there is no page.
    let new = folder.path().join("new.html");
    assert_eq!(inspect(&[Path::new("--html"), &new]).status.code(), Some(1));
    assert!(!new.exists());
}

#[test]
fn a_page_goes_to_pipes_and_to_stdout() {
    let folder = TempDir::new().unwrap();
    let pipe = fifo(folder.path());
    let page = tape();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .arg("inspect")
        .arg(&page)
        .arg("--html")
        .arg(&pipe)
        .spawn()
        .unwrap();
    let page = await_end(fs::File::open(&pipe).unwrap());
    assert!(page.starts_with(b"<!doctype html>"));
    assert!(child.wait().unwrap().success());
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());

    // Stdout may be a file with something in it.
    let out = folder.path().join("out");
    fs::write(&out, PRECIOUS).unwrap();
    let status = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .arg("inspect")
        .arg(tape())
        .args(["--html", "/dev/stdout"])
        .stdout(OpenOptions::new().append(true).open(&out).unwrap())
        .status();
    assert!(status.unwrap().success());
    let written = fs::read_to_string(&out).unwrap();
    assert!(written.starts_with("precious<!doctype html>"), "{}", &written[..40]);
    assert!(Path::new("/dev/stdout").symlink_metadata().is_ok());
}

#[test]
fn a_recording_replaces_nothing_unasked() {
    let folder = TempDir::new().unwrap();
    let record = |args: &[&Path]| {
        let mut command = duologue();
        command.args(["record", "-o"]).args(args).args(["--", "true"]);
        command.output().unwrap().status.code()
    };
    let [file, link, dangling] = ["file", "link", "dangling"].map(|name| folder.path().join(name));
    fs::write(&file, PRECIOUS).unwrap();
    symlink(&file, &link).unwrap();
    symlink("nowhere", &dangling).unwrap();
    for path in [&file, &link, &dangling] {
        assert_eq!(record(&[path]), Some(125));
    }
    assert_eq!(record(&[&link, Path::new("--force")]), Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), PRECIOUS);
    assert_eq!(mode(&link), 0o600);
    assert_eq!(record(&[&file, Path::new("--number")]), Some(0));
    assert_eq!(record(&[&file, Path::new("--number")]), Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), PRECIOUS);
    assert!(folder.path().join("file-2").exists() && folder.path().join("file-3").exists());
    assert_eq!(count(folder.path()), 5);
}

/// A link to a pipe is how `/dev/stdout` looks: it must not be taken away.
#[test]
fn a_recording_goes_through_a_link_to_a_pipe() {
    let folder = TempDir::new().unwrap();
    let pipe = fifo(folder.path());
    let link = folder.path().join("link");
    symlink(&pipe, &link).unwrap();
    for force in [&[] as &[&str], &["--force"]] {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
            .args(["record", "-o"])
            .arg(&link)
            .args(force)
            .args(["--", "true"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let written = await_end(fs::File::open(&pipe).unwrap());
        assert!(text(&written).contains("\"exit\""));
        assert!(child.wait().unwrap().success());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}

#[test]
fn an_installed_claude_keeps_every_tape() {
    let folder = TempDir::new().unwrap();
    let bin = folder.path().join("bin");
    let install = duologue().args(["record", "--install"]).arg(&bin).args(["--", "cat"]).output();
    assert!(install.unwrap().status.success());
    let named = folder.path().join("talk.tape.zst");
    fs::write(&named, PRECIOUS).unwrap();
    for _ in 0..2 {
        let mut claude = Command::new(bin.join("claude"));
        let status = claude.env("DUOLOGUE_TAPE", &named).stdin(Stdio::null()).status();
        assert!(status.unwrap().success());
    }
    assert_eq!(fs::read_to_string(&named).unwrap(), PRECIOUS);
    for name in ["talk-2.tape.zst", "talk-3.tape.zst"] {
        let output = duologue().arg("inspect").arg(folder.path().join(name)).output().unwrap();
        assert!(text(&output.stdout).contains("exit code 0"), "{}", text(&output.stderr));
    }
}

#[test]
fn an_installed_claude_leaves_nothing_else_behind() {
    let folder = TempDir::new().unwrap();
    for args in [&["agent", "--install"] as &[&str], &["replay", "--install"]] {
        let output = duologue().args(args).arg(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(count(folder.path()), 1);
        assert_eq!(mode(&folder.path().join("claude")) & 0o700, 0o700);
    }
    let claude = folder.path().join("claude");
    fs::write(&claude, PRECIOUS).unwrap();
    for args in [&["agent", "--install"] as &[&str], &["replay", "--install"]] {
        let output = duologue().args(args).arg(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(fs::read_to_string(&claude).unwrap(), PRECIOUS);
    }
}

#[test]
fn manual_pages_replace_other_files_only_with_force() {
    let folder = TempDir::new().unwrap();
    let man = |args: &[&str]| {
        let output = duologue().arg("man").arg(folder.path()).args(args).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let page = folder.path().join("duologue-run.1");
    fs::write(&page, PRECIOUS).unwrap();
    let (code, message) = man(&[]);
    assert_eq!(code, Some(2));
    assert!(
        message.contains("duologue-run.1 exists already") && message.contains("--force"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&page).unwrap(), PRECIOUS);
    assert_eq!(count(folder.path()), 1, "all are checked before the first is written");
    assert_eq!(man(&["--force"]).0, Some(0));
    assert!(fs::read_to_string(&page).unwrap().contains("Exit codes"));
    assert_eq!(mode(&page) & 0o400, 0o400);
    // Writing the same again changes nothing, and needs no --force.
    assert_eq!(man(&[]).0, Some(0));
}

#[test]
fn completions_and_schemas_go_to_stdout_alone() {
    let folder = TempDir::new().unwrap();
    for args in [&["completions", "bash"] as &[&str], &["schema"], &["schema", "--events"]] {
        let output = duologue().args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty());
    }
    assert_eq!(count(folder.path()), 0);
}

/// A page that cannot be written to its end is not there.
#[test]
fn an_incomplete_page_is_removed() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    // A limit on the size of files simulates a full disk.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec \"$0\" inspect {} --html {}",
        tape().display(),
        page.display()
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(assert_cmd::cargo::cargo_bin("duologue"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(count(folder.path()), 0);
}
