//! [`TextRules`]: the replacements in a text, by form, by name, or because a value is known.

use std::collections::HashMap;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::blocks;
use super::claims::{Claim, Edit, What, settled};
use super::counts::Counts;
use super::forms::{self, Candidate, Form, Until};
use super::judge::{describes_secret, is_never_secret, is_placeholder, looks_random};
use super::known::{Known, starts_word};
use super::mask::{self, has_replaced, is_replaced};
use super::people::{self, is_generic, is_public};
use super::value;
use super::view::View;

/// Shorter values are too common to be replaced everywhere; shorter names are words.
const SHORTEST_SECRET: usize = 6;
const SHORTEST_WORD: usize = 8;
const SHORTEST_NAME: usize = 3;

/// How many levels of escapes are decoded: JSON in a URL in JSON.
const DEEPEST: usize = 3;

/// Longer values are not split.
const LONGEST_LIST: usize = 8192;

/// Lines of a private key from this length on are known by themselves.
const LINE_OF_KEY: usize = 32;

pub(super) const KEYS: &str = "keys and tokens";
const USERS: &str = "home folders and user names";

#[derive(Debug, Default)]
pub(super) struct TextRules {
    /// Values that are known to be secret.
    secrets: Known,
    /// Names that are known to be people's.
    users: Known,
    /// The replacement of each value.
    names: HashMap<Vec<u8>, String>,
    /// A private key has begun in the text before, and not ended.
    pub(super) in_key: bool,
    /// Only learn. Known values are replaced later, when all of them are known.
    pub(super) only_learns: bool,
    pub(super) counts: Counts,
    /// How many bytes were searched.
    pub(super) work: u64,
}

/// A text without its escapes, and the layers in that.
#[derive(Debug)]
struct Layer {
    view: View,
    layers: Vec<Self>,
}

impl Layer {
    /// The layers of a text: without escapes, which may have escapes in turn, and without colours.
    fn all(text: &[u8], depth: usize) -> Vec<Self> {
        if depth >= DEEPEST {
            return Vec::new();
        }
        let decoded = View::decoded(text).map(|view| {
            let layers = Self::all(&view.text, depth + 1);
            Self { view, layers }
        });
        let colourless = View::without_colours(text).map(|view| Self { view, layers: Vec::new() });
        decoded.into_iter().chain(colourless).collect()
    }

    fn text(&self) -> &[u8] {
        &self.view.text
    }
}

/// The kind of place that a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Any text.
    Free,
    /// A word of the wire, even if a person or a password has the same name.
    Wire,
}

impl TextRules {
    #[cfg(feature = "session")]
    pub(super) fn fresh(&self) -> Self {
        Self { secrets: self.secrets.clone(), users: self.users.clone(), ..Self::default() }
    }

    /// How many secrets and names are known.
    pub(super) fn knowledge(&self) -> usize {
        self.secrets.len() + self.users.len()
    }

    /// Replaces this value everywhere from now on, unless it is too common.
    pub(super) fn know_secret(&mut self, value: &[u8]) {
        let value = value.trim_ascii();
        let is_random =
            looks_random(value) || value.iter().any(|byte| b"!@#$%^&*+=?~ ".contains(byte));
        let shortest = if is_random { SHORTEST_SECRET } else { SHORTEST_WORD };
        let is_about = !is_random && describes_secret(&value.to_ascii_lowercase());
        if value.len() >= shortest && !is_about && !is_never_secret(value) && !is_placeholder(value)
        {
            self.secrets.add(value, true);
        }
    }

    /// Cookies are several secrets, and a name and a password may be encoded together.
    fn know_parts(&mut self, value: &[u8]) {
        if value.len() > LONGEST_LIST {
            return;
        }
        if value.contains(&b'=') {
            let parts = value.split(|byte| matches!(byte, b'=' | b';' | b',' | b' ' | b'"'));
            let parts = parts.filter(|part| part.len() >= SHORTEST_WORD && looks_random(part));
            parts.for_each(|part| self.know_secret(part));
        }
        let digits = value.strip_suffix(b"==").or(value.strip_suffix(b"=")).unwrap_or(value);
        if let Ok(text) = STANDARD_NO_PAD.decode(digits)
            && text.iter().all(|byte| (b' '..=b'~').contains(byte))
            && let Some(end) = memchr::memchr(b':', &text)
        {
            self.know_secret(text.get(end + 1..).unwrap_or_default());
        }
    }

    pub(super) fn know_user(&mut self, name: &[u8]) {
        if name.len() < SHORTEST_NAME || is_generic(name) || self.users.has(name) {
            return;
        }
        self.users.add(name, false);
        // Claude Code turns a path into one word: ann.lee is ann-lee in it.
        let letters = String::from_utf8_lossy(name);
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let dashed: String = letters.chars().map(plain).collect();
        if dashed.as_bytes() != name {
            let called = self.called(name, mask::USER);
            self.names.insert(dashed.clone().into_bytes(), called);
            self.users.add(dashed.as_bytes(), false);
        }
    }

