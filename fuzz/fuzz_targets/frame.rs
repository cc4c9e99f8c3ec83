//! Any bytes in any chunking: the frames depend on the bytes alone, and account for all of them.

#![no_main]

use duologue_protocol::{DEFAULT_MAX_LINE, Frame, LineDecoder};
use libfuzzer_sys::fuzz_target;

/// A frame that can be compared: number, offset, length, and the bytes that are kept.
type Summary = (u64, u64, u64, Option<(Vec<u8>, bool)>);

// The first byte is the cap, the second how many bytes of chunk sizes follow; the rest is the stream.
fuzz_target!(|data: &[u8]| {
    let [cap, count, rest @ ..] = data else { return };
    let (sizes, stream) = rest.split_at(usize::from(*count % 16).min(rest.len()));
    let cap = if *cap == u8::MAX { DEFAULT_MAX_LINE } else { usize::from(*cap) };
    for keep_blank in [true, false] {
        let expected = model(stream, cap, keep_blank);
        assert_eq!(decode(stream, &[], cap, keep_blank), expected);
        assert_eq!(decode(stream, sizes, cap, keep_blank), expected);
    }
    let newlines = stream.iter().filter(|&&byte| byte == b'\n').count();
    let lengths: u64 = decode(stream, sizes, cap, true).iter().map(|frame| frame.2).sum();
    assert_eq!(lengths + newlines as u64, stream.len() as u64);
});

/// The stream through the decoder, in chunks of these sizes, over and over.
fn decode(stream: &[u8], sizes: &[u8], cap: usize, keep_blank: bool) -> Vec<Summary> {
    let mut decoder = LineDecoder::new().max_line(cap);
    if keep_blank {
        decoder = decoder.keep_blank();
    }
    let mut frames = Vec::new();
    let mut sizes = sizes.iter().cycle();
    let mut rest = stream;
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |&size| usize::from(size).min(rest.len()));
        // An empty chunk changes nothing; one byte follows.
        for size in if size == 0 { [0, 1] } else { [size, 0] } {
            let (mut chunk, after) = rest.split_at(size);
            rest = after;
            while let Some(frame) = decoder.next(&mut chunk) {
                frames.push(summary(frame));
            }
            assert!(chunk.is_empty());
            assert!(decoder.held() <= cap);
        }
    }
    frames.extend(decoder.finish().map(summary));
    assert_eq!(decoder.held(), 0);
    assert!(decoder.finish().is_none());
    frames
}

fn summary(frame: Frame) -> Summary {
    match frame {
        Frame::Line(line) => {
            let (at, raw) = (line.position(), line.raw().to_vec());
            (at.number, at.offset, raw.len() as u64, Some((raw, line.has_newline())))
        }
        Frame::TooLong(long) => (long.position.number, long.position.offset, long.length, None),
    }
}

/// The same, in the plainest way.
fn model(stream: &[u8], cap: usize, keep_blank: bool) -> Vec<Summary> {
    let mut frames = Vec::new();
    let mut offset = 0;
    for (index, line) in stream.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let raw = line.strip_suffix(b"\n").unwrap_or(line);
        let blank = raw.iter().all(|byte| b" \t\r".contains(byte));
        let kept = (raw.len() <= cap).then(|| (raw.to_vec(), raw.len() < line.len()));
        if keep_blank || !blank || kept.is_none() {
            frames.push((index as u64 + 1, offset, raw.len() as u64, kept));
        }
        offset += line.len() as u64;
    }
    assert_eq!(offset, stream.len() as u64);
    frames
}
