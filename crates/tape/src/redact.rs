//! Replaces what a shared tape must not tell: keys, names, addresses.
//!
//! The same thing is replaced by the same words all over a tape, so that it still tells one
//! conversation, and still replays. What the wire needs (types, ids, structure) stays.
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
//! Texts are looked at as they read, not as they are escaped; a text that is JSON itself is gone into.
//!
//! What it cannot see: a secret that is encoded (base64); at first sight, one that is streamed in pieces, one
//! delta at a time, and a name before the first home folder tells that it is one. For these, a tape can be
//! gone through twice: see [`Redactor::look_ahead`]. Look at a tape before you share it.

mod counts;
mod forms;
pub(crate) mod scan;
mod streamed;
mod text;

use std::path::Path;

use duologue_protocol::Line;
use serde_json::Value;

use crate::entry::{Event, Header};

pub use counts::Counts;
pub(crate) use forms::is_masked;

use forms::{is_replaced, is_secret_name};
use scan::{Kind, Scalar};
use streamed::{Streamed, Text};
use text::TextRules;

/// Fields that name a person or an account, wherever they stand.
const ACCOUNT_FIELDS: &[&str] = &[
    "email",
    "emailAddress",
    "email_address",
    "organization",
    "organizationName",
    "organization_name",
    "organizationUuid",
    "organization_uuid",
    "organizationId",
    "organization_id",
    "accountUuid",
    "account_uuid",
    "fullName",
    "full_name",
];

/// Fields that do so in an account. Models have them, too.
const FIELDS_OF_ACCOUNTS: &[&str] = &["displayName", "display_name", "name", "uuid"];

/// Fields whose values are words of the wire, whatever the user is called.
const WIRE: &[&str] =
    &["type", "subtype", "role", "behavior", "hook_event_name", "permissionMode", "stop_reason"];

/// What tells in the header of a tape that things were replaced on it.
pub(crate) const REDACTED: &str = "redacted";

/// How deep a text is gone into that is JSON in JSON.
const DEEPEST: usize = 8;

/// Replaces what should not be told. One per tape: it remembers what it has called what.
#[derive(Debug)]
pub struct Redactor {
    text: TextRules,
    paths: Vec<String>,
    streamed: Streamed,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl Redactor {
    /// One with the usual rules: keys and tokens, home folders and the names in them, e-mail
    /// addresses, account fields.
    pub fn new() -> Self {
        Self { text: TextRules::new(), paths: Vec::new(), streamed: Streamed::default() }
    }

    /// Replaces the values of those variables whose names say that they are secret, the names of the
    /// user and of the home folder.
    #[must_use]
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    ) -> Self {
        for (name, value) in variables {
            let value = value.as_ref();
            match name.as_ref() {
                "USER" | "LOGNAME" | "USERNAME" => self.text.know_user(value),
                "HOME" | "USERPROFILE" => {
                    let name = Path::new(value).file_name().and_then(|name| name.to_str());
                    name.into_iter().for_each(|name| self.text.know_user(name));
                }
                name if is_secret_name(name) => self.text.know_secret(value),
                _ => {}
            }
        }
        self
    }

    /// Replaces every value at this path of a line, and under it: `message.content[].text`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Another with the same rules, for another tape.
    #[cfg(feature = "session")]
    pub(crate) fn fresh(&self) -> Self {
        Self { text: self.text.fresh(), paths: self.paths.clone(), ..Self::new() }
    }

    /// How often what was replaced so far.
    pub fn counts(&self) -> &Counts {
        &self.text.counts
    }

    /// Looks at an event before the tape is redacted. When all were looked at, [`again`](Self::again) goes
    /// back to the first.
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
    /// assert!(matches!(first, Event::ToHost(line) if line.as_str().unwrap().contains("it is secret-1, as")));
    /// assert!(matches!(second, Event::ToHost(line) if !line.as_str().unwrap().contains("KlMn")));
    /// ```
    pub fn look_ahead(&mut self, event: Event) {
        if let Event::ToHost(line) = &event
            && let Some(line) = line.as_str()
        {
            let taken = self.streamed.take(line);
            taken.whole.into_iter().for_each(|text| self.look_at(&text));
            // Half a name is none.
            if taken.a_piece {
                return;
            }
        }
        let _ = self.plain(event);
    }

    fn look_at(&mut self, text: &Text) {
        let before = self.text.counts.clone();
        let Some(new) = self.bytes(text.as_str().as_bytes(), 0) else { return };
        let counts = self.text.counts.since(&before);
        self.streamed.change(text, &String::from_utf8_lossy(&new), counts);
    }

    /// The same for the same tape once more, from its beginning: all that it has learned counts from the
    /// first line on, and the counts begin anew.
    #[must_use]
    pub fn again(mut self) -> Self {
        for text in self.streamed.rest() {
            self.look_at(&text);
        }
        self.streamed.again();
        self.text.counts = Counts::default();
        self
    }

