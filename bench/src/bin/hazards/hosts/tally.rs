//! The report, which is also printed if the host hangs.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use duologue_bench::hazard::{FLOODED, FLOODING, FOLDER, HANG_TIMEOUT, SLEEP};
use serde_json::json;

use crate::Seen;

/// How often progress is checked.
const MOMENT: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub struct Tally {
    texts: AtomicU64,
    longest: AtomicU64,
    result: AtomicBool,
    /// Counts every sign of progress.
    signs: AtomicU64,
    errors: Mutex<Vec<String>>,
    /// Whether everything was written while the consumer slept.
    flooded: Mutex<Option<bool>>,
    /// The number of lost events, as the library reports it.
    lost: AtomicU64,
    /// The texts that a library returned only at the end of the turn.
    kept: AtomicU64,
    reported: AtomicBool,
}

impl Tally {
    /// Starts to watch: a host without progress is reported as hanging.
    pub fn start() -> &'static Self {
        let tally: &'static Self = Box::leak(Box::default());
        std::thread::spawn(move || {
            let (mut last, mut since) = (0, Instant::now());
            while since.elapsed() < HANG_TIMEOUT {
                std::thread::sleep(MOMENT);
                let signs = tally.signs.load(Ordering::Relaxed);
                if signs != last {
                    (last, since) = (signs, Instant::now());
                }
            }
            let hangs = if tally.reported.load(Ordering::Relaxed) { "close" } else { "read" };
            tally.print(&format!("hangs in {hangs}"));
            std::process::exit(3);
        });
        tally
    }

    pub fn see(&self, seen: &Result<Seen>) {
        self.signs.fetch_add(1, Ordering::Relaxed);
        match seen {
            Ok(Seen::Text(length)) => {
                self.texts.fetch_add(1, Ordering::Relaxed);
                self.longest.fetch_max(*length as u64, Ordering::Relaxed);
            }
            Ok(Seen::Result) => self.result.store(true, Ordering::Relaxed),
            Ok(Seen::Other) => {}
            Err(error) => {
                let text: String = format!("{error:#}").chars().take(300).collect();
                self.errors.lock().unwrap_or_else(|e| e.into_inner()).push(text);
            }
        }
    }

    pub fn errors(&self) -> usize {
        self.errors.lock().unwrap_or_else(|e| e.into_inner()).len()
    }

    pub fn lost(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    pub fn kept(&self, count: u64) {
        self.kept.store(count, Ordering::Relaxed);
    }

    /// Sleeps until everything is written, or nothing more is.
    pub async fn sleep(&self, mut sleep: impl AsyncFnMut(Duration)) {
        let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap_or_default());
        let (mut written, mut since) = (0, Instant::now());
        let mut flooded = false;
        while !flooded && since.elapsed() < SLEEP {
            sleep(MOMENT).await;
            self.signs.fetch_add(1, Ordering::Relaxed);
            flooded = folder.join(FLOODED).exists();
            let now = std::fs::metadata(folder.join(FLOODING)).map_or(0, |file| file.len());
            if now != written {
                (written, since) = (now, Instant::now());
            }
        }
        *self.flooded.lock().unwrap_or_else(|e| e.into_inner()) = Some(flooded);
    }

    /// No more progress is expected: that is not a hang.
    pub fn rest(&'static self) {
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(MOMENT);
                self.signs.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    /// The turn is over.
    pub fn report(&self, end: &str) {
        self.signs.fetch_add(1, Ordering::Relaxed);
        if !self.reported.swap(true, Ordering::Relaxed) {
            self.print(end);
        }
    }

    fn print(&self, end: &str) {
        println!(
            "{}",
            json!({
                "end": end,
                "texts": self.texts.load(Ordering::Relaxed),
                "longest": self.longest.load(Ordering::Relaxed),
                "result": self.result.load(Ordering::Relaxed),
                "errors": *self.errors.lock().unwrap_or_else(|e| e.into_inner()),
                "flooded": *self.flooded.lock().unwrap_or_else(|e| e.into_inner()),
                "lost": self.lost.load(Ordering::Relaxed),
                "kept": self.kept.load(Ordering::Relaxed),
            })
        );
    }
}
