//! How a process ends, and everything with it.

use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::SignalKind;

use super::support::*;
use crate::process::group::signal_process;
use crate::process::{ExitReport, Ladder, Rung, Signal};

#[tokio::test]
async fn one_that_ends_by_itself() {
    let started = start("exit 5");
    let report = soon(started.process.exited()).await;
    assert_eq!((report.code, report.signal), (Some(5), None));
    assert_eq!((report.rung, report.gone), (Rung::Unasked, true));
    assert_eq!(started.process.exited_now(), Some(report));
    // To end it now changes nothing.
    assert_eq!(soon(started.process.end(Ladder::at_once())).await, report);
    assert_eq!(report.to_string(), "exited with code 5");
}

#[tokio::test]
async fn the_end_of_stdin_is_enough() {
    let started = start("cat > /dev/null; exit 4");
    started.process.asked_to_go();
    drop(started.stdin);
    let report = soon(started.process.end(PATIENT)).await;
    assert_eq!((report.code, report.rung, report.gone), (Some(4), Rung::Stdin, true));
}

#[tokio::test]
async fn term_ends_who_overlooks_stdin() {
    let started = start("exec sleep 1000");
    drop(started.stdin);
    let ladder = Ladder { term_grace: FOREVER, ..SHORT };
    let report = soon(started.process.end(ladder)).await;
    assert_eq!((report.code, report.signal), (None, Some(15)));
    assert_eq!((report.rung, report.gone), (Rung::Term, true));
    assert_eq!(report.to_string(), "was ended by signal 15 (TERM), after TERM");
}

#[tokio::test]
async fn kill_ends_who_ignores_term() {
    let started = start("trap '' TERM; echo ready; while :; do sleep 1000; done");
    let mut lines = lines(started.stdout);
    assert_eq!(line(&mut lines).await, "ready");
    let report = soon(started.process.end(SHORT)).await;
    assert_eq!((report.signal, report.rung, report.gone), (Some(9), Rung::Kill, true));
    assert!(!is_there(started.process.pid()));
}

#[tokio::test]
async fn grandchildren_end_with_a_leader_that_goes() {
    let script = "sleep 1000 & a=$!; (trap '' TERM HUP; sleep 1000) & echo $a $!; cat > /dev/null";
    let started = start(script);
    let mut lines = lines(started.stdout);
    let grandchildren = pids(&mut lines).await;
    assert!(grandchildren.iter().all(|pid| lives(*pid)));
    started.process.asked_to_go();
    drop(started.stdin);
    let report = soon(started.process.end(PATIENT)).await;
    assert_eq!((report.code, report.rung, report.gone), (Some(0), Rung::Stdin, true));
    vanish(&grandchildren).await;
}

#[tokio::test]
async fn grandchildren_end_with_a_leader_that_is_killed() {
    let script =
        "trap '' TERM; sleep 1000 & a=$!; sh -c 'sleep 1000 & echo $!; wait' & echo $a $!; wait";
    let started = start(script);
    let mut lines = lines(started.stdout);
    let mut grandchildren = pids(&mut lines).await;
    grandchildren.extend(pids(&mut lines).await);
    let report = soon(started.process.end(SHORT)).await;
    assert_eq!((report.rung, report.gone), (Rung::Kill, true));
    vanish(&grandchildren).await;
}

#[tokio::test]
async fn grandchildren_end_with_a_leader_that_another_process_kills() {
    let started = start("sleep 1000 & echo $!; wait");
    let mut lines = lines(started.stdout);
    let grandchildren = pids(&mut lines).await;
    signal_process(started.process.pid(), Signal::Kill).unwrap();
    let report = soon(started.process.exited()).await;
    assert_eq!((report.signal, report.rung, report.gone), (Some(9), Rung::Unasked, true));
    vanish(&grandchildren).await;
}

/// As an agent starts its tools.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn grandchildren_with_sessions_of_their_own_end_with_a_leader_that_is_killed() {
    let script = "trap '' TERM; setsid sh -c 'sleep 1000 & echo $$ $!; wait' & wait";
    let started = start(script);
    let mut lines = lines(started.stdout);
    let grandchildren = pids(&mut lines).await;
    soon(started.process.end(SHORT)).await;
    vanish(&grandchildren).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn grandchildren_with_sessions_of_their_own_end_with_a_leader_that_obeys_term() {
    let script = "setsid sh -c 'sleep 1000 & echo $$ $!; wait' & wait";
    let started = start(script);
    let mut lines = lines(started.stdout);
    let grandchildren = pids(&mut lines).await;
    let ladder = Ladder { term_grace: FOREVER, ..SHORT };
    let report = soon(started.process.end(ladder)).await;
    assert_eq!((report.signal, report.rung), (Some(15), Rung::Term));
    vanish(&grandchildren).await;
}

#[tokio::test]
async fn a_grandchild_does_not_keep_stdout_open() {
    let mut started = start("sleep 1000 & echo last words");
    let mut said = String::new();
    // It ends although the grandchild held it, because that is killed when the leader is gone.
    soon(started.stdout.read_to_string(&mut said)).await.unwrap();
    assert_eq!(said, "last words\n");
    assert!(soon(started.process.exited()).await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_handle_gets_the_end_and_can_request_it() {
    let started = start("trap '' TERM; echo ready; while :; do sleep 1000; done");
    let mut lines = lines(started.stdout);
    assert_eq!(line(&mut lines).await, "ready");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..12 {
        let control = started.process.control();
        tasks.spawn(async move {
            if number % 3 == 0 { control.end(SHORT).await } else { control.exited().await }
        });
    }
    let reports: Vec<ExitReport> = soon(tasks.join_all()).await;
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
    assert_eq!((reports[0].rung, reports[0].gone), (Rung::Kill, true));
}

#[tokio::test]
async fn a_cancelled_wait_affects_no_other() {
    let started = start("cat");
    let waiting = tokio::time::timeout(std::time::Duration::ZERO, started.process.end(PATIENT));
    assert!(waiting.await.is_err());
    assert_eq!(started.process.exited_now(), None);
    drop(started.stdin);
    assert!(soon(started.process.exited()).await.success());
}

#[tokio::test]
async fn a_signal_to_the_child_spares_the_group() {
    // Where a script has started us in the background we ignore it, and so would the child: but for what is heard.
    let _heard = tokio::signal::unix::signal(SignalKind::interrupt()).unwrap();
    let script = "trap 'echo int' INT; trap 'echo term' TERM; \
                  sh -c 'echo $$; exec sleep 1000' & while :; do wait; done";
    let started = start(script);
    let mut lines = lines(started.stdout);
    let grandchildren = pids(&mut lines).await;
    started.process.signal_child(Signal::Term).unwrap();
    assert_eq!(line(&mut lines).await, "term");
    started.process.signal_child(Signal::Int).unwrap();
    assert_eq!(line(&mut lines).await, "int");
    assert!(grandchildren.iter().all(|pid| lives(*pid)));
    soon(started.process.end(Ladder::at_once())).await;
    vanish(&grandchildren).await;
    assert!(started.process.signal_child(Signal::Int).is_err());
}
