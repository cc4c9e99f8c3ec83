//! Reading tapes and plain captures.

use std::fs::File;
use std::io::{self, Read};

use duologue_protocol::Direction;
use duologue_tape::{Entry, Event, ReadError, Reader};
use duologue_testkit::recordings;

fn all(mut reader: Reader<impl Read>) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        entries.push(entry);
    }
    entries
}

/// A source that returns one byte at a time, with interruptions.
struct Dribble<'a>(&'a [u8], bool);

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = buffer.len().min(1);
        self.0.read(&mut buffer[..count])
    }
}

#[test]
fn every_recording_is_a_tape_with_its_exact_lines() {
    for recording in recordings() {
        let mut reader = Reader::new(File::open(&recording.path).unwrap());
        let header = reader.header().unwrap().unwrap();
        assert_eq!(header.version.as_deref(), Some(recording.version.as_str()));
        assert!(!header.argv.is_empty());
        let lines: Vec<(bool, String)> = all(reader)
            .into_iter()
            .filter_map(|entry| match entry.event {
                Event::ToHost(line) => Some((true, line.as_str()?.to_owned())),
                Event::ToAgent(line) => Some((false, line.as_str()?.to_owned())),
                _ => None,
            })
            .collect();
        let expected: Vec<(bool, String)> =
            recording.entries.into_iter().map(|entry| (entry.to_host, entry.line)).collect();
        assert_eq!(lines, expected, "{}", recording.name);
    }
}

#[test]
fn all_kinds_of_entries() {
    let tape = concat!(
        "{\"tape\":1,\"program\":\"claude\",\"version\":\"2.1.0\",\"argv\":[\"claude\",\"-p\"],\"mood\":1}\n",
        "{\"t\":0,\"dir\":\"in\",\"line\":\"a\"}\n",
        "{\"t\":1.5,\"dir\":\"out\",\"b64\":\"//4=\"}\n",
        "{\"t\":2,\"dir\":\"err\",\"line\":\"oops\"}\n",
        "{\"t\":3,\"note\":\"signal SIGINT\"}\n",
        "{\"t\":4,\"something\":\"new\"}\n",
        "{\"t\":5,\"dir\":\"out\",\"line\":\"z\",\"eol\":false}\n",
        "{\"t\":6,\"exit\":{\"code\":null,\"signal\":9}}\n",
    );
    let mut reader = Reader::new(Dribble(tape.as_bytes(), false));
    assert_eq!(reader.header().unwrap().unwrap().extra["mood"], 1);
    let entries = all(reader);
    assert_eq!(entries.len(), 7);
    assert_eq!(entries[1].millis, Some(1));
    assert_eq!(entries[1].file_line, 3);
    assert!(matches!(&entries[1].event, Event::ToHost(line) if line.raw() == b"\xff\xfe"));
    assert!(matches!(&entries[3].event, Event::Note(note) if note == "signal SIGINT"));
    assert!(matches!(&entries[4].event, Event::Unknown(_)));
    assert!(matches!(&entries[5].event, Event::ToHost(line) if !line.has_newline()));
    assert!(matches!(&entries[6].event, Event::Exit(exit) if exit.signal == Some(9)));
}

#[test]
fn a_file_without_a_header_is_plain() {
    let text = "{\"type\":\"keep_alive\"}\n{\"type\":\"result\"}";
    let entries = all(Reader::new(text.as_bytes()));
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1].file_offset, 22);
    assert!(matches!(&entries[1].event, Event::ToHost(line) if !line.has_newline()));
    let entries = all(Reader::new(text.as_bytes()).direction(Direction::ToAgent));
    assert!(matches!(&entries[0].event, Event::ToAgent(_)));
}

#[test]
fn a_tape_cut_at_any_byte_is_readable() {
    let tape = "{\"tape\":1}\n{\"t\":0,\"dir\":\"in\",\"line\":\"a\"}\n{\"t\":1,\"note\":\"b\"}\n";
    for length in 11..tape.len() {
        let mut reader = Reader::new(&tape.as_bytes()[..length]);
        let mut count = 0;
        while reader.next_entry().unwrap().is_some() {
            count += 1;
        }
        let whole = tape[..length].matches('\n').count() - 1;
        let torn = usize::from(reader.torn().is_some());
        let rest = usize::from(!tape[..length].ends_with('\n'));
        assert_eq!(count + torn, whole + rest, "{length}");
    }
}

#[test]
fn newer_tapes_are_refused() {
    let error = Reader::new(&b"{\"tape\":2}\n"[..]).next_entry().unwrap_err();
    assert!(matches!(error, ReadError::TooNew { found: 2, newest: 1 }));
    assert!(error.to_string().contains("update duologue"));
}

#[test]
fn an_invalid_line_of_a_tape_is_an_error_with_its_position() {
    let error = Reader::new(&b"{\"tape\":1}\n[]\n{}\n"[..]).next_entry().unwrap_err();
    assert_eq!(error.to_string(), "line 2 of the tape is not an entry: it is not a JSON object");
}

#[test]
fn long_lines_are_events_and_reading_continues() {
    let tape = format!(
        "{{\"tape\":1}}\n{{\"t\":0,\"note\":\"{}\"}}\n{{\"t\":1,\"note\":\"b\"}}\n",
        "a".repeat(99)
    );
    let entries = all(Reader::new(tape.as_bytes()).max_line(50));
    assert!(matches!(entries[0].event, Event::TooLong(_)));
    assert!(matches!(entries[1].event, Event::Note(_)));
}
