//! The agent's stderr: read by a task of its own, which keeps the end.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How many bytes are kept.
pub(super) const KEPT: usize = 64 * 1024;

/// How many of them are shown in an error message.
pub(super) const SHOWN: usize = 2 * 1024;

/// A callback gets a longer line in several pieces.
const LONGEST_LINE: usize = 16 * 1024;

/// Takes each line, without its end.
pub(crate) type OnLine = Box<dyn FnMut(&str) + Send>;

/// The last bytes of stderr. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl fmt::Debug for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tail({} bytes)", self.bytes().len())
    }
}

impl Tail {
    fn bytes(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, new: &[u8]) {
        let new = new.get(new.len().saturating_sub(KEPT)..).unwrap_or_default();
        let mut bytes = self.bytes();
        let excess = (bytes.len() + new.len()).saturating_sub(KEPT);
        bytes.drain(..excess);
        bytes.extend(new);
    }

    /// Everything that is kept.
    pub(super) fn all(&self) -> String {
        let mut bytes = self.bytes();
        String::from_utf8_lossy(bytes.make_contiguous()).into_owned()
    }

    /// The last lines, whole if they fit, without surrounding blanks.
    pub(super) fn shown(&self) -> String {
        let all = self.all();
        let all = all.trim();
        if all.len() <= SHOWN {
            return all.to_owned();
        }
        let mut from = all.len() - SHOWN;
        while !all.is_char_boundary(from) {
            from += 1;
        }
        let (before, last) = all.split_at(from);
        if before.ends_with('\n') {
            return last.to_owned();
        }
        match last.split_once('\n') {
            Some((_, lines)) => lines.trim_start().to_owned(),
            None => format!("…{last}"),
        }
    }
}

/// Reads stderr to its end.
pub(super) async fn drain(mut stderr: impl AsyncRead + Unpin, tail: Tail, on_line: Option<OnLine>) {
    let mut lines = Lines { line: Vec::new(), on_line };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match stderr.read(&mut buffer).await {
            Ok(0) => break,
            Ok(length) => {
                let new = buffer.get(..length).unwrap_or_default();
                tail.push(new);
                lines.push(new);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    lines.flush();
}

struct Lines {
    line: Vec<u8>,
    on_line: Option<OnLine>,
}

impl Lines {
    fn push(&mut self, new: &[u8]) {
        if self.on_line.is_none() {
            return;
        }
        for piece in new.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            self.line.extend(text);
            if ends || self.line.len() >= LONGEST_LINE {
                self.flush_line();
            }
        }
    }

    fn flush(&mut self) {
        if !self.line.is_empty() {
            self.flush_line();
        }
    }

    fn flush_line(&mut self) {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let text = String::from_utf8_lossy(line);
        if let Some(on_line) = &mut self.on_line {
            // A callback that panics must not stop the reading: the agent would block on a full pipe.
            if catch_unwind(AssertUnwindSafe(|| on_line(&text))).is_err() {
                self.on_line = None;
            }
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let tail = Tail::default();
        tail.push(&vec![b'a'; KEPT - 1]);
        tail.push(b"bcd");
        let all = tail.all();
        assert_eq!(all.len(), KEPT);
        assert!(all.ends_with("abcd"));
        tail.push(&vec![b'e'; 3 * KEPT]);
        assert_eq!(tail.all(), "e".repeat(KEPT));
    }

    #[test]
    fn whole_lines_are_shown() {
        let tail = Tail::default();
        tail.push(b"  one\ntwo\n\n");
        assert_eq!(tail.shown(), "one\ntwo");
        tail.push("ä".repeat(SHOWN / 4).as_bytes());
        tail.push(b"\n");
        tail.push("ö".repeat(SHOWN / 4).as_bytes());
        assert_eq!(tail.shown(), "ö".repeat(SHOWN / 4));
        tail.push("ü".repeat(SHOWN).as_bytes());
        let shown = tail.shown();
        assert!(shown.starts_with("…ü") && shown.len() <= SHOWN + '…'.len_utf8());
    }

    #[tokio::test]
    async fn lines_reach_the_callback_and_a_panic_ends_only_that() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&seen);
        let on_line: OnLine = Box::new(move |line: &str| {
            assert_ne!(line, "bad");
            into.lock().unwrap().push(line.to_owned());
        });
        let tail = Tail::default();
        let input = &b"one\r\n\xff\n\nlast\nbad\nafter"[..];
        drain(input, tail.clone(), Some(on_line)).await;
        assert_eq!(
            *seen.lock().unwrap_or_else(PoisonError::into_inner),
            ["one", "\u{fffd}", "", "last"]
        );
        assert!(tail.all().ends_with("after"));
    }

    #[tokio::test]
    async fn an_endless_line_comes_in_pieces() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&seen);
        let on_line: OnLine = Box::new(move |line: &str| into.lock().unwrap().push(line.len()));
        drain(&vec![b'x'; 100_000][..], Tail::default(), Some(on_line)).await;
        let seen = seen.lock().unwrap();
        assert_eq!(seen.iter().sum::<usize>(), 100_000);
        assert!(seen.iter().all(|length| *length < 2 * LONGEST_LINE));
    }
}
