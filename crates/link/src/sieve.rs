//! [`Sieve`]: the lines that the machine must see, out of all that the agent says.

use duologue_protocol::{Frame, LineDecoder};
use memchr::memchr;

/// Finds the lines that matter. The others are skipped without being kept.
#[derive(Debug)]
pub(crate) struct Sieve {
    decoder: LineDecoder,
    /// The rest of the line at hand does not matter.
    passing: bool,
}

impl Sieve {
    pub(crate) const fn new(max_line: usize) -> Self {
        Self { decoder: LineDecoder::new().max_line(max_line), passing: false }
    }

    /// Takes the next line out of `bytes` that matters; `None` when they are used up. `minds` gets the
    /// beginning of a line. If a read has cut it off there, that may be too little to tell: then it
    /// must say yes. A line that is longer than the cap comes as a frame, too: its beginning tells what
    /// it was.
    pub(crate) fn next(
        &mut self,
        bytes: &mut &[u8],
        minds: impl Fn(&[u8]) -> bool,
    ) -> Option<Frame> {
        while !bytes.is_empty() {
            let starts = !self.passing && !self.decoder.is_inside_line();
            self.passing |= starts && !minds(bytes);
            let end = memchr(b'\n', bytes);
            let (mut line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            *bytes = rest;
            if self.passing {
                self.passing = end.is_none();
            } else if let Some(frame) = self.decoder.next(&mut line) {
                return Some(frame);
            }
        }
        None
    }

    /// The last line, if it matters and had no newline.
    pub(crate) fn finish(&mut self) -> Option<Frame> {
        self.decoder.finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    const SAID: &[u8] = b"{no 1}\n{yes 2}\n\n{no 3}\n{yes 4}\n{yes 5}\n{no 6}\n{yes 7}";

    fn minds(start: &[u8]) -> bool {
        !start.starts_with(b"{no")
    }

    fn text(frame: Frame) -> String {
        match frame {
            Frame::Line(line) => line.as_str().unwrap().to_owned(),
            Frame::TooLong(long) => {
                format!("{}…{}", String::from_utf8_lossy(long.start()), long.length)
            }
        }
    }

    /// In the middle of a line that is too long, bytes may look like the beginning of another one.
    #[test]
    fn the_beginning_of_a_line_that_is_too_long_is_shown_once() {
        let said = b"{yes, but far too long {no {no {no}\n{no}\n{yes}\n";
        for size in 1..=said.len() {
            let mut sieve = Sieve::new(10);
            let mut found = Vec::new();
            for mut chunk in said.chunks(size) {
                while let Some(frame) = sieve.next(&mut chunk, minds) {
                    found.push(text(frame));
                }
            }
            found.retain(|line| minds(line.as_bytes()));
            assert_eq!(found, ["{yes, but …35", "{yes}"], "chunks of {size}");
        }
    }

    #[test]
    fn it_finds_the_same_lines_in_any_chunks() {
        for size in 1..=SAID.len() {
            let mut sieve = Sieve::new(100);
            let mut found = Vec::new();
            for mut chunk in SAID.chunks(size) {
                while let Some(frame) = sieve.next(&mut chunk, minds) {
                    found.push(text(frame));
                }
            }
            found.extend(sieve.finish().map(text));
            // A line whose beginning was cut off may be among them.
            found.retain(|line| minds(line.as_bytes()));
            assert_eq!(found, ["{yes 2}", "{yes 4}", "{yes 5}", "{yes 7}"], "chunks of {size}");
        }
    }

    #[test]
    fn a_line_that_does_not_matter_is_not_kept() {
        let mut sieve = Sieve::new(100);
        assert!(sieve.next(&mut &b"{no "[..], minds).is_none());
        for _ in 0..1000 {
            assert!(sieve.next(&mut &b"more and more"[..], minds).is_none());
            assert_eq!(sieve.decoder.held(), 0);
        }
        let mut rest = &b"\n{yes}\n"[..];
        assert_eq!(text(sieve.next(&mut rest, minds).unwrap()), "{yes}");
    }
}
