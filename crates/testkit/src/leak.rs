//! Processes, as `/proc` lists them, and waiting until they end.

use std::collections::BTreeSet;
use std::fs;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

/// Only a hang takes longer.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// How often a condition is checked.
pub(crate) const TICK: Duration = Duration::from_millis(2);

struct Stat {
    pid: u32,
    alive: bool,
    parent: u32,
    group: u32,
}

/// `12 (a name) S 1 34 …`: the name may contain anything, including parentheses and newlines.
fn stat(pid: u32) -> Option<Stat> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(end + 1..)?).into_owned();
    let mut fields = rest.split_ascii_whitespace();
    let alive = !matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Stat { pid, alive, parent, group })
}

fn all() -> Vec<Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| stat(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Whether this process is alive. A zombie is not.
///
/// ```
/// assert!(duologue_testkit::leak::is_alive(std::process::id()));
/// ```
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.alive)
}

/// The living processes of a group.
pub fn group(pgid: u32) -> Vec<u32> {
    all().iter().filter(|stat| stat.alive && stat.group == pgid).map(|stat| stat.pid).collect()
}

/// The living descendants of this process. Orphans are not among them: their parent is process 1.
pub fn descendants(pid: u32) -> Vec<u32> {
    let all = all();
    let mut known = BTreeSet::from([pid]);
    loop {
        let before = known.len();
        known.extend(
            all.iter()
                .filter(|stat| known.contains(&stat.parent))
                .map(|s| s.pid)
                .collect::<Vec<_>>(),
        );
        if known.len() == before {
            break;
        }
    }
    let alive = all.iter().filter(|stat| stat.alive && stat.pid != pid);
    alive.map(|stat| stat.pid).filter(|pid| known.contains(pid)).collect()
}

/// Waits until this holds; false after [`TIMEOUT`]. Blocks the thread.
pub fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if began.elapsed() > TIMEOUT {
            return false;
        }
        thread::sleep(TICK);
    }
}

/// Waits until this holds; false after [`TIMEOUT`]. Needs no runtime.
pub async fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if began.elapsed() > TIMEOUT {
            return false;
        }
        Tick::default().await;
    }
}

/// Waits until all these processes have ended.
///
/// # Panics
/// If one does not end.
pub async fn assert_gone(pids: &[u32]) {
    let gone = eventually(|| !pids.iter().any(|pid| is_alive(*pid))).await;
    assert!(gone, "still alive: {}", describe(pids));
}

/// Like [`assert_gone`], but blocks the thread.
///
/// # Panics
/// If one does not end.
pub fn assert_gone_blocking(pids: &[u32]) {
    let gone = wait_until(|| !pids.iter().any(|pid| is_alive(*pid)));
    assert!(gone, "still alive: {}", describe(pids));
}

fn describe(pids: &[u32]) -> String {
    let name = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        format!("{pid} ({})", String::from_utf8_lossy(&command).replace('\0', " ").trim_end())
    };
    pids.iter().filter(|pid| is_alive(**pid)).map(name).collect::<Vec<_>>().join(", ")
}

/// A short delay that needs no runtime: a thread sleeps.
#[derive(Default)]
struct Tick(Option<Arc<AtomicBool>>);

impl Future for Tick {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(over) = &self.0 {
            // If it is polled early, perhaps with another waker, it is polled again at once.
            if !over.load(Ordering::Acquire) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            return Poll::Ready(());
        }
        let over = Arc::new(AtomicBool::new(false));
        self.0 = Some(Arc::clone(&over));
        let waker = context.waker().clone();
        thread::spawn(move || {
            thread::sleep(TICK);
            over.store(true, Ordering::Release);
            waker.wake();
        });
        Poll::Pending
    }
}
