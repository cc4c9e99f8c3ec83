//! Stored sessions as tapes.

use std::io::{self, Write};

use duologue_protocol::Direction;
use duologue_sessions::StoredSession;
use serde_json::Value;

use crate::{Event, Header, Writer};

/// Writes the conversation of a stored session as a tape.
///
/// What a transcript does not hold is synthesised: the handshake, and the `init` and `result` line of each turn. A note
/// before each such line marks it, `synthesised: init`; the header has `"transcript"` with the id of the session.
///
/// ```
/// use duologue_sessions::Sessions;
/// use duologue_tape::{Event, Reader, write_stored};
///
/// # let folder = tempfile::tempdir()?;
/// # let id = "11111111-2222-4333-8444-555555555555";
/// # std::fs::create_dir_all(folder.path().join("projects/-my"))?;
/// # let text = r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Hello?"}}"#;
/// # std::fs::write(folder.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
/// let session = Sessions::in_config_dir(folder.path()).get(id)?;
/// let tape = write_stored(&session, Vec::new())?;
/// let mut reader = Reader::new(tape.as_slice());
/// let mut prompts = 0;
/// while let Some(entry) = reader.next_entry()? {
///     prompts += usize::from(matches!(entry.event, Event::ToAgent(line) if line.as_str().unwrap().contains("Hello?")));
/// }
/// assert_eq!(prompts, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the session cannot be read, or the tape cannot be written.
pub fn write_stored<W: Write>(session: &StoredSession, output: W) -> io::Result<W> {
    let mut lines = session.wire_lines().map_err(io::Error::other)?.peekable();
    let mut header = Header::new("claude", ["claude"]);
    header.version = version(session);
    header.extra.insert("transcript".to_owned(), Value::from(session.id()));
    let start = lines.peek().and_then(|line| line.as_ref().ok()?.time);
    let mut writer = Writer::new(output, &header)?;
    let note = format!("from the transcript of session {}", session.id());
    writer.event(Some(0), &Event::Note(note))?;
    let mut last = 0;
    for line in lines {
        let line = line.map_err(io::Error::other)?;
        let since = line.time.zip(start).map(|(time, start)| time.saturating_sub(start));
        last = since.and_then(|since| u64::try_from(since).ok()).unwrap_or(last).max(last);
        if let Some(what) = line.synthesised {
            writer.event(Some(last), &Event::Note(format!("synthesised: {what}")))?;
        }
        let event = match line.direction {
            Direction::ToHost => Event::ToHost(line.line),
            _ => Event::ToAgent(line.line),
        };
        writer.event(Some(last), &event)?;
    }
    writer.finish()
}

/// The version that wrote the session, by its first entry that has one.
fn version(session: &StoredSession) -> Option<String> {
    const FIRST: usize = 64;
    let entries = session.entries().ok()?.take(FIRST);
    entries.flatten().find_map(|entry| entry.text("version"))
}
