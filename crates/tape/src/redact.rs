//! Removes secrets and personal data from a tape: keys, passwords, names, addresses.
//!
//! Equal values get equal replacements in the whole tape, so that it still makes sense and still replays. Types, ids and
//! structure stay. Redacting again changes nothing.
//!
//! ```
//! use duologue_protocol::Line;
//! use duologue_tape::Event;
//! use duologue_tape::redact::Redactor;
//!
//! let mut redactor = Redactor::new();
//! let line = Line::from(r#"{"text":"mail ann@corp.com, see /home/ann/x"}"#);
//! let Event::ToHost(line) = redactor.event(Event::ToHost(line)) else { panic!() };
//! assert_eq!(line.as_str(), Some(r#"{"text":"mail user1@example.com, see /home/user2/x"}"#));
//! assert_eq!(redactor.counts().total(), 2);
//! ```
//!
//! Escapes in texts are decoded, and JSON inside strings is redacted too. A secret is found by its form ([`forms`]), by its
//! name (`DB_PASSWORD=…`), or because it is known from elsewhere on the tape.
//!
//! One pass misses a secret that is streamed in pieces, and a value before the line that makes it known.
//! [`Redactor::look_ahead`] reads a tape before it is redacted, and finds these too. A secret with neither a known form nor a
//! secret name is not found: review a tape before you share it.

mod blocks;
mod claims;
mod counts;
mod fields;
mod forms;
mod judge;
mod known;
mod mask;
mod people;
pub(crate) mod scan;
mod streamed;
mod text;
mod value;
mod view;
mod words;

use std::ops::Range;
use std::path::Path;

use duologue_protocol::Line;
use serde_json::Value;

use crate::entry::{Event, Header};

pub use counts::Counts;
pub use forms::forms;
pub(crate) use mask::is_masked;

use claims::{Edit, edited};
use judge::is_placeholder;
use mask::is_replaced;
use scan::Kind;
use streamed::{Piece, Streamed, Text};
use text::{Place, TextRules};
use view::View;

/// The field of the header that marks a redacted tape.
pub(crate) const REDACTED: &str = "redacted";

/// How deep JSON in JSON is redacted.
const DEEPEST: usize = 8;

/// Redacts a tape. Use one per tape: it remembers the replacements.
#[derive(Debug)]
pub struct Redactor {
    text: TextRules,
    paths: Vec<String>,
    streamed: Streamed,
    /// Whether the last line of each stream was within a private key: of the agent's, of the host's, of stderr.
    in_key: [bool; 3],
    /// How many values were known when a streamed text was searched.
    knew: Option<usize>,
}

/// What comes before a value in the same line.
#[derive(Debug, Default)]
struct Before {
    /// A list, if its last element was a flag before a secret: `["--token", "…"]`.
    flag: Option<String>,
    /// A field that says that the one beside it is a secret: `{"name":"TOKEN","value":"…"}`.
    name: Option<String>,
    /// A list, if its last element was a line of a private key.
    key: Option<String>,
}

