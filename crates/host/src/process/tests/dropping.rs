//! What a drop leaves behind: nothing.

use super::support::*;
use crate::process::{Ladder, Process};

const FAMILY: &str = "trap '' TERM HUP; sleep 1000 & echo $!; wait";

async fn family() -> (Process, Vec<u32>) {
    let started = start(FAMILY);
    let mut lines = lines(started.stdout);
    let grandchildren = pids(&mut lines).await;
    (started.process, grandchildren)
}

#[tokio::test]
async fn a_drop_kills_and_reaps() {
    let (process, grandchildren) = family().await;
    let control = process.control();
    drop(process);
    // Reaped too: there is no zombie.
    assert!(!is_there(control.pid()));
    assert_eq!(soon(control.exited()).await.signal, Some(9));
    vanish(&grandchildren).await;
}

#[test]
fn a_drop_needs_no_runtime() {
    for multi in [false, true] {
        let mut builder = if multi {
            tokio::runtime::Builder::new_multi_thread()
        } else {
            tokio::runtime::Builder::new_current_thread()
        };
        let runtime = builder.enable_all().build().unwrap();
        let (process, grandchildren) = runtime.block_on(family());
        let pid = process.pid();
        drop(runtime);
        assert!(lives(pid));
        drop(process);
        assert!(!is_there(pid));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(vanish(&grandchildren));
    }
}

#[test]
fn another_runtime_can_end_it() {
    let first = tokio::runtime::Runtime::new().unwrap();
    let (process, grandchildren) = first.block_on(family());
    drop(first);
    let second = tokio::runtime::Runtime::new().unwrap();
    let report = second.block_on(soon(process.end(Ladder::default())));
    // Nobody is left who could look.
    assert!(!report.gone);
    second.block_on(vanish(&grandchildren));
    drop(process);
}

#[tokio::test]
async fn a_drop_in_the_midst_of_an_end() {
    let (process, grandchildren) = family().await;
    let control = process.control();
    let ending = tokio::spawn(async move { control.end(PATIENT).await });
    tokio::task::yield_now().await;
    drop(process);
    assert!(soon(ending).await.unwrap().gone);
    vanish(&grandchildren).await;
}