    /// The header without what should not be told.
    #[must_use]
    pub fn header(&mut self, header: &Header) -> Header {
        let mut header = header.clone();
        header.program = header.program.map(|program| self.words(&program));
        let mut flag = String::new();
        for word in &mut header.argv {
            let is_secret = flag.starts_with('-') && is_secret_name(&flag);
            flag.clone_from(word);
            // Settings and servers travel in arguments, as JSON.
            *word = match is_secret && !word.starts_with('-') && !is_replaced(word.as_bytes()) {
                true => self.text.secret(word),
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

    /// The event without what should not be told.
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
            Event::ToHost(line) => Event::ToHost(self.line(line)),
            Event::ToAgent(line) => Event::ToAgent(self.line(line)),
            Event::Stderr(line) => Event::Stderr(self.line(line)),
            Event::Unknown(line) => Event::Unknown(self.line(line)),
            Event::Note(note) => Event::Note(self.words(&note)),
            other @ (Event::TooLong(_) | Event::Exit(_)) => other,
        }
    }

    fn line(&mut self, line: Line) -> Line {
        let Some(bytes) = self.bytes(line.raw(), 0) else { return line };
        let redacted = Line::from(bytes);
        if line.has_newline() { redacted } else { redacted.without_newline() }
    }

    fn words(&mut self, text: &str) -> String {
        match self.bytes(text.as_bytes(), 0) {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => text.to_owned(),
        }
    }

    /// A text without what should not be told; `None` if it may all be told.
    fn bytes(&mut self, bytes: &[u8], depth: usize) -> Option<Vec<u8>> {
        let scalars = if depth < DEEPEST { scan::scalars(bytes) } else { None };
        let Some(scalars) = scalars else { return self.text.replace(bytes) };
        let mut replaced = Vec::new();
        let mut copied = 0;
        for scalar in scalars {
            let Some(new) = self.scalar(&scalar, bytes, depth) else { continue };
            replaced.extend_from_slice(bytes.get(copied..scalar.span.start)?);
            replaced.extend_from_slice(&new);
            copied = scalar.span.end;
        }
        if copied == 0 {
            return None;
        }
        replaced.extend_from_slice(bytes.get(copied..)?);
        Some(replaced)
    }

    /// What stands instead of this name or value, quotes included.
    fn scalar(&mut self, scalar: &Scalar, bytes: &[u8], depth: usize) -> Option<Vec<u8>> {
        let raw = bytes.get(scalar.span.clone())?;
        let inside = || raw.get(1..raw.len().checked_sub(1)?);
        match scalar.kind {
            Kind::Word => None,
            Kind::Number => self.number(scalar, raw),
            Kind::Name | Kind::Text if raw.len() <= 2 => None,
            Kind::Name | Kind::Text if raw.contains(&b'\\') => match scan::decoded(raw) {
                Some(text) => self.text_of(scalar, text.as_bytes(), depth).map(|new| quoted(&new)),
                // Half a surrogate: it is looked at as it stands.
                None => self.text.replace(inside()?).map(|new| [b"\"", &*new, b"\""].concat()),
            },
            Kind::Name | Kind::Text => {
                self.text_of(scalar, inside()?, depth).map(|new| quoted(&new))
            }
        }
    }

    fn is_chosen(&self, scalar: &Scalar) -> bool {
        self.paths.iter().any(|path| {
            scalar.path.strip_prefix(path.as_str()).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        })
    }

    fn number(&mut self, scalar: &Scalar, raw: &[u8]) -> Option<Vec<u8>> {
        let tells = self.is_chosen(scalar) && raw != b"0";
        tells.then(|| self.text.counts.add(Counts::CHOSEN));
        tells.then(|| b"0".to_vec())
    }

    /// What is said instead of this, without quotes and escapes.
    fn text_of(&mut self, scalar: &Scalar, text: &[u8], depth: usize) -> Option<Vec<u8>> {
        let mut keys = scalar.path.rsplit('.');
        let key = keys.next().unwrap_or_default();
        if scalar.kind == Kind::Name {
            // A word is the wire's; a path or an address is somebody's.
            let is_word = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            return if is_word { None } else { self.text.replace(text) };
        }
        if is_replaced(text) {
            return None;
        }
        if self.is_chosen(scalar) {
            return Some(self.text.name(Counts::CHOSEN, text, "redacted-").into_bytes());
        }
        if depth == 0
            && let Some(piece) = self.streamed.piece(&scalar.path)
        {
            let piece = piece.into_bytes();
            return Some(self.bytes(&piece, depth + 1).unwrap_or(piece));
        }
        let of_account =
            keys.next().is_some_and(|parent| parent.to_lowercase().contains("account"));
        let is_account =
            ACCOUNT_FIELDS.contains(&key) || (of_account && FIELDS_OF_ACCOUNTS.contains(&key));
        match text {
            // An address among the account fields is an address everywhere.
            _ if is_account && !text.contains(&b'@') => {
                Some(self.text.name("account fields", text, "account-").into_bytes())
            }
            _ if is_secret_name(key) => {
                Some(self.text.secret(&String::from_utf8_lossy(text)).into_bytes())
            }
            _ if WIRE.contains(&key) => self.text.replace_forms(text),
            _ => self.bytes(text, depth + 1),
        }
    }
}

/// A text as JSON has it. What was no UTF-8 in it stays as it is.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for chunk in text.utf8_chunks() {
        let valid = Value::from(chunk.valid()).to_string();
        let inside = valid.strip_prefix('"').and_then(|valid| valid.strip_suffix('"'));
        quoted.extend_from_slice(inside.unwrap_or_default().as_bytes());
        quoted.extend_from_slice(chunk.invalid());
    }
    quoted.push(b'"');
    quoted
}