    /// The replacement of a value. Counts it.
    pub(super) fn name(&mut self, kind: &'static str, value: &[u8], word: &str) -> String {
        self.counts.add(kind);
        self.called(value, word)
    }

    fn called(&mut self, value: &[u8], word: &str) -> String {
        let number = self.names.len() + 1;
        self.names.entry(value.to_vec()).or_insert_with(|| format!("{word}{number}")).clone()
    }

    /// The replacement of the value of a secret field.
    pub(super) fn secret(&mut self, value: &[u8]) -> String {
        self.know_secret(value);
        let word = if value.starts_with(b"sk-ant-") { mask::ANTHROPIC } else { mask::SECRET };
        self.name(KEYS, value, word)
    }

    /// The replacements in a text.
    pub(super) fn edits(&mut self, text: &[u8], place: Place) -> Vec<Edit> {
        let layers = Layer::all(text, 0);
        let mut claims = self.by_form(text, &layers, true);
        let people = self.people(text);
        if !self.only_learns {
            claims.extend(self.known_secrets(text, &layers, place));
            if place == Place::Free {
                claims.extend(self.known_people(text));
            }
        }
        claims.extend(people);
        let folders = self.folders(text, &claims);
        if !folders.is_empty() {
            claims.extend(folders);
            if place == Place::Free && !self.only_learns {
                claims.extend(self.known_people(text));
            }
        }
        claims.iter_mut().for_each(|claim| spare_escapes(text, &mut claim.span));
        settled(claims).into_iter().map(|claim| self.edit(claim)).collect()
    }

    /// The replacements in the name of a field: only what is certainly not a name of the wire.
    pub(super) fn edits_of_name(&mut self, name: &[u8]) -> Vec<Edit> {
        let is_word = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let claims = match is_word {
            false => return self.edits(name, Place::Free),
            true if self.only_learns => self.by_form(name, &[], false),
            true => {
                let mut claims = self.by_form(name, &[], false);
                claims.extend(self.known_secrets(name, &[], Place::Wire));
                claims
            }
        };
        settled(claims).into_iter().map(|claim| self.edit(claim)).collect()
    }

    fn edit(&mut self, claim: Claim) -> Edit {
        let new = match &claim.what {
            What::Secret(value) => {
                let word =
                    if value.starts_with(b"sk-ant-") { mask::ANTHROPIC } else { mask::SECRET };
                self.name(KEYS, value, word)
            }
            What::Email(value) => {
                let name = self.name("e-mail addresses", value, mask::USER);
                format!("{name}@example.com")
            }
            What::User(value) => self.name(USERS, value, mask::USER),
        };
        Edit { span: claim.span, new }
    }

    /// Secrets found by form or by name, in the text and in its layers.
    fn by_form(&mut self, text: &[u8], layers: &[Layer], is_source: bool) -> Vec<Claim> {
        let mut claims = self.private_keys(text, is_source);
        self.work += text.len() as u64;
        for Candidate { form, regex, parts } in forms::candidates(text) {
            let mut at = 0;
            for part in parts {
                at = at.max(part.start);
                let searched = text.get(..part.end).unwrap_or(text);
                while at <= searched.len()
                    && let Some(found) = regex.captures_at(searched, at)
                {
                    let Some(whole) = found.get(0) else { break };
                    let group = found.get(found.len() - 1).unwrap_or(whole);
                    self.work += (whole.end() - at) as u64;
                    at = whole.end().max(whole.start() + 1);
                    let Some(span) = extent(form, text, whole.range(), group.range()) else {
                        continue;
                    };
                    at = at.max(span.end);
                    self.work += span.len() as u64;
                    let value = text.get(span.clone()).unwrap_or_default();
                    if has_replaced(value)
                        || form.check.is_some_and(|check| !check(value))
                        || is_placeholder(value)
                    {
                        continue;
                    }
                    self.know_secret(value);
                    self.know_parts(value);
                    claims.push(Claim { what: What::Secret(value.to_vec()), span });
                }
                self.work += searched.len().saturating_sub(at) as u64;
            }
        }
        for layer in layers {
            claims.extend(in_source(self.by_form(layer.text(), &layer.layers, false), &layer.view));
        }
        claims
    }

    fn private_keys(&mut self, text: &[u8], is_source: bool) -> Vec<Claim> {
        let blocks = blocks::find(text, is_source && self.in_key);
        if is_source {
            self.in_key = blocks.is_open;
        }
        self.work += blocks.work;
        let claims = blocks.spans.into_iter().filter_map(|span| {
            let block = text.get(span.clone())?;
            let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
            let lines =
                block.split(|byte| !is_digit(byte)).filter(|line| line.len() >= LINE_OF_KEY);
            lines.take(64).for_each(|line| self.know_secret(line));
            (!has_replaced(block)).then(|| Claim { what: What::Secret(block.to_vec()), span })
        });
        claims.collect()
    }