/// Longer paths are not those of a list of lines or arguments.
const LONGEST_PATH: usize = 512;

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl Redactor {
    /// A redactor with the usual rules: keys and tokens, home folders and the names in them, e-mail addresses, account
    /// fields.
    pub fn new() -> Self {
        Self {
            text: TextRules::default(),
            paths: Vec::new(),
            streamed: Streamed::default(),
            in_key: [false; 3],
            knew: None,
        }
    }

    /// Also replaces the values of environment variables with secret names, and the names of the user and of the home folder.
    #[must_use]
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    ) -> Self {
        for (name, value) in variables {
            let value = value.as_ref();
            match name.as_ref() {
                "USER" | "LOGNAME" | "USERNAME" => self.text.know_user(value.as_bytes()),
                "HOME" | "USERPROFILE" => {
                    let name = Path::new(value).file_name().and_then(|name| name.to_str());
                    name.into_iter().for_each(|name| self.text.know_user(name.as_bytes()));
                }
                // The shell's `PWD` is a folder. So is what a name like `SSH_KEY` may point to.
                _ if Path::new(value).is_absolute() && Path::new(value).exists() => {}
                "PWD" | "OLDPWD" => {}
                name if fields::is_secret(name) => self.text.know_secret(value.as_bytes()),
                _ => {}
            }
        }
        self
    }

    /// Also replaces every value at this path of a line, and under it: `message.content[].text`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// A redactor with the same rules, for another tape.
    #[cfg(feature = "session")]
    pub(crate) fn fresh(&self) -> Self {
        Self { text: self.text.fresh(), paths: self.paths.clone(), ..Self::new() }
    }

    /// How many values of each kind were replaced so far.
    pub fn counts(&self) -> &Counts {
        &self.text.counts
    }

    /// Learns from an event before the tape is redacted. After the last event, [`again`](Self::again) returns to the first.
    ///
    /// ```
    /// use duologue_protocol::Line;
    /// use duologue_tape::Event;
    /// use duologue_tape::redact::Redactor;
    ///
    /// let streamed = |text: &str| {
    ///     let delta = format!(r#"{{"type":"text_delta","text":"{text}"}}"#);
    ///     let event = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
    ///     Event::ToHost(Line::from(format!(r#"{{"type":"stream_event","event":{event}}}"#)))
    /// };
    /// let tape = ["it is ghp_AbCdEfGhIj", "KlMnOpQrStUvWx1234, as you know"].map(streamed);
    /// let mut redactor = Redactor::new();
    /// tape.iter().for_each(|event| redactor.look_ahead(event.clone()));
    /// let mut redactor = redactor.again();
    /// let [first, second] = tape.map(|event| redactor.event(event));
    /// let [first, second] = [first, second].map(|event| match event {
    ///     Event::ToHost(line) => line.as_str().unwrap().to_owned(),
    ///     other => panic!("{other:?}"),
    /// });
    /// assert!(first.contains("\"it is secret-1\"") && second.contains("\", as you know\""));
    /// ```
    pub fn look_ahead(&mut self, event: Event) {
        if let Event::ToHost(line) = &event
            && let Some(line) = line.as_str()
        {
            let taken = self.streamed.take(line);
            if taken.begins_again {
                self.knew = None;
            }
            taken.whole.into_iter().for_each(|text| self.look_at(&text));
            // A piece may be half a name.
            if taken.a_piece {
                return;
            }
        }
        self.text.only_learns = true;
        let _ = self.plain(event);
        self.text.only_learns = false;
    }

    fn look_at(&mut self, text: &Text) {
        let before = self.text.counts.clone();
        let edits = self.edits(text.as_str().as_bytes(), 0);
        self.knew = self.knew.or(Some(self.text.knowledge()));
        let counts = self.text.counts.since(&before);
        self.streamed.change(text, &edits, counts);
    }

    /// Whether another look ahead would find more, because something was learned after a streamed text was searched. Call
    /// it after [`again`](Self::again).
    pub fn wants_another_look(&self) -> bool {
        self.knew.is_some_and(|knew| knew < self.text.knowledge())
    }

    /// Returns to the beginning of the tape: keeps everything learned, and resets the counts.
    #[must_use]
    pub fn again(mut self) -> Self {
        for text in self.streamed.rest() {
            self.look_at(&text);
        }
        self.streamed.again();
        self.in_key = [false; 3];
        self.text.counts = Counts::default();
        self
    }

    /// How many bytes were searched so far, counted each time. For tests: it must not grow faster than the tape.
    #[doc(hidden)]
    pub fn work(&self) -> u64 {
        self.text.work
    }

    /// Redacts the header.
    #[must_use]
    pub fn header(&mut self, header: &Header) -> Header {
        let mut header = header.clone();
        header.program = header.program.map(|program| self.words(&program));
        let mut flag = String::new();
        for word in &mut header.argv {
            let is_secret = flag.starts_with('-') && fields::is_secret(&flag);
            flag.clone_from(word);
            // Settings and servers are passed in arguments, as JSON.
            *word = match is_secret && !word.starts_with('-') && !is_said(word.as_bytes()) {
                true => self.text.secret(word.as_bytes()),
                false => self.words(word),
            };
        }
        let extra = Value::Object(std::mem::take(&mut header.extra)).to_string();
        if let Ok(Value::Object(extra)) = serde_json::from_str(&self.words(&extra)) {
            header.extra = extra;
        }
        header.extra.insert(REDACTED.to_owned(), Value::Bool(true));
        header
    }

    /// Redacts an event.
    #[must_use]
    pub fn event(&mut self, event: Event) -> Event {
        if let Event::ToHost(line) = &event
            && let Some(counts) = line.as_str().and_then(|line| self.streamed.line(line))
        {
            self.text.counts.add_all(&counts);
        }
        self.plain(event)
    }

    fn plain(&mut self, event: Event) -> Event {
        match event {
            Event::ToHost(line) => Event::ToHost(self.line(line, 0)),
            Event::ToAgent(line) => Event::ToAgent(self.line(line, 1)),
            Event::Stderr(line) => Event::Stderr(self.line(line, 2)),
            Event::Unknown(line) => Event::Unknown(self.line(line, 0)),
            Event::Note(note) => Event::Note(self.words(&note)),
            other @ (Event::TooLong(_) | Event::Exit(_)) => other,
        }
    }

    fn line(&mut self, line: Line, stream: usize) -> Line {
        // A key may be spread over several lines, if they are plain text.
        self.text.in_key = self.in_key.get(stream).copied().unwrap_or_default();
        let edits = self.edits(line.raw(), 0);
        if let Some(in_key) = self.in_key.get_mut(stream) {
            *in_key = self.text.in_key;
        }
        if edits.is_empty() {
            return line;
        }
        let redacted = Line::from(edited(line.raw(), &edits));
        if line.has_newline() { redacted } else { redacted.without_newline() }
    }

    fn words(&mut self, text: &str) -> String {
        self.text.in_key = false;
        let edits = self.edits(text.as_bytes(), 0);
        match edits.is_empty() {
            true => text.to_owned(),
            false => String::from_utf8_lossy(&edited(text.as_bytes(), &edits)).into_owned(),
        }
    }

    /// The replacements in a text, which may be JSON.
    fn edits(&mut self, bytes: &[u8], depth: usize) -> Vec<Edit> {
        if depth >= DEEPEST || !scan::is_json(bytes) {
            return self.text.edits(bytes, Place::Free);
        }
        let mut edits = Vec::new();
        let mut before = Before::default();
        let _ = scan::walk(bytes, |path, kind, span| {
            let raw = bytes.get(span.clone()).unwrap_or_default();
            edits.extend(self.scalar(path, kind, raw, depth, &mut before).into_iter().map(
                |edit| Edit {
                    span: edit.span.start + span.start..edit.span.end + span.start,
                    new: edit.new,
                },
            ));
        });
        self.text.in_key = false;
        edits
    }

    /// The replacements in this name or value, including its quotes.
    fn scalar(
        &mut self,
        path: &str,
        kind: Kind,
        raw: &[u8],
        depth: usize,
        before: &mut Before,
    ) -> Vec<Edit> {
        match kind {
            Kind::Word => Vec::new(),
            Kind::Number => self.number(path, raw),
            Kind::Name | Kind::Text => {
                let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
                let shift = |span: Range<usize>| span.start + 1..span.end + 1;
                // Replacements need no escapes.
                let edits = match View::of_json(inside) {
                    Some(view) => {
                        let edits = self.string(path, kind, &view.text, depth, before);
                        edits.into_iter().flat_map(|edit| view.edits_of_source(&edit)).collect()
                    }
                    None => self.string(path, kind, inside, depth, before),
                };
                edits
                    .into_iter()
                    .map(|edit| Edit { span: shift(edit.span), new: edit.new })
                    .collect()
            }
        }
    }

    fn is_chosen(&self, path: &str) -> bool {
        self.paths.iter().any(|chosen| {
            path.strip_prefix(chosen.as_str()).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        })
    }

    fn number(&mut self, path: &str, raw: &[u8]) -> Vec<Edit> {
        let kind = match () {
            () if raw == b"0" => return Vec::new(),
            () if self.is_chosen(path) => Counts::CHOSEN,
            // A short number is a count.
            () if raw.len() >= 4 && fields::is_password(fields::last_names(path).0) => text::KEYS,
            () => return Vec::new(),
        };
        self.text.counts.add(kind);
        vec![Edit { span: 0..raw.len(), new: "0".to_owned() }]
    }

    /// The replacements in a name or value without quotes and escapes.
    fn string(
        &mut self,
        path: &str,
        kind: Kind,
        text: &[u8],
        depth: usize,
        before: &mut Before,
    ) -> Vec<Edit> {
        if kind == Kind::Name {
            self.text.in_key = false;
            return self.text.edits_of_name(text);
        }
        let place = |path: &str| (path.len() < LONGEST_PATH).then(|| path.to_owned());
        let parent = path.rfind('.').and_then(|end| path.get(..end)).unwrap_or_default();
        let is_here = |place: Option<String>, path: &str| place.is_some_and(|place| place == path);
        let after_flag = is_here(before.flag.take(), path);
        let is_named = fields::is_value(path) && is_here(before.name.clone(), parent);
        self.text.in_key = is_here(before.key.take(), path);
        let words = std::str::from_utf8(text.get(..text.len().min(128)).unwrap_or_default());
        let words = words.unwrap_or_default();
        let is_list = path.ends_with("[]");
        if is_list && words.starts_with('-') && fields::is_secret(words) {
            before.flag = place(path);
        }
        if fields::names_another(path) {
            before.name = fields::is_secret(words).then(|| place(parent)).flatten();
        }
        let whole = |new: String| vec![Edit { span: 0..text.len(), new }];
        if text.is_empty() || is_replaced(text) {
            return Vec::new();
        }
        if self.is_chosen(path) {
            return whole(self.text.name(Counts::CHOSEN, text, mask::CHOSEN));
        }
        if depth == 0
            && let Some(piece) = self.streamed.piece(path)
        {
            return match piece {
                Piece::Same => Vec::new(),
                Piece::Other(piece) => {
                    let escaped = Value::from(piece).to_string();
                    let inside =
                        escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default();
                    whole(inside.to_owned())
                }
            };
        }
        // An address among the account fields is an address everywhere.
        if fields::is_account(path) && !text.contains(&b'@') {
            return whole(self.text.name("account fields", text, mask::ACCOUNT));
        }
        let name = fields::last_names(path).0;
        let is_secret =
            after_flag || is_named || (fields::is_secret(name) && !fields::is_folder(name, text));
        let is_code = fields::is_secret_number(path, text) || fields::is_registry(path, text);
        if is_code || (is_secret && !is_said(text)) {
            return match self.scheme(text) {
                Some(scheme) => {
                    let rest = text.get(scheme..).unwrap_or_default();
                    vec![Edit { span: scheme..text.len(), new: self.text.secret(rest) }]
                }
                None => whole(self.text.secret(text)),
            };
        }
        if fields::is_wire(path) {
            return self.text.edits(text, Place::Wire);
        }
        let edits = self.edits(text, depth + 1);
        if is_list && self.text.in_key {
            before.key = place(path);
        }
        edits
    }

    /// Where the secret begins in the value of an `Authorization` header.
    fn scheme(&self, text: &[u8]) -> Option<usize> {
        let end = text.iter().take(24).position(|byte| *byte == b' ')?;
        let is_word = text.iter().take(end).all(|byte| byte.is_ascii_alphabetic());
        let rest = text.get(end + 1..)?;
        let is_known = ["bearer", "basic", "token", "digest", "negotiate"].iter().any(|known| {
            text.get(..end).is_some_and(|word| word.eq_ignore_ascii_case(known.as_bytes()))
        });
        (is_word && is_known && !rest.is_empty()).then_some(end + 1)
    }
}

/// Whether the value of a secret field is empty, means "none", or was replaced.
fn is_said(text: &[u8]) -> bool {
    let is_none = [&b"none"[..], b"null", b"true", b"false", b"undefined"];
    let rest = text.split(|byte| *byte == b' ').next_back().unwrap_or_default();
    is_replaced(text)
        || is_replaced(rest)
        || is_placeholder(text)
        || is_none.iter().any(|none| text.eq_ignore_ascii_case(none))
}
