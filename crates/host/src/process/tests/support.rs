//! What these tests share.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::ChildStdout;

use crate::process::tree;
use crate::process::{Ladder, Spawn, Started};

/// Long enough that only a hang takes longer.
pub(super) const FOREVER: Duration = Duration::from_secs(30);

/// A short grace that is certain to pass, and then what it takes.
pub(super) const SHORT: Ladder =
    Ladder::new(Duration::from_millis(20), Duration::from_millis(20), FOREVER);

/// A ladder that nobody has to climb.
pub(super) const PATIENT: Ladder = Ladder::new(FOREVER, FOREVER, FOREVER);

/// An agent that is a script.
pub(super) fn sh(script: &str) -> Spawn {
    Spawn::new("/bin/sh").leading(["-c", script, "agent"])
}

pub(super) fn start(script: &str) -> Started {
    sh(script).start().unwrap()
}

pub(super) fn lines(stdout: ChildStdout) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(stdout).lines()
}

/// The next line, which must come.
pub(super) async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    soon(lines.next_line()).await.unwrap().unwrap()
}

/// The numbers of the next line.
pub(super) async fn pids(lines: &mut Lines<BufReader<ChildStdout>>) -> Vec<u32> {
    numbers(&line(lines).await)
}

pub(super) fn numbers(line: &str) -> Vec<u32> {
    line.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// What must come, or the test hangs.
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(FOREVER, future).await.unwrap()
}

/// Whether there is such a process, be it a dead one that nobody has reaped.
pub(super) fn is_there(pid: u32) -> bool {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

/// Whether it lives.
pub(super) fn lives(pid: u32) -> bool {
    is_there(pid)
        && (!Path::new("/proc/self/stat").exists()
            || tree::stat(pid).is_some_and(|stat| stat.lives))
}

/// Waits until these processes are gone.
pub(super) async fn vanish(pids: &[u32]) {
    soon(async {
        while pids.iter().any(|pid| lives(*pid)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Makes a file that can be executed. The shell writes it: if we did, another thread's child could
/// hold it open for writing, and the system would call it busy.
pub(super) fn executable(path: &Path, text: &str) {
    let script = r#"printf %s "$2" > "$1" && chmod 755 "$1""#;
    let args = ["-c", script, "write", path.to_str().unwrap(), text];
    assert!(std::process::Command::new("/bin/sh").args(args).status().unwrap().success());
}
