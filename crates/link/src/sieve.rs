//! [`Sieve`]: the lines that the machine must see, out of all that the agent says.

use duologue_protocol::{Frame, Line, LineDecoder};
use memchr::memchr;

/// Finds the lines that somebody minds. The others are passed over without being kept.
#[derive(Debug)]
pub(crate) struct Sieve {
    decoder: LineDecoder,
    /// Nobody minds the rest of the line at hand.
    passing: bool,
}

impl Sieve {
    pub(crate) const fn new(max_line: usize) -> Self {
        Self { decoder: LineDecoder::new().max_line(max_line), passing: false }
    }

    /// Takes the next line out of `bytes` that is minded; `None` when they are used up. `minds` is shown
    /// how a line begins. If a read has cut it off there, that may be too little to tell: then it
    /// must say yes.
    pub(crate) fn next(
        &mut self,
        bytes: &mut &[u8],
        minds: impl Fn(&[u8]) -> bool,
    ) -> Option<Line> {
        while !bytes.is_empty() {
            let starts = !self.passing && self.decoder.held() == 0;
            self.passing |= starts && !minds(bytes);
            let end = memchr(b'\n', bytes);
            let (mut line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            *bytes = rest;
            if self.passing {
                self.passing = end.is_none();
            } else if let Some(Frame::Line(line)) = self.decoder.next(&mut line) {
                return Some(line);
            }
        }
        None
    }

    /// The last line, if it is minded and had no newline.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        match self.decoder.finish() {
            Some(Frame::Line(line)) => Some(line),
            _ => None,
        }
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

    #[test]
    fn it_finds_the_same_lines_in_any_chunks() {
        for size in 1..=SAID.len() {
            let mut sieve = Sieve::new(100);
            let mut found = Vec::new();
            for mut chunk in SAID.chunks(size) {
                while let Some(line) = sieve.next(&mut chunk, minds) {
                    found.push(line.as_str().unwrap().to_owned());
                }
            }
            found.extend(sieve.finish().map(|line| line.as_str().unwrap().to_owned()));
            // A line whose beginning was cut off may be among them.
            found.retain(|line| minds(line.as_bytes()));
            assert_eq!(found, ["{yes 2}", "{yes 4}", "{yes 5}", "{yes 7}"], "chunks of {size}");
        }
    }

    #[test]
    fn a_line_that_nobody_minds_is_not_kept() {
        let mut sieve = Sieve::new(100);
        assert!(sieve.next(&mut &b"{no "[..], minds).is_none());
        for _ in 0..1000 {
            assert!(sieve.next(&mut &b"more and more"[..], minds).is_none());
            assert_eq!(sieve.decoder.held(), 0);
        }
        let mut rest = &b"\n{yes}\n"[..];
        assert_eq!(sieve.next(&mut rest, minds).unwrap().as_str(), Some("{yes}"));
    }
}
