//! The header and the entries of a tape.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::{Line, TooLong};
use serde_json::{Map, Value};

use crate::escape::unescape;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A longer first line is not read as a header.
const LONGEST_HEADER: usize = 16 * 1024 * 1024;

/// The first line of a tape.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Header {
    /// The version of the format.
    pub format: u64,
    /// The agent: `claude`.
    pub program: Option<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// How it was started.
    pub argv: Vec<String>,
    /// The scenario it played.
    pub scenario: Option<String>,
    /// All other fields.
    pub extra: Map<String, Value>,
}

impl Header {
    /// The header of a new tape.
    pub fn new(program: impl Into<String>, argv: impl IntoIterator<Item: Into<String>>) -> Self {
        Self {
            format: crate::FORMAT_VERSION,
            program: Some(program.into()),
            version: None,
            argv: argv.into_iter().map(Into::into).collect(),
            scenario: None,
            extra: Map::new(),
        }
    }

    /// The line of the header. The key `tape` comes first, for people who look at the file.
    pub(crate) fn to_line(&self) -> String {
        let mut line = format!("{{\"tape\":{}", self.format);
        let mut field = |name: &str, value: &Value| {
            line.push_str(&format!(",{}:{value}", Value::from(name)));
        };
        let texts =
            [("program", &self.program), ("version", &self.version), ("scenario", &self.scenario)];
        for (name, text) in texts {
            if let Some(text) = text {
                field(name, &text.as_str().into());
            }
        }
        field("argv", &self.argv.clone().into());
        for (name, value) in &self.extra {
            field(name, value);
        }
        line.push_str("}\n");
        line
    }

    /// Reads a header; `None` if this is not one, so that the file is not a tape.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        if line.len() > LONGEST_HEADER {
            return None;
        }
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(line) else { return None };
        let format = fields.remove("tape")?.as_u64().unwrap_or(u64::MAX);
        let mut text = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let program = text("program");
        let version = text("version");
        let scenario = text("scenario");
        let argv = match fields.remove("argv") {
            Some(Value::Array(words)) => {
                words.into_iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        Some(Self { format, program, version, argv, scenario, extra: fields })
    }
}

/// One entry of a tape, or one line of a plain capture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The time in milliseconds since the start. A plain capture has no times.
    pub millis: Option<u64>,
    /// Its line in the file, from 1.
    pub file_line: u64,
    /// The offset of that line in the file.
    pub file_offset: u64,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The agent wrote a line.
    ToHost(Line),
    /// The host wrote a line.
    ToAgent(Line),
    /// The agent wrote a line to stderr.
    Stderr(Line),
    /// A line of the file was longer than the limit.
    TooLong(TooLong),
    /// A remark about the process: a signal, the closing of its stdin, or any text.
    Note(String),
    /// The process ended.
    Exit(Exit),
    /// An entry of an unknown kind, unchanged.
    Unknown(Line),
}

impl Exit {
    /// The process exited with this code.
    pub const fn with_code(code: i64) -> Self {
        Self { code: Some(code), signal: None }
    }

    /// A signal killed the process.
    pub const fn by_signal(signal: i64) -> Self {
        Self { code: None, signal: Some(signal) }
    }
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i64>,
    /// The signal, if one killed it.
    pub signal: Option<i64>,
}

/// Reads a line of a tape.
pub(crate) fn read_event(entry: &Line) -> Result<(Option<u64>, Event), String> {
    let value: Value = serde_json::from_slice(entry.raw())
        .map_err(|error| error.to_string().replace(" at line 1 column ", " at column "))?;
    let Value::Object(mut fields) = value else {
        return Err("it is not a JSON object".to_owned());
    };
    // Older recorders wrote fractions of a millisecond.
    let millis = fields.get("t").and_then(Value::as_f64).map(whole_millis);
    if let Some(Value::String(direction)) = fields.remove("dir") {
        let mut line = exact_line(&mut fields)?;
        if fields.get("eol") == Some(&Value::Bool(false)) {
            line = line.without_newline();
        }
        let event = match direction.as_str() {
            "out" => Event::ToHost(line),
            "in" => Event::ToAgent(line),
            "err" => Event::Stderr(line),
            _ => Event::Unknown(entry.clone()),
        };
        return Ok((millis, event));
    }
    if let Some(note) = fields.get("note").and_then(Value::as_str) {
        return Ok((millis, Event::Note(note.to_owned())));
    }
    if let Some(exit) = fields.get("exit") {
        let exit = Exit { code: exit["code"].as_i64(), signal: exit["signal"].as_i64() };
        return Ok((millis, Event::Exit(exit)));
    }
    Ok((millis, Event::Unknown(entry.clone())))
}

/// Reads a line of the wire in the form in which a recorder writes it: most of a tape. `None` for any other form.
pub(crate) fn read_plain(entry: &[u8], text: &mut Vec<u8>) -> Option<(Option<u64>, Event)> {
    let rest = entry.strip_prefix(b"{\"t\":")?;
    let digits = rest.iter().position(|byte| *byte == b',')?;
    let (millis, rest) = rest.split_at_checked(digits)?;
    let rest = rest.strip_prefix(b",\"dir\":\"")?;
    let (event, rest): (fn(Line) -> Event, _) = if let Some(rest) = rest.strip_prefix(b"out\"") {
        (Event::ToHost, rest)
    } else if let Some(rest) = rest.strip_prefix(b"in\"") {
        (Event::ToAgent, rest)
    } else {
        (Event::Stderr, rest.strip_prefix(b"err\"")?)
    };
    let escaped = rest.strip_prefix(b",\"line\":\"")?.strip_suffix(b"\"}")?;
    let line = Line::from(unescape(escaped, text)?);
    // Bytes that are not text are in `b64`.
    line.as_str()?;
    let millis = std::str::from_utf8(millis).ok()?.parse().ok()?;
    Some((Some(millis), event(line)))
}

/// Whether this is certainly a line of the agent's stdout, by its first bytes.
pub(crate) fn is_to_host(entry: &[u8]) -> bool {
    starts_with(entry, b"\"dir\":\"out\"")
}

/// Whether this is certainly a line of one of the agent's streams, by its first bytes.
pub(crate) fn is_of_a_stream(entry: &[u8]) -> bool {
    starts_with(entry, b"\"dir\":\"")
}

/// Whether an entry has this near its start. Inside of a string there would be backslashes.
fn starts_with(entry: &[u8], what: &[u8]) -> bool {
    let start = entry.get(..64).unwrap_or(entry);
    start.windows(what.len()).any(|part| part == what)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that does not fit is cut to one that does"
)]
fn whole_millis(millis: f64) -> u64 {
    millis.max(0.0) as u64
}

fn exact_line(fields: &mut Map<String, Value>) -> Result<Line, String> {
    if let Some(Value::String(text)) = fields.get_mut("line") {
        return Ok(Line::from(std::mem::take(text)));
    }
    let Some(encoded) = fields.get("b64").and_then(Value::as_str) else {
        return Err("it has a `dir` but neither `line` nor `b64`".to_owned());
    };
    let bytes =
        STANDARD.decode(encoded).map_err(|error| format!("its `b64` is broken: {error}"))?;
    Ok(Line::from(bytes))
}
