//! Rules for texts: what gives itself away by its form, and what is known already.

use std::collections::HashMap;
use std::sync::Arc;

use regex::bytes::{Captures, Match, Regex, RegexBuilder};

use super::counts::Counts;
use super::forms::{FOLDERS, FORMS, NAMES, is_nobody, is_replaced, looks_random};

/// Shorter values of secret variables are switches, not secrets; shorter names are words.
const SHORTEST_SECRET: usize = 8;
const SHORTEST_NAME: usize = 3;

/// How many names and secrets are looked for anywhere. More are replaced only where their form tells.
const MOST_KNOWN: usize = 1024;

const KEYS: &str = "keys and tokens";
const USERS: &str = "home folders and user names";

#[derive(Debug)]
pub(super) struct TextRules {
    /// In the order in which they are looked for. A copy of an expression begins without its caches, so
    /// they are shared.
    forms: Arc<[Regex; 2]>,
    /// Values that are known to be secret.
    secrets: Known,
    /// Names that are known to be people's.
    users: Known,
    /// What was called what.
    names: HashMap<Vec<u8>, String>,
    pub(super) counts: Counts,
}

/// Words that are replaced wherever they stand.
#[derive(Clone, Debug, Default)]
struct Known {
    words: Vec<String>,
    any: Option<Arc<Regex>>,
}

impl Known {
    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }

    fn add(&mut self, word: &str) {
        if self.has(word) || self.words.len() >= MOST_KNOWN {
            return;
        }
        self.words.push(word.to_owned());
        // Of two that begin alike, the longer one.
        self.words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let words: Vec<String> = self.words.iter().map(|word| regex::escape(word)).collect();
        self.any = RegexBuilder::new(&words.join("|")).unicode(false).build().ok().map(Arc::new);
    }
}

impl TextRules {
    pub(super) fn new() -> Self {
        let forms = [FORMS, FOLDERS].map(|forms| {
            let forms = RegexBuilder::new(forms)
                .ignore_whitespace(true)
                .unicode(false)
                .dot_matches_new_line(true)
                .build();
            #[expect(clippy::expect_used, reason = "a constant, which every test compiles")]
            forms.expect("the expression is well formed")
        });
        Self {
            forms: Arc::new(forms),
            secrets: Known::default(),
            users: Known::default(),
            names: HashMap::new(),
            counts: Counts::default(),
        }
    }

    #[cfg(feature = "session")]
    pub(super) fn fresh(&self) -> Self {
        Self {
            forms: Arc::clone(&self.forms),
            secrets: self.secrets.clone(),
            users: self.users.clone(),
            names: HashMap::new(),
            counts: Counts::default(),
        }
    }

    pub(super) fn know_secret(&mut self, value: &str) {
        if value.len() >= SHORTEST_SECRET && !is_replaced(value.as_bytes()) {
            self.secrets.add(value);
        }
    }

    pub(super) fn know_user(&mut self, name: &str) {
        if name.len() < SHORTEST_NAME || is_nobody(name) || self.users.has(name) {
            return;
        }
        self.users.add(name);
        // Claude Code makes one word of a path: ann.lee is ann-lee in it.
        let plain = |byte: char| if byte.is_ascii_alphanumeric() { byte } else { '-' };
        let dashed: String = name.chars().map(plain).collect();
        if dashed != name {
            let called = self.called(name.as_bytes(), "user");
            self.names.insert(dashed.clone().into_bytes(), called);
            self.users.add(&dashed);
        }
    }

    /// What this is called on this tape.
    pub(super) fn name(&mut self, kind: &'static str, value: &[u8], word: &str) -> String {
        self.counts.add(kind);
        self.called(value, word)
    }

    fn called(&mut self, value: &[u8], word: &str) -> String {
        let number = self.names.len() + 1;
        self.names.entry(value.to_vec()).or_insert_with(|| format!("{word}{number}")).clone()
    }

    /// What a field with a secret in it says instead.
    pub(super) fn secret(&mut self, value: &str) -> String {
        if looks_random(value.as_bytes()) {
            self.know_secret(value);
        }
        self.name(KEYS, value.as_bytes(), "secret-")
    }