    fn known_secrets(&mut self, text: &[u8], layers: &[Layer], place: Place) -> Vec<Claim> {
        let mut claims = Vec::new();
        self.work += text.len() as u64;
        self.secrets.find(text, |found| {
            let is_word = |value: &[u8]| {
                value.iter().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(byte))
            };
            if place == Place::Free || !is_word(found.value) {
                claims.push(Claim { span: found.span, what: What::Secret(found.value.to_vec()) });
            }
        });
        for layer in layers {
            let found = self.known_secrets(layer.text(), &layer.layers, place);
            claims.extend(in_source(found, &layer.view));
        }
        claims
    }

    fn people(&mut self, text: &[u8]) -> Vec<Claim> {
        let Some(places) = people::places(text) else { return Vec::new() };
        let mut claims = Vec::new();
        for found in places.captures_iter(text) {
            if let Some(email) = found.name("email") {
                if !is_public(email.as_bytes()) && !is_masked_address(email.as_bytes()) {
                    claims.push(Claim {
                        span: email.range(),
                        what: What::Email(email.as_bytes().to_vec()),
                    });
                }
            } else if let Some(home) = found.name("windows").or_else(|| found.name("home"))
                && !is_generic(home.as_bytes())
            {
                self.know_user(home.as_bytes());
                claims
                    .push(Claim { span: home.range(), what: What::User(home.as_bytes().to_vec()) });
            }
        }
        claims
    }

    /// Known user names, where they are separate words.
    fn known_people(&mut self, text: &[u8]) -> Vec<Claim> {
        let mut claims = Vec::new();
        self.users.find(text, |found| {
            let before = text.get(..found.span.start).unwrap_or_default();
            let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let continues = text.get(found.span.end).is_some_and(is_of_word);
            if !continues && starts_word(before) && !before.ends_with(b"_") {
                claims.push(Claim { span: found.span, what: What::User(found.value.to_vec()) });
            }
        });
        claims
    }

    /// User names in paths that were turned into one word, where nothing else was found.
    fn folders(&mut self, text: &[u8], claims: &[Claim]) -> Vec<Claim> {
        let Some(folders) = people::folders(text) else { return Vec::new() };
        let taken = settled(claims.to_vec());
        let mut found = Vec::new();
        for folder in folders.captures_iter(text).filter_map(|found| found.name("folder")) {
            let at = taken.partition_point(|claim| claim.span.end <= folder.start());
            let is_taken = taken.get(at).is_some_and(|claim| claim.span.start < folder.end());
            if is_taken || is_generic(folder.as_bytes()) {
                continue;
            }
            self.know_user(folder.as_bytes());
            found
                .push(Claim { span: folder.range(), what: What::User(folder.as_bytes().to_vec()) });
        }
        found
    }
}

fn is_masked_address(address: &[u8]) -> bool {
    let name = address.split(|byte| *byte == b'@').next().unwrap_or_default();
    name.starts_with(b"secret-") && is_replaced(name)
}

/// The extent of a secret of this form in a text.
fn extent(
    form: &Form,
    text: &[u8],
    whole: Range<usize>,
    group: Range<usize>,
) -> Option<Range<usize>> {
    match form.until {
        Until::Here => Some(group),
        Until::Not(also) => {
            let is_of_it = |byte: &&u8| byte.is_ascii_alphanumeric() || also.contains(byte);
            let more = text.get(whole.end..)?.iter().take_while(is_of_it).count();
            let mut end = whole.end + more;
            // A full stop is not a part of it.
            while end > whole.end && matches!(text.get(end - 1), Some(b'.' | b'-')) {
                end -= 1;
            }
            Some(group.start..end)
        }
        Until::Word => value::word(text, group.start),
        Until::Quoted => value::quoted(text, group.start),
        Until::Line => value::header(text, group.start),
        Until::Value => value::named(text, whole),
    }
}

/// Claims in a view, as claims in what it was made from.
fn in_source(claims: Vec<Claim>, view: &View) -> impl Iterator<Item = Claim> {
    claims.into_iter().map(|claim| Claim { span: view.source(&claim.span), what: claim.what })
}

/// Does not split an escape at an end of the span: the text must stay readable.
fn spare_escapes(text: &[u8], span: &mut Range<usize>) {
    let is_escaped = |at: usize| {
        let before = text.get(at.saturating_sub(16)..at).unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    };
    if is_escaped(span.start)
        && text.get(span.start).is_some_and(|byte| b"nrtbfu\"'\\/".contains(byte))
    {
        span.start += 1;
    }
    if span.end > span.start && is_escaped(span.end) && span.end < text.len() {
        span.end -= 1;
    }
    span.end = span.end.max(span.start);
}
