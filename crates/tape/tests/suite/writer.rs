//! Writing tapes, plain and compressed.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::{Direction, Line};
use duologue_tape::{
    Entry, Event, Exit, Header, ReadError, Reader, Recorder, Stream, TapeFile, Writer,
};
use duologue_testkit::recordings;
use proptest::prelude::*;
use tempfile::TempDir;

fn all(reader: &mut Reader<impl Read>) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        entries.push(entry);
    }
    entries
}

fn rendered(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| format!("{:?} {:?}", entry.millis, entry.event)).collect()
}

#[test]
fn every_recording_is_written_as_it_was_read() {
    for recording in recordings() {
        let mut reader = Reader::new(File::open(&recording.path).unwrap());
        let header = reader.header().unwrap().unwrap().clone();
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        let entries = all(&mut reader);
        for entry in &entries {
            writer.event(entry.millis, &entry.event).unwrap();
        }
        let written = writer.finish().unwrap();
        let mut again = Reader::new(written.as_slice());
        assert_eq!(again.header().unwrap(), Some(&header));
        assert_eq!(rendered(&all(&mut again)), rendered(&entries), "{}", recording.name);
    }
}

/// The buffer gets full at every point of an entry.
#[test]
fn the_buffer_may_be_full_at_any_point_of_an_entry() {
    let texts = (0..4_000).map(|length| "a\"\u{1}é".repeat(length % 200).into_bytes());
    let binary = (0..4_000).map(|length| vec![0xff; length % 400]);
    let large = ["\\".repeat(3_000_000).into_bytes(), vec![0xfe; 3_000_000]];
    let lines = texts.zip(binary).flat_map(|(text, binary)| [text, binary]).chain(large);
    let lines: Vec<Event> = lines.map(|bytes| Event::ToHost(Line::from(bytes))).collect();
    let mut writer = Writer::new(Vec::new(), &Header::new("x", ["x"])).unwrap();
    for line in &lines {
        writer.event(Some(1), line).unwrap();
    }
    let tape = writer.finish().unwrap();
    let entries = all(&mut Reader::new(tape.as_slice()));
    assert_eq!(entries.len(), lines.len());
    for (entry, line) in entries.iter().zip(&lines) {
        assert_eq!(format!("{:?}", entry.event), format!("{line:?}"));
    }
}

#[test]
fn the_space_of_a_chunk_is_released_once_it_is_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shared.tape");
    let recorder = Recorder::create(&path, &Header::new("x", ["x"])).unwrap();
    let tap = recorder.tap();
    let large = vec![b' '; 1024 * 1024];
    for chunk in [b"one\ntw".to_vec(), large, b"o\n".to_vec()] {
        tap.shared(Stream::ToHost, Arc::new(chunk));
    }
    recorder.finish(Duration::from_secs(60)).unwrap();
    // Large buffers are not kept.
    assert_eq!(tap.spare().as_deref(), Some(&b"o\n".to_vec()));
    assert_eq!(tap.spare().as_deref(), Some(&b"one\ntw".to_vec()));
    assert_eq!(tap.spare(), None);
    let entries = all(&mut Reader::new(File::open(&path).unwrap()));
    assert_eq!(entries.len(), 2, "{entries:?}");
}

proptest! {
    #[test]
    fn any_lines_are_read_as_they_were_written(lines in prop::collection::vec(
        (any::<u32>(), 0..3_u8, prop::collection::vec(any::<u8>().prop_filter("no newline", |byte| *byte != b'\n'), 0..40), any::<bool>()),
        0..20,
    )) {
        let mut writer = Writer::new(Vec::new(), &Header::new("x", ["x"])).unwrap();
        let mut events = Vec::new();
        for (millis, way, bytes, newline) in lines {
            let line = Line::from(bytes);
            let line = if newline { line } else { line.without_newline() };
            let event = match way {
                0 => Event::ToAgent(line),
                1 => Event::ToHost(line),
                _ => Event::Stderr(line),
            };
            writer.event(Some(millis.into()), &event).unwrap();
            events.push(event);
        }
        let written = writer.finish().unwrap();
        let entries = all(&mut Reader::new(written.as_slice()));
        prop_assert_eq!(entries.len(), events.len());
        for (entry, event) in entries.iter().zip(&events) {
            let ((Event::ToAgent(a), Event::ToAgent(b))
            | (Event::ToHost(a), Event::ToHost(b))
            | (Event::Stderr(a), Event::Stderr(b))) = (&entry.event, event) else {
                panic!("{entry:?}");
            };
            prop_assert_eq!(a.raw(), b.raw());
            prop_assert_eq!(a.has_newline(), b.has_newline());
        }
    }
}

