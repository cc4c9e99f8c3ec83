//! What is started, and what is not.

use std::ffi::OsString;

use duologue_protocol::RawObject;
use duologue_protocol::launch::{EnvChange, Launch, Settings};
use rustix::process::{Pid, getpgid};
use tokio::io::AsyncReadExt as _;

use super::support::*;
use crate::process::{Rung, Spawn, SpawnError};

#[tokio::test]
async fn arguments_environment_and_directory_are_those_of_the_plan() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let launch = Launch::new().model("sonnet").cwd(&directory).env("SOME_MARK", "of the plan");
    let plan = launch.plan(None).unwrap();
    let script = r#"pwd; echo "$SOME_MARK/$OTHER_MARK/$DEBUG"; for arg; do echo "$arg"; done"#;
    let spawn = sh(script).plan(plan.clone());
    let spawn = spawn.env("OTHER_MARK", EnvChange::Set("of the host".into()));
    let mut started = spawn.start().unwrap();
    let mut said = String::new();
    soon(started.stdout.read_to_string(&mut said)).await.unwrap();
    let mut said = said.lines();
    assert_eq!(said.next(), directory.to_str());
    assert_eq!(said.next(), Some("of the plan/of the host/"));
    assert_eq!(said.map(OsString::from).collect::<Vec<_>>(), plan.args);
}

#[tokio::test]
async fn it_leads_a_group_of_its_own() {
    let started = start("cat");
    let pid = Pid::from_raw(started.process.pid().try_into().unwrap()).unwrap();
    assert_eq!(getpgid(Some(pid)).unwrap(), pid);
    assert_ne!(getpgid(None).unwrap(), pid);
    assert_eq!(started.process.group(), started.process.pid());
    assert_eq!(started.process.unguarded(), None);
}

#[tokio::test]
async fn files_are_for_the_owner_only_and_go_with_the_process() {
    let note = "x".repeat(100_000);
    let settings = RawObject::of(&serde_json::json!({ "note": note })).unwrap();
    let plan = Launch::new().settings(Settings::Object(settings)).plan(None).unwrap();
    assert_eq!(plan.files.len(), 1);
    let script = r#"
        for arg; do case $arg in --settings=*) file=${arg#--settings=};; esac; done
        echo "$file"; ls -l "$file" | cut -c 1-10; ls -ld "${file%/*}" | cut -c 1-10
        wc -c < "$file"; cat > /dev/null"#;
    let started = sh(script).plan(plan).start().unwrap();
    let mut lines = lines(started.stdout);
    let file = std::path::PathBuf::from(line(&mut lines).await);
    assert_eq!(line(&mut lines).await, "-rw-------");
    assert_eq!(line(&mut lines).await, "drwx------");
    assert!(line(&mut lines).await.trim().parse::<usize>().unwrap() > 100_000);
    assert!(file.extension().is_some_and(|end| end == "json"));
    started.process.asked_to_go();
    drop(started.stdin);
    soon(started.process.end(PATIENT)).await;
    assert!(!file.parent().unwrap().exists());
}

#[tokio::test]
async fn a_missing_program_is_named() {
    for program in ["/no/such/program", "no-such-program-anywhere"] {
        let error = Spawn::new(program).start().unwrap_err();
        assert!(matches!(&error, SpawnError::NotFound(path) if path.to_str() == Some(program)));
        assert!(error.to_string().contains(program));
    }
}

#[tokio::test]
async fn a_file_that_cannot_run_differs_from_a_missing_one() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let error = Spawn::new(directory.path()).start().unwrap_err();
    assert!(matches!(error, SpawnError::IsDirectory(_)), "{error}");

    std::fs::write(at("text"), "no program").unwrap();
    let error = Spawn::new(at("text")).start().unwrap_err();
    assert!(matches!(error, SpawnError::NotExecutable(_)), "{error}");

    let error = Spawn::new(at("text/inside")).start().unwrap_err();
    assert!(matches!(error, SpawnError::NotFound(_)), "{error}");

    executable(&at("script"), "#!/no/such/interpreter\n");
    let error = Spawn::new(at("script")).start().unwrap_err();
    assert!(matches!(error, SpawnError::NoInterpreter(_)), "{error}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_entered_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let plan = Launch::new().cwd(&missing).plan(None).unwrap();
    let error = sh("true").plan(plan).start().unwrap_err();
    assert!(matches!(&error, SpawnError::NoCwd(path) if *path == missing), "{error}");

    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let plan = Launch::new().cwd(&file).plan(None).unwrap();
    let error = sh("true").plan(plan).start().unwrap_err();
    assert!(matches!(&error, SpawnError::BadCwd { path, .. } if *path == file), "{error}");
}

#[tokio::test]
async fn a_relative_program_is_meant_from_here() {
    let directory = tempfile::Builder::new().prefix("relative-").tempdir_in(".").unwrap();
    let program = directory.path().join("agent");
    executable(&program, "#!/bin/sh\nexit 7\n");
    let here = std::env::current_dir().unwrap();
    let program = program.strip_prefix(here).unwrap_or(&program).to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    let plan = Launch::new().cwd(elsewhere.path()).plan(None).unwrap();
    let started = Spawn::new(program).plan(plan).start().unwrap();
    assert_eq!(soon(started.process.exited()).await.code, Some(7));
}

#[tokio::test]
async fn a_command_line_that_is_too_long_is_an_error() {
    let error = sh("true").leading(["x".repeat(8_000_000)]).start().unwrap_err();
    assert!(matches!(error, SpawnError::TooLong { length } if length > 8_000_000), "{error}");
}

#[test]
fn without_a_runtime_nothing_is_started() {
    assert!(matches!(sh("true").start().unwrap_err(), SpawnError::NoRuntime));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once() {
    let mut agents = tokio::task::JoinSet::new();
    for number in 0..200 {
        agents.spawn(async move {
            let started = start(&format!("echo {number}; echo err {number} >&2; cat > /dev/null"));
            let mut lines = lines(started.stdout);
            assert_eq!(line(&mut lines).await, number.to_string());
            (number, started.process, started.stdin)
        });
    }
    // All of them live before the first one ends.
    let agents = soon(agents.join_all()).await;
    assert_eq!(agents.len(), 200);
    let mut endings = tokio::task::JoinSet::new();
    for (number, process, stdin) in agents {
        endings.spawn(async move {
            process.asked_to_go();
            drop(stdin);
            let report = process.end(PATIENT).await;
            assert!(report.success() && report.gone && report.rung == Rung::Stdin, "{report:?}");
            assert_eq!(process.tail(), format!("err {number}"));
            assert!(!is_there(process.pid()));
        });
    }
    soon(endings.join_all()).await;
}
