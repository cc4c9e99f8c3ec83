//! The guard, which outlives its host.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use duologue_protocol::RawObject;
use duologue_protocol::launch::{Launch, Settings};

use super::support::*;
use crate::process::Signal;
use crate::process::group::{signal_group, signal_process};
use crate::process::guard::Guard;

/// Set for the process that plays the host.
const HOST: &str = "DUOLOGUE_TEST_PLAYS_HOST";

/// Not a test by itself: a host for the next one, in a process of its own.
#[test]
fn plays_the_host() {
    if std::env::var_os(HOST).is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _kept = runtime.block_on(async {
        let mut kept = Vec::new();
        let guard = Guard::ours().unwrap();
        let mut family = format!("family {}", guard.pid());
        for _ in 0..3 {
            let started =
                start("trap '' TERM HUP; sleep 1000 & echo $$ $!; while :; do wait; done");
            let mut lines = lines(started.stdout);
            family = format!("{family} {}", line(&mut lines).await);
            kept.push((started.process, started.stdin, lines));
        }
        // Not `println`, which tests capture.
        writeln!(std::io::stdout(), "{family}").unwrap();
        kept
    });
    wait_for_the_kill();
}

/// Waits until this process is killed.
fn wait_for_the_kill() {
    let _ = std::io::stdin().read(&mut [0]);
}

/// Starts a test of this file as a host, in a process of its own. Returns it, and the rest of the line that it prints
/// after `label`.
fn host(test: &str, label: &str) -> (Child, String) {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("process::tests::guarding::{test}"), "--nocapture"])
        .env(HOST, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines().map(Result::unwrap);
    let found = lines.find_map(|line| line.split_once(label).map(|(_, rest)| rest.to_owned()));
    (host, found.unwrap())
}

/// Sends SIGKILL, which a process cannot handle.
fn kill(mut host: Child) {
    host.kill().unwrap();
    host.wait().unwrap();
}

#[tokio::test]
async fn the_death_of_the_host_ends_its_agents() {
    let (host, family) = host("plays_the_host", "family ");
    let family = numbers(&family);
    // The guard, three agents, three grandchildren.
    assert_eq!(family.len(), 7);
    assert!(family.iter().all(|pid| lives(*pid)));
    kill(host);
    vanish(&family).await;
}

/// Not a test by itself: a host whose agent was given a file with a secret.
#[test]
fn plays_a_host_with_files() {
    if std::env::var_os(HOST).is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _kept = runtime.block_on(async {
        let note = format!("token {}", "x".repeat(100_000));
        let settings = RawObject::of(&serde_json::json!({ "note": note })).unwrap();
        let plan = Launch::new().settings(Settings::Object(settings)).plan(None).unwrap();
        let script = r#"
            for arg; do case $arg in --settings=*) file=${arg#--settings=};; esac; done
            echo "$file"; sleep 1000"#;
        let started = sh(script).plan(plan).start().unwrap();
        let mut lines = lines(started.stdout);
        let file = line(&mut lines).await;
        writeln!(std::io::stdout(), "file {file}").unwrap();
        (started.process, started.stdin, lines)
    });
    wait_for_the_kill();
}