#[test]
fn a_packed_tape_that_is_cut_anywhere_is_readable() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape.zst");
    let mut writer =
        Writer::new(TapeFile::create(&path).unwrap(), &Header::new("x", ["x"])).unwrap();
    for number in 0..40_u64 {
        let line = Line::from(format!("{{\"n\":{number}}}"));
        writer.event(Some(number), &Event::ToHost(line)).unwrap();
        // Like the recorder when its queue is empty.
        writer.flush().unwrap();
    }
    writer.finish().unwrap().finish().unwrap();
    let whole = fs::read(&path).unwrap();
    let mut reader = Reader::new(whole.as_slice());
    assert_eq!(all(&mut reader).len(), 40);
    assert!(reader.torn().is_none());
    let mut most = 0;
    for length in 4..whole.len() {
        let mut reader = Reader::new(&whole[..length]);
        let count = all(&mut reader).len();
        assert!(count >= most, "{length}");
        most = count;
        assert!(reader.torn().is_some(), "{length} of {}", whole.len());
    }
    assert_eq!(most, 40);
}

#[test]
fn a_newer_tape_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape.zst");
    let mut file = TapeFile::create(&path).unwrap();
    file.write_all(b"{\"tape\":2}\n").unwrap();
    file.finish().unwrap();
    let error = Reader::new(File::open(&path).unwrap()).next_entry().unwrap_err();
    assert!(matches!(error, ReadError::TooNew { found: 2, .. }), "{error}");
    assert!(error.to_string().contains("update duologue"));
}

#[test]
fn a_tap_takes_pieces_and_lines() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    let recorder = Recorder::create(&path, &Header::new("x", ["x"])).unwrap();
    let tap = recorder.tap();
    tap.bytes(Stream::ToAgent, b"one\ntw");
    tap.line(Direction::ToHost, &Line::from("answer"));
    tap.bytes(Stream::ToAgent, b"o\nrest");
    tap.end(Stream::ToAgent);
    tap.bytes(Stream::ToHost, b"cut off");
    tap.exit(Exit::with_code(3));
    tap.note("too late");
    assert_eq!(recorder.finish(Duration::from_secs(60)).unwrap().total(), 0);
    // The recording has ended: further lines are ignored.
    tap.note("late");
    let entries = all(&mut Reader::new(File::open(&path).unwrap()));
    let events: Vec<String> = entries.iter().map(|entry| format!("{:?}", entry.event)).collect();
    let expected = [
        "ToAgent(Line(1: one))",
        "ToHost(Line(1: answer))",
        "ToAgent(Line(1: two))",
        "ToAgent(Line(1: rest))",
        "Note(\"stdin_close\")",
        "ToHost(Line(1: cut off))",
        "Exit(Exit { code: Some(3), signal: None })",
    ];
    assert_eq!(events, expected);
}

#[cfg(unix)]
#[test]
fn a_new_tape_replaces_nothing() {
    let folder = TempDir::new().unwrap();
    let [file, link, hard] = ["file", "link", "hard"].map(|name| folder.path().join(name));
    fs::write(&file, "precious").unwrap();
    fs::hard_link(&file, &hard).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&file, &link, &hard] {
        let error = TapeFile::create_new(path).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    }
    // Replacing a file on purpose does not change its other links.
    for path in [&link, &hard] {
        let mut tape = TapeFile::create(path).unwrap();
        tape.write_all(b"tape").unwrap();
        tape.finish().unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "tape");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    TapeFile::create_new(std::path::Path::new("/dev/null")).unwrap();
    assert!(TapeFile::create(folder.path()).is_err());
}
