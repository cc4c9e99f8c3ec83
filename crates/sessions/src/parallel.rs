//! Work on many files at once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads read files. More do not make a disk faster.
const MAX_THREADS: usize = 8;

/// Applies a function to all items on all cores, and returns the results in the order of the items.
pub(crate) fn map<I: Sync, T: Send>(items: &[I], apply: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let threads = cores.min(items.len().div_ceil(8)).max(1);
    if threads == 1 {
        return items.iter().map(apply).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, apply(item)));
        }
    };
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(more) => all.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}
