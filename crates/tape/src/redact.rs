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
//! What it cannot see: a secret that is streamed in pieces, one delta at a time, or one that is
//! encoded. Look at a tape before you share it.

mod counts;
pub(crate) mod scan;
mod text;

use std::path::Path;

use duologue_protocol::Line;
use serde_json::Value;

use crate::entry::{Event, Header};

pub use counts::Counts;

use scan::{Kind, Scalar};
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
    "displayName",
];

/// Replaces what should not be told. One per tape: it remembers what it has called what.
#[derive(Debug)]
pub struct Redactor {
    text: TextRules,
    paths: Vec<String>,
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
        Self { text: TextRules::new(), paths: Vec::new() }
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
                name if text::is_secret_name(name) => self.text.know_secret(value),
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
        Self { text: self.text.fresh(), paths: self.paths.clone() }
    }

    /// How often what was replaced so far.
    pub fn counts(&self) -> &Counts {
        &self.text.counts
    }

    /// The header without what should not be told.
    #[must_use]
    pub fn header(&mut self, header: &Header) -> Header {
        let mut header = header.clone();
        for word in &mut header.argv {
            // Settings and servers travel in arguments, as JSON.
            *word = String::from_utf8_lossy(&self.bytes(word.as_bytes())).into_owned();
        }
        let extra = Value::Object(std::mem::take(&mut header.extra)).to_string();
        if let Ok(Value::Object(extra)) = serde_json::from_slice(&self.bytes(extra.as_bytes())) {
            header.extra = extra;
        }
        header
    }

    /// The event without what should not be told.
    #[must_use]
    pub fn event(&mut self, event: Event) -> Event {
        match event {
            Event::ToHost(line) => Event::ToHost(self.line(line)),
            Event::ToAgent(line) => Event::ToAgent(self.line(line)),
            Event::Stderr(line) => Event::Stderr(self.line(line)),
            Event::Unknown(line) => Event::Unknown(self.line(line)),
            Event::Note(note) => {
                let bytes = self.text.replace(note.as_bytes());
                Event::Note(String::from_utf8_lossy(&bytes).into_owned())
            }
            other @ (Event::TooLong(_) | Event::Exit(_)) => other,
        }
    }

    fn line(&mut self, line: Line) -> Line {
        let bytes = self.bytes(line.raw());
        if bytes == line.raw() {
            return line;
        }
        let redacted = Line::from(bytes);
        if line.has_newline() { redacted } else { redacted.without_newline() }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        let replaced = self.fields(bytes);
        self.text.replace(replaced.as_deref().unwrap_or(bytes))
    }

    /// Replaces whole fields; `None` if there are none to replace, or this is no JSON.
    fn fields(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let scalars = scan::scalars(bytes)?;
        let mut replaced = Vec::new();
        let mut copied = 0;
        for scalar in scalars {
            let Some(new) = self.field(&scalar, bytes) else { continue };
            replaced.extend_from_slice(bytes.get(copied..scalar.span.start)?);
            replaced.extend_from_slice(new.as_bytes());
            copied = scalar.span.end;
        }
        if copied == 0 {
            return None;
        }
        replaced.extend_from_slice(bytes.get(copied..)?);
        Some(replaced)
    }

    /// What stands instead of this value, quotes included.
    fn field(&mut self, scalar: &Scalar, bytes: &[u8]) -> Option<String> {
        let value = bytes.get(scalar.span.clone())?;
        let chosen = self.paths.iter().any(|path| {
            scalar.path.strip_prefix(path.as_str()).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        });
        let key = scalar.path.rsplit('.').next().unwrap_or_default();
        match scalar.kind {
            Kind::Text if value.len() <= 2 => None,
            Kind::Text if chosen => {
                Some(format!("\"{}\"", self.text.name("chosen fields", value, "redacted-")))
            }
            Kind::Number if chosen => {
                self.text.counts.add("chosen fields");
                Some("0".to_owned())
            }
            // An address among the account fields is an address everywhere.
            Kind::Text if ACCOUNT_FIELDS.contains(&key) && !value.contains(&b'@') => {
                Some(format!("\"{}\"", self.text.name("account fields", value, "account-")))
            }
            Kind::Text if text::is_secret_name(key) => {
                Some(format!("\"{}\"", self.text.name("keys and tokens", value, "secret-")))
            }
            Kind::Text | Kind::Number | Kind::Word => None,
        }
    }
}