    /// Replaces what has a telling form or is known; `None` if there is nothing of the kind.
    pub(super) fn replace(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut replaced = self.known(false, bytes);
        // An address goes as a whole, before the name in it does.
        for forms in &*Arc::clone(&self.forms) {
            let text = replaced.as_deref().unwrap_or(bytes);
            if forms.is_match(text) {
                let before = self.counts.total();
                let form = |found: &Captures<'_>| self.form(found);
                let new = forms.replace_all(text, form).into_owned();
                replaced = if self.counts.total() == before { replaced } else { Some(new) };
            }
            replaced = self.known(true, replaced.as_deref().unwrap_or(bytes)).or(replaced);
        }
        replaced
    }

    /// The same for a text in which a user's name may be a word of the wire.
    pub(super) fn replace_forms(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let users = std::mem::take(&mut self.users);
        let replaced = self.replace(bytes);
        let learned = std::mem::replace(&mut self.users, users);
        learned.words.iter().for_each(|name| self.know_user(name));
        replaced
    }

    /// What stands instead of something that has a telling form.
    fn form(&mut self, found: &Captures<'_>) -> Vec<u8> {
        let whole = found.get(0).map(|whole| whole.as_bytes().to_vec()).unwrap_or_default();
        let named = |form: &&'static str| Some((*form, found.name(form)?));
        let Some((form, value)) = NAMES.iter().find_map(named) else { return whole };
        let text = value.as_bytes();
        let new = match form {
            _ if is_replaced(text) => return whole,
            _ if text.starts_with(b"sk-ant-") => self.name(KEYS, text, "sk-ant-redacted-"),
            // A variable: what is in it is secret elsewhere, too.
            "named" => self.secret(&String::from_utf8_lossy(text)),
            "email" => {
                if text.ends_with(b"@example.com") || text == b"noreply@anthropic.com" {
                    return whole;
                }
                let name = self.name("e-mail addresses", text, "user");
                format!("{name}@example.com")
            }
            "windows" | "home" | "folder" => {
                let name = String::from_utf8_lossy(text).into_owned();
                if is_nobody(&name) {
                    return whole;
                }
                self.know_user(&name);
                self.name(USERS, text, "user")
            }
            _ => self.name(KEYS, text, "secret-"),
        };
        spliced(&whole, found.get(0), value, &new)
    }

    /// Replaces what is known; of users' names, only those that are words.
    fn known(&mut self, users: bool, bytes: &[u8]) -> Option<Vec<u8>> {
        let any = if users { self.users.any.clone() } else { self.secrets.any.clone() }?;
        let mut replaced = Vec::new();
        let mut copied = 0;
        for found in any.find_iter(bytes) {
            let (before, after) = (bytes.get(..found.start())?, bytes.get(found.end()..)?);
            if users && (ends_in_word(before) || after.first().is_some_and(is_of_word)) {
                continue;
            }
            let (kind, word) = if users { (USERS, "user") } else { (KEYS, "secret-") };
            replaced.extend_from_slice(bytes.get(copied..found.start())?);
            replaced.extend_from_slice(self.name(kind, found.as_bytes(), word).as_bytes());
            copied = found.end();
        }
        if copied == 0 {
            return None;
        }
        replaced.extend_from_slice(bytes.get(copied..)?);
        Some(replaced)
    }
}

/// The whole with something else instead of a part of it.
fn spliced(whole: &[u8], at: Option<Match<'_>>, part: Match<'_>, new: &str) -> Vec<u8> {
    let offset = at.map_or(0, |at| at.start());
    let mut spliced = whole.get(..part.start() - offset).unwrap_or_default().to_vec();
    spliced.extend_from_slice(new.as_bytes());
    spliced.extend_from_slice(whole.get(part.end() - offset..).unwrap_or_default());
    spliced
}

fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Whether a word goes on after this. The `n` of an escaped line end is no word.
fn ends_in_word(before: &[u8]) -> bool {
    let Some(last) = before.last().filter(|last| is_of_word(last)) else { return false };
    let rest = before.get(..before.len() - 1).unwrap_or_default();
    !(b"nrtbf".contains(last) && rest.ends_with(b"\\"))
}
