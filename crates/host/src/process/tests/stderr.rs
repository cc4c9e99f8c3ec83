//! What an agent says on stderr.

use std::sync::{Arc, Mutex};

use super::support::*;
use crate::process::Ladder;

#[tokio::test]
async fn a_flood_does_not_stop_an_agent_that_reads_nothing() {
    let script =
        "head -c 300000 /dev/zero | tr '\\0' x >&2; echo >&2; echo the end >&2; echo done; cat";
    let started = start(script);
    let mut lines = lines(started.stdout);
    assert_eq!(line(&mut lines).await, "done");
    drop(started.stdin);
    assert!(soon(started.process.end(PATIENT)).await.success());
    assert_eq!(started.process.stderr().len(), 64 * 1024);
    assert_eq!(started.process.tail(), "the end");
}

#[tokio::test]
async fn the_tail_is_complete_when_the_process_is_gone() {
    for _ in 0..20 {
        let started = start("for i in 1 2 3; do echo line $i >&2; done; exit 3");
        let report = soon(started.process.exited()).await;
        assert_eq!(report.code, Some(3));
        assert_eq!(started.process.tail(), "line 1\nline 2\nline 3");
    }
}

#[tokio::test]
async fn lines_come_as_they_are_said() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(16);
    let spawn = sh("echo one >&2; read -r go; printf two >&2");
    let spawn = spawn.on_stderr(move |line| sender.try_send(line.to_owned()).unwrap());
    let started = spawn.start().unwrap();
    assert_eq!(soon(receiver.recv()).await.unwrap(), "one");
    drop(started.stdin);
    assert_eq!(soon(receiver.recv()).await.unwrap(), "two");
    assert_eq!(soon(receiver.recv()).await, None);
}

/// `setsid` leaves the group, so that KILL does not reach it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn who_left_the_group_cannot_hold_up_the_end() {
    let started = start("echo said >&2; setsid sleep 1000 & echo $!");
    let mut lines = lines(started.stdout);
    let stray = pids(&mut lines).await;
    let report = soon(started.process.exited()).await;
    assert!(report.success() && report.gone, "{report:?}");
    assert_eq!(started.process.tail(), "said");
    // `$!` may have been killed with the group before it got to leave that.
    for pid in stray {
        let _ = crate::process::group::signal_process(pid, crate::process::Signal::Kill);
    }
}

#[tokio::test]
async fn a_callback_that_panics_affects_nothing_else() {
    let seen = Arc::new(Mutex::new(0));
    let count = Arc::clone(&seen);
    let spawn =
        sh("echo one >&2; echo two >&2; head -c 200000 /dev/zero >&2; echo >&2; echo last >&2");
    let started = spawn.on_stderr(move |_| {
        *count.lock().unwrap() += 1;
        panic!("on purpose");
    });
    let started = started.start().unwrap();
    assert!(soon(started.process.exited()).await.success());
    assert!(started.process.tail().ends_with("last"));
    assert_eq!(soon(started.process.end(Ladder::default())).await.code, Some(0));
    assert_eq!(*seen.lock().unwrap(), 1);
}
