//! Bytes in any chunking give the same lines.

use duologue_wire::{Frame, LineDecoder};

/// Feeds `bytes` in chunks of `size` and describes the frames.
fn frames(mut decoder: LineDecoder, bytes: &[u8], size: usize) -> Vec<String> {
    let mut found = Vec::new();
    for chunk in bytes.chunks(size.max(1)) {
        let mut rest = chunk;
        while let Some(frame) = decoder.next(&mut rest) {
            found.push(describe(&frame));
        }
        assert!(rest.is_empty());
    }
    found.extend(decoder.finish().as_ref().map(describe));
    assert!(decoder.finish().is_none());
    found
}

fn describe(frame: &Frame) -> String {
    match frame {
        Frame::Line(line) => {
            let (number, offset) = (line.position().number, line.position().offset);
            let end = if line.has_newline() { "" } else { " (no newline)" };
            format!("{number}@{offset} {}{end}", line.raw().escape_ascii())
        }
        Frame::TooLong(too_long) => too_long.to_string(),
    }
}

#[test]
fn lines_end_at_newline_bytes_only() {
    let text = "{\"a\":\"x\u{2028}y\u{2029}z\u{85}w\"}\n{\"b\":1}\n";
    for size in [1, 2, 3, 7, 64, 4096] {
        let found = frames(LineDecoder::new(), text.as_bytes(), size);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].ends_with("{\\\"b\\\":1}"));
    }
}

#[test]
fn blank_lines_are_skipped_and_counted() {
    let found = frames(LineDecoder::new(), b"\n \t\r\n{}\r\n\n[]", 1);
    assert_eq!(found, ["3@5 {}\\r", "5@10 [] (no newline)"]);
}

#[test]
fn blank_lines_can_be_kept() {
    let found = frames(LineDecoder::new().keep_blank(), b"\n{}\n", 2);
    assert_eq!(found, ["1@0 ", "2@1 {}"]);
}

#[test]
fn carriage_returns_and_a_byte_order_mark_do_not_disturb() {
    let mut decoder = LineDecoder::new();
    let mut chunk = "\u{feff}{\"type\":\"keep_alive\"}\r\n".as_bytes();
    let Some(Frame::Line(line)) = decoder.next(&mut chunk) else { panic!() };
    assert_eq!(line.head().unwrap().kind, "keep_alive");
    assert!(line.to_host().known().is_some());
    assert!(line.raw().ends_with(b"\r"));
}

#[test]
fn a_line_that_is_too_long_is_one_event_and_the_next_is_read() {
    let mut bytes = vec![b'x'; 100];
    bytes.extend(b"\n{}\n");
    for size in [1, 3, 10, 50, 101, 1000] {
        let found = frames(LineDecoder::new().max_line(10), &bytes, size);
        let too_long = "line 1 (from byte 0) has 100 bytes, more than the cap";
        assert_eq!(found, [too_long, "2@101 {}"], "{size}");
    }
}

#[test]
fn the_cap_is_per_line_and_never_per_stream() {
    let stream = b"{\"n\":1234}\n".repeat(1000);
    let found = frames(LineDecoder::new().max_line(10), &stream, 7);
    assert_eq!(found.len(), 1000);
    assert!(found.iter().all(|frame| frame.contains("1234")));
}

#[test]
fn a_last_line_that_is_too_long_is_reported_at_the_end() {
    let found = frames(LineDecoder::new().max_line(4), b"{}\n123456", 2);
    assert_eq!(found[1], "line 2 (from byte 3) has 6 bytes, more than the cap");
}

#[test]
fn never_more_than_the_cap_is_held() {
    let mut decoder = LineDecoder::new().max_line(1000);
    for _ in 0..10_000 {
        let mut chunk = &[b'x'; 97][..];
        assert!(decoder.next(&mut chunk).is_none());
        assert!(decoder.held() <= 1000);
    }
    let mut chunk = &b"\n"[..];
    let Some(Frame::TooLong(too_long)) = decoder.next(&mut chunk) else { panic!() };
    assert_eq!(too_long.length, 970_000);
}

#[test]
fn invalid_utf8_and_nul_are_lines_like_others() {
    let bytes = b"\xff\xfe{\n{\"type\":\"keep_alive\"}\n\0\n{\"type\":\"keep_alive\"}\n";
    let mut decoder = LineDecoder::new();
    let mut rest = &bytes[..];
    let mut seen = Vec::new();
    while let Some(Frame::Line(line)) = decoder.next(&mut rest) {
        seen.push(line);
    }
    assert_eq!(seen.len(), 4);
    let fault = seen[0].to_host().malformed().cloned().unwrap();
    assert_eq!(fault.to_string(), "not UTF-8 (at byte 0)");
    assert_eq!(seen[0].raw(), b"\xff\xfe{");
    assert_eq!(seen[2].raw(), b"\0");
    assert!(seen[2].to_host().malformed().is_some());
    assert!(seen[1].to_host().known().is_some() && seen[3].to_host().known().is_some());
}

#[test]
fn what_is_text_does_not_depend_on_the_chunks() {
    let lines: [&[u8]; 6] = [
        "{\"type\":\"ä€😀\"}".as_bytes(),
        b"\"\xf0\x9f\x98\"",
        b"\xe2\x82",
        b"a\xffb",
        b"\xc3\x28\xc3\xa4",
        "ä\u{feff}😀".as_bytes(),
    ];
    for line in lines {
        let error = std::str::from_utf8(line).err().map(|error| error.valid_up_to());
        for size in 1..=line.len() {
            let mut decoder = LineDecoder::new();
            for mut chunk in line.chunks(size) {
                assert!(decoder.next(&mut chunk).is_none());
            }
            let Some(Frame::Line(found)) = decoder.finish() else { panic!() };
            assert_eq!(found.raw(), line);
            assert_eq!(found.as_str().is_none(), error.is_some());
            if let (Some(at), Err(fault)) = (error, found.head()) {
                assert_eq!(fault.to_string(), format!("not UTF-8 (at byte {at})"));
            }
        }
    }
}

#[test]
fn a_line_of_fifty_megabytes_passes_whole() {
    let mut line = b"{\"type\":\"streamlined_text\",\"text\":\"".to_vec();
    line.extend(std::iter::repeat_n(b'a', 50_000_000));
    line.extend(b"\"}\n");
    let mut decoder = LineDecoder::new();
    for chunk in line.chunks(65_536) {
        let mut rest = chunk;
        if let Some(Frame::Line(line)) = decoder.next(&mut rest) {
            assert_eq!(line.raw().len(), 50_000_037);
            assert!(line.to_host().known().is_some());
            return;
        }
    }
    panic!("no line came out");
}