#[tokio::test]
async fn the_death_of_the_host_leaves_no_files() {
    let (host, file) = host("plays_a_host_with_files", "file ");
    let file = Path::new(&file);
    assert!(std::fs::read_to_string(file).unwrap().contains("token"));
    kill(host);
    let folder = file.parent().unwrap();
    soon(async {
        while folder.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_script_removes_the_folders_that_are_left_and_nothing_else() {
    for shell in ["/bin/sh", "/bin/bash", "/bin/dash", "/bin/busybox"] {
        if !Path::new(shell).exists() {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let names = ["duologue-a b*", "duologue-c", "duologue-d", "other", "duologue-e", "f"];
        for name in names {
            std::fs::create_dir_all(at(name).join("inner")).unwrap();
        }
        let mut guard = Command::new(shell);
        if shell.ends_with("busybox") {
            guard.arg("sh");
        }
        let mut guard = guard
            .args(["-c", include_str!("../guard.sh")])
            .stdin(Stdio::piped())
            .current_dir(place.path())
            .spawn()
            .unwrap();
        let mut pipe = guard.stdin.take().unwrap();
        for name in ["duologue-a b*", "duologue-c", "duologue-d", "other"] {
            writeln!(pipe, "f {}", at(name).display()).unwrap();
        }
        // Not absolute, not a folder of ours, or forgotten.
        writeln!(pipe, "f duologue-e\nf /\nf\nf *\nd {}", at("duologue-c").display()).unwrap();
        drop(pipe);
        assert!(guard.wait().unwrap().success(), "{shell}");
        let left = names.map(|name| at(name).exists());
        assert_eq!(left, [false, true, false, true, true, true], "{shell}");
    }
}

fn sleeper() -> Child {
    Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
}

#[tokio::test]
async fn the_script_kills_what_is_left_and_nothing_else() {
    for shell in ["/bin/sh", "/bin/bash", "/bin/dash", "/bin/busybox"] {
        if !Path::new(shell).exists() {
            continue;
        }
        let mut sleepers = [sleeper(), sleeper(), sleeper(), sleeper()];
        let [a, b, c, d] = sleepers.each_ref().map(Child::id);
        let mut guard = Command::new(shell);
        if shell.ends_with("busybox") {
            guard.arg("sh");
        }
        let mut guard = guard
            .args(["-c", include_str!("../guard.sh")])
            .process_group(0)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = guard.stdin.take().unwrap();
        // Nonsense is no reason to kill everybody, or itself.
        write!(pipe, "+ {a}\n+ {b}\n+ {c}\n\n- {b}\n+\n+ 0\n+ 1\n+ -1\n+ x\n+ 01\n- 7{a}\n")
            .unwrap();
        write!(pipe, "+ {d}\n- {a}\n- {a}\n+ {a}\n").unwrap();
        for signal in [Signal::Int, Signal::Term] {
            // Until it has come so far as to ignore them, it may die of them.
            ignores(guard.id(), signal).await;
            signal_group(guard.id(), signal).unwrap();
        }
        drop(pipe);
        assert!(guard.wait().unwrap().success(), "{shell}");
        for (sleeper, killed) in sleepers.iter_mut().zip([true, false, true, true]) {
            if !killed {
                assert!(lives(sleeper.id()), "{shell}");
                sleeper.kill().unwrap();
            }
            sleeper.wait().unwrap();
        }
    }
}

/// Waits until a process ignores a signal.
async fn ignores(pid: u32, signal: Signal) {
    let number = rustix::process::Signal::from(signal).as_raw();
    soon(async {
        loop {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            let Ok(status) = status else { break };
            let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
            let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
            if ignored & (1 << (number - 1)) != 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_guard_ends_with_the_last_agent() {
    let mut sleeper = sleeper();
    let guard = Arc::new(Guard::start(Path::new("/bin/sh")).unwrap());
    let pid = guard.pid();
    let (first, second) = (guard.watch(sleeper.id()).unwrap(), guard.watch(1_000_000_000).unwrap());
    drop(guard);
    drop(first);
    assert!(lives(pid));
    drop(second);
    vanish(&[pid]).await;
    // And is reaped.
    soon(async {
        while is_there(pid) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(lives(sleeper.id()));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[tokio::test]
async fn a_guard_that_was_killed_is_replaced_and_gets_all_processes() {
    let mut sleeper = sleeper();
    let guard = Arc::new(Guard::start(Path::new("/bin/sh")).unwrap());
    let first = guard.pid();
    let _one = guard.watch(sleeper.id()).unwrap();
    signal_process(first, Signal::Kill).unwrap();
    vanish(&[first]).await;
    // A process that another test is starting holds the pipe of the first guard until it runs its program.
    let replaced = async {
        loop {
            let two = guard.watch(1_000_000_000).unwrap();
            if guard.pid() != first {
                return two;
            }
            tokio::task::yield_now().await;
        }
    };
    let two = tokio::time::timeout(std::time::Duration::from_secs(30), replaced).await.unwrap();
    let second = guard.pid();
    assert!(lives(second) && !is_there(first));
    drop(two);
    // If it were the host's end, the old group would go too.
    guard.hang_up();
    sleeper.wait().unwrap();
    vanish(&[second]).await;
}

#[test]
fn without_a_shell_there_is_no_guard() {
    assert!(Guard::start(Path::new("/no/such/shell")).is_err());
}
