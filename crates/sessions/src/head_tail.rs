//! The first and the last 64 KiB of a transcript, and what can be read from them.
//!
//! A list of sessions reads these and nothing else, whatever the size of the files. Fields are looked for in the same way as
//! in the TypeScript SDK, so that both give the same lists.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use duologue_wire::RawJson;
use memchr::memmem;

use crate::js;

/// How much is read from each end.
pub(crate) const LENGTH: usize = 64 * 1024;

/// Both ends of a file.
#[derive(Debug)]
pub(crate) struct HeadTail {
    pub(crate) head: String,
    /// The same as `head` if the file is not longer.
    tail: Option<String>,
    pub(crate) size: u64,
    /// Milliseconds since 1970.
    pub(crate) modified: i64,
}

impl HeadTail {
    /// Reads both ends. `None` if the file is empty.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut file = open_regular(path)?;
        let metadata = file.metadata()?;
        let size = metadata.len();
        let modified = metadata.modified().map_or(0, js::milliseconds);
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(LENGTH).min(LENGTH));
        file.by_ref().take(LENGTH as u64).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let head = text(bytes);
        let tail = match size.checked_sub(LENGTH as u64) {
            Some(start) if start > 0 => {
                file.seek(SeekFrom::Start(start))?;
                let mut bytes = Vec::with_capacity(LENGTH);
                file.take(LENGTH as u64).read_to_end(&mut bytes)?;
                Some(text(bytes))
            }
            _ => None,
        };
        Ok(Some(Self { head, tail, size, modified }))
    }

    pub(crate) fn tail(&self) -> &str {
        self.tail.as_deref().unwrap_or(&self.head)
    }

    /// Whether the two ends are not the same text.
    pub(crate) fn is_long(&self) -> bool {
        self.tail.is_some()
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Opens a file to read, if it is a plain file: opening a pipe would wait for a writer.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The string field of the last line that has it. With a kind, only entries of that `type` count.
///
/// If such a line is not JSON because a torn line stands before the entry, the entry is read out of it.
pub(crate) fn last_field(text: &str, field: &str, kind: Option<&str>) -> Option<String> {
    let marks = kind.map(|kind| [format!("\"type\":\"{kind}\""), format!("\"type\": \"{kind}\"")]);
    let key = format!("\"{field}\":");
    let mut rest = text;
    let finder = memmem::FinderRev::new(&key);
    while let Some(at) = finder.rfind(rest.as_bytes()) {
        let start = rest.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
        let from = rest.get(start..)?;
        let line = from.find('\n').and_then(|end| from.get(..end)).unwrap_or(from);
        rest = rest.get(..start)?;
        if marks
            .as_ref()
            .is_some_and(|marks| !marks.iter().any(|mark| line.contains(mark.as_str())))
        {
            continue;
        }
        let value = match RawJson::parse(line) {
            Ok(entry) => string_of(&entry, field, kind),
            Err(_) => {
                let mark = marks.as_ref().map(|[mark, _]| format!("{{{mark}"));
                mark.and_then(|mark| line.rfind(&mark)).and_then(|at| {
                    let before = line.get(..at)?.chars().next_back()?;
                    let glued = !matches!(before, ':' | ',' | '[');
                    let entry = RawJson::parse(line.get(at..).filter(|_| glued)?).ok()?;
                    string_of(&entry, field, kind)
                })
            }
        };
        if value.is_some() {
            return value;
        }
    }
    None
}

/// The string field of the first line that is JSON and has it.
pub(crate) fn first_field(text: &str, field: &str) -> Option<String> {
    let key = format!("\"{field}\":");
    let lines = text.split('\n').filter(|line| line.contains(&key));
    lines.filter_map(|line| string_of(&RawJson::parse(line).ok()?, field, None)).next()
}

fn string_of(entry: &RawJson, field: &str, kind: Option<&str>) -> Option<String> {
    let of_kind = |kind| {
        entry.get("type").and_then(|found| found.as_str()).is_some_and(|found| found == kind)
    };
    if kind.is_some_and(|kind| !of_kind(kind)) {
        return None;
    }
    Some(entry.get(field)?.as_str()?.as_str().to_owned())
}

/// The first value of a string field, wherever it stands, without reading the JSON around it.
pub(crate) fn first_text(text: &str, field: &str) -> Option<String> {
    [format!("\"{field}\":\""), format!("\"{field}\": \"")].iter().find_map(|pattern| {
        let start = memmem::find(text.as_bytes(), pattern.as_bytes())? + pattern.len();
        text_at(text, start)
    })
}

/// The last value of a string field, wherever it stands.
pub(crate) fn last_text(text: &str, field: &str) -> Option<String> {
    let patterns = [format!("\"{field}\":\""), format!("\"{field}\": \"")];
    let last = patterns.iter().filter_map(|pattern| {
        let starts = memmem::rfind_iter(text.as_bytes(), pattern.as_bytes());
        starts.filter_map(|at| Some((at, text_at(text, at + pattern.len())?))).next()
    });
    last.max_by_key(|(at, _)| *at).map(|(_, value)| value)
}

/// The string that starts here and its end.
fn text_at(text: &str, start: usize) -> Option<String> {
    let rest = text.get(start..)?;
    let mut escaped = false;
    let end = rest.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    let raw = rest.get(..end)?;
    if !raw.contains('\\') {
        return Some(raw.to_owned());
    }
    let json = RawJson::parse(&format!("\"{raw}\"")).ok().and_then(|json| json.as_str());
    Some(json.map_or_else(|| raw.to_owned(), |text| text.as_str().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entry_of_a_kind_is_found() {
        let text = concat!(
            r#"{"type":"custom-title","customTitle":"old"}"#,
            "\n",
            r#"{"type":"custom-title","customTitle":"new"}"#,
            "\n",
            r#"{"type":"user","message":{"content":"\"customTitle\":\"fake\""}}"#,
            "\n",
        );
        assert_eq!(last_field(text, "customTitle", Some("custom-title")).as_deref(), Some("new"));
        assert_eq!(last_field(text, "customTitle", None).as_deref(), Some("new"));
        assert_eq!(last_field(text, "aiTitle", None), None);
    }

    #[test]
    fn an_entry_behind_a_torn_line_is_found() {
        let text = concat!(r#"{"type":"user","mess{"type":"tag","tag":"x"}"#, "\n");
        assert_eq!(last_field(text, "tag", Some("tag")).as_deref(), Some("x"));
    }

    #[test]
    fn texts_are_found_without_parsing() {
        let text = r#"{"cwd":"/a\"b","cwd": "/c","cut":"of"#;
        assert_eq!(first_text(text, "cwd").as_deref(), Some("/a\"b"));
        assert_eq!(last_text(text, "cwd").as_deref(), Some("/c"));
        assert_eq!(first_text(text, "cut"), None);
    }
}
