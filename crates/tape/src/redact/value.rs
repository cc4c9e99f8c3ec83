//! The extent of a value (a shell word, or the value after a name such as `password`), and whether it is a secret.
//!
//! Names such as `password` also occur before code, types and prose, so the text after the name must look like a value.

use std::ops::Range;

use super::judge::{
    describes_secret, is_code, is_never_secret, is_pattern, is_placeholder, is_prose, looks_random,
};
use super::mask::{ends_replaced, has_replaced, is_replaced};
use super::words::{KEYS, NOT_TELLING};

/// At most this much of a value is examined, so that no text takes long. A secret extends to its own end.
const JUDGED: usize = 512;

/// The longest text in quotes.
const LONGEST_QUOTED: usize = 1024;

/// The longest header of several words. The last word extends to its own end.
const LONGEST_HEADER: usize = 4096;

/// Whether this name, without its separators, ends in a kind of key that is secret.
pub(super) fn is_key_of_a_kind(joined: &str) -> bool {
    let kind = joined.strip_suffix("key");
    kind.is_some_and(|kind| KEYS.any(|known| kind.ends_with(*known)))
}

/// What kind of name it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Password,
    /// A secret, a token, or a secret kind of key.
    Secret,
    /// Some other token or key: its value must look like one.
    Vague,
}

/// A name that indicates a secret value.
#[derive(Debug)]
struct Named {
    lower: String,
    class: Class,
    /// `NAME=value`, as in an environment.
    is_env: bool,
    is_colon: bool,
    is_compared: bool,
    is_spaced: bool,
    /// The name is in quotes, as in JSON.
    is_quoted: bool,
}

/// The value after a name: `found` is the name's last word and the separator.
pub(super) fn named(text: &[u8], found: Range<usize>) -> Option<Range<usize>> {
    let name = Named::read(text, &found)?;
    let value = Value::read(text, found.end)?;
    let bytes = text.get(value.span.clone())?;
    name.takes(bytes, &value).then(|| value.whole(text))
}

/// A word of a shell, quoted or not.
pub(super) fn word(text: &[u8], at: usize) -> Option<Range<usize>> {
    let value = Value::read(text, at)?;
    let bytes = text.get(value.span.clone())?;
    let is_flag = bytes.starts_with(b"-") && bytes.len() < 12 && !looks_random(bytes);
    (!is_flag && !is_placeholder(bytes) && !is_never_secret(bytes) && !value.is_called)
        .then(|| value.whole(text))
}

/// A text in quotes.
pub(super) fn quoted(text: &[u8], at: usize) -> Option<Range<usize>> {
    // In prose, backticks are around names.
    let value =
        Value::read(text, at).filter(|value| value.is_quoted && text.get(at) != Some(&b'`'))?;
    let bytes = text.get(value.span.clone())?;
    let is_said = bytes.contains(&b' ') && is_prose(&bytes.to_ascii_lowercase());
    (!is_said && !is_placeholder(bytes) && !is_never_secret(bytes)).then_some(value.span)
}

/// To the end of a header: more than one word only if the one before ends in a comma or semicolon.
pub(super) fn header(text: &[u8], at: usize) -> Option<Range<usize>> {
    let mut end = at;
    let mut quote = None;
    for (offset, byte) in text.get(at..)?.iter().enumerate().take(LONGEST_HEADER) {
        let before = text.get(..at + offset).and_then(<[u8]>::last);
        match (byte, quote) {
            (byte, Some(open)) if *byte == open => quote = None,
            (b'\n' | b'\r' | b'\\' | b'<' | b'>' | 0..=8 | 0x1b, _) => break,
            (_, Some(_)) => {}
            (b'&', None) if is_entity(text.get(at + offset + 1..).unwrap_or_default()) => break,
            (b'"' | b'\'' | b'`', None) if before == Some(&b'=') => quote = Some(*byte),
            (b'"' | b'\'' | b'`', None) => break,
            (b' ' | b'\t', None) if matches!(before, Some(b',' | b';')) => continue,
            (b' ' | b'\t', None) => break,
            _ => {}
        }
        end = at + offset + 1;
    }
    if end == at + LONGEST_HEADER {
        end = run_end(text, end);
    }
    while end > at && matches!(text.get(end - 1), Some(b',' | b';' | b' ' | b'.')) {
        end -= 1;
    }
    let bytes = text.get(at..end)?;
    let is_one = looks_random(bytes) || bytes.len() >= 8;
    (is_one && !is_placeholder(bytes) && !is_replaced(bytes)).then_some(at..end)
}

impl Named {
    fn read(text: &[u8], found: &Range<usize>) -> Option<Self> {
        let before = text.get(found.start.saturating_sub(64)..found.start)?;
        let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let prefix = before.iter().rev().take_while(is_of_name).count();
        let start = found.start - prefix;
        let matched = text.get(found.clone())?;
        let word = matched.iter().take_while(is_of_name).count();
        let name = text.get(start..found.start + word)?;
        let between = text.get(found.start + word..found.end)?;
        let lower = String::from_utf8_lossy(name).to_ascii_lowercase();
        let joined: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
        let stem = joined.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if NOT_TELLING.any(|other| stem.ends_with(*other)) {
            return None;
        }
        // A replacement is not a name.
        if ends_replaced(name) {
            return None;
        }
        let is_upper = name.iter().all(|byte| !byte.is_ascii_lowercase());
        let has_parts = prefix > 0 && before.last().is_some_and(|byte| b"_-.".contains(byte));
        let class = match stem {
            "pwd" | "oldpwd" if is_upper => return None,
            _ if stem.contains("passw")
                || stem.contains("passphrase")
                || stem.ends_with("passcode") =>
            {
                Class::Password
            }
            _ if stem.ends_with("pwd") => Class::Password,
            _ if stem.ends_with("pass") && (has_parts || (is_upper && prefix > 0)) => {
                Class::Password
            }
            _ if stem.ends_with("pass") => Class::Vague,
            "token" if !(is_upper && between == b"=") => Class::Vague,
            _ if stem.contains("secret")
                || stem.contains("token")
                || stem.contains("credential") =>
            {
                Class::Secret
            }
            _ if stem.contains("mnemonic")
                || stem.contains("phrase")
                || stem.contains("recovery") =>
            {
                Class::Secret
            }
            "auth" => Class::Secret,
            _ if is_key_of_a_kind(stem) => Class::Secret,
            _ if stem.ends_with("key") && is_upper && prefix > 0 => Class::Vague,
            _ => return None,
        };
        let is_compared = between.windows(2).any(|two| two == b"==" || two == b"!=");
        let is_quoted = between.iter().any(|byte| matches!(byte, b'"' | b'\''));
        let is_colon = between.contains(&b':') && !between.contains(&b'=');
        let is_spaced = between.iter().any(|byte| byte.is_ascii_whitespace());
        // A part of a longer name: `arn:aws:secretsmanager:eu-west-1:1:secret:x`.
        let is_within = is_colon && start > 0 && text.get(start - 1) == Some(&b':');
        if is_within {
            return None;
        }
        let is_env = is_upper && !is_spaced && !is_colon && !is_compared;
        Some(Self { lower: joined, class, is_env, is_colon, is_compared, is_spaced, is_quoted })
    }

    /// Whether this value is secret, given its name.
    fn takes(&self, bytes: &[u8], value: &Value) -> bool {
        if has_replaced(bytes) || is_placeholder(bytes) || value.is_called {
            return false;
        }
        let lower = bytes.to_ascii_lowercase();
        let is_word = bytes.iter().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(byte));
        let random = looks_random(bytes);
        let strong =
            random || bytes.iter().any(|byte| b"!@#$%^&*+=?~/".contains(byte) || *byte >= 0x80);
        let is_folder = bytes.starts_with(b"/") || bytes.starts_with(b"~");
        if is_folder && self.lower.ends_with("pwd") {
            return false;
        }
        if self.class == Class::Vague && !(random && bytes.len() >= 6) {
            return false;
        }
        if self.is_env && !value.is_quoted {
            let is_path =
                bytes.starts_with(b"/") || bytes.starts_with(b"./") || bytes.starts_with(b"~/");
            let is_none =
                matches!(&*lower, b"none" | b"null" | b"nil" | b"true" | b"false" | b"undefined");
            return !is_none
                && !(is_path && (self.class != Class::Password || self.lower.ends_with("pwd")));
        }
        if self.is_env && self.class != Class::Vague && !is_pattern(bytes) {
            return !is_never_secret(bytes) || bytes.is_empty();
        }
        // An address with a password in it is found by its form.
        let is_address = memchr::memmem::find(bytes, b"://").is_some_and(|at| at < 16);
        if is_address || is_never_secret(bytes) || self.is_same(&lower) {
            return false;
        }
        if value.is_quoted {
            let is_prose = (lower.contains(&b' ') && is_prose(&lower)) || is_pattern(bytes);
            return match () {
                () if is_prose => false,
                () if self.is_compared || (self.is_colon && !self.is_quoted) => {
                    bytes.len() >= 4
                        && (strong || self.class == Class::Password || bytes.len() >= 8)
                }
                () => bytes.len() >= 3,
            };
        }
        if is_code(bytes) {
            return false;
        }
        let is_camel = is_word && bytes.iter().any(u8::is_ascii_uppercase);
        match (self.is_colon || self.is_spaced, self.class) {
            _ if self.is_compared => false,
            // `password=1234`
            _ if !bytes.iter().any(u8::is_ascii_alphabetic) => {
                self.class == Class::Password
                    && bytes.len() >= 4
                    && (!self.is_spaced || value.ends_line)
            }
            (false, _) => !(is_word && describes_secret(&lower)) && bytes.len() >= 3,
            _ if strong => {
                (bytes.len() >= 6 || self.class == Class::Password)
                    && !self.is_code_like(bytes, value)
            }
            (true, Class::Password) => {
                value.ends_line
                    && is_word
                    && !is_camel
                    && bytes.len() >= 4
                    && !describes_secret(&lower)
            }
            (true, _) => {
                let is_lower = bytes.iter().all(u8::is_ascii_lowercase);
                value.ends_line && is_lower && bytes.len() >= 12 && !describes_secret(&lower)
            }
        }
    }

    /// Whether the value repeats the name: `token: token`.
    fn is_same(&self, lower: &[u8]) -> bool {
        let joined: Vec<u8> = lower.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        joined == self.lower.as_bytes()
    }

    /// `token = tok2;`, `secret: Vec2,`: a name with a digit at its end, in code.
    fn is_code_like(&self, bytes: &[u8], value: &Value) -> bool {
        let stem = bytes.iter().rev().skip_while(|byte| byte.is_ascii_digit()).count();
        let is_name = stem > 0
            && bytes.iter().take(stem).all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && bytes.len() - stem <= 2;
        let is_descriptive = describes_secret(&bytes.to_ascii_lowercase());
        match self.class {
            Class::Password => {
                is_name
                    && (is_descriptive
                        || (bytes.len() < 6 && matches!(value.after, Some(b',' | b';' | b')'))))
            }
            _ => is_name && (is_descriptive || !value.ends_line),
        }
    }
}

/// A value and its surroundings.
#[derive(Debug)]
struct Value {
    span: Range<usize>,
    is_quoted: bool,
    /// Nothing follows in its line.
    ends_line: bool,
    /// It is a call or an index expression: `get(…)`, `list[…]`.
    is_called: bool,
    /// The next byte.
    after: Option<u8>,
}

impl Value {
    fn read(text: &[u8], at: usize) -> Option<Self> {
        let rest = text.get(at..)?;
        // Python and Rust mark their strings.
        let mark = match rest {
            [b'f' | b'b' | b'r' | b'u' | b'L' | b'@' | b'$', b'"' | b'\'', ..] => 1,
            _ => 0,
        };
        let unmarked = rest.get(mark..)?;
        let slashes = unmarked.iter().take(8).take_while(|byte| **byte == b'\\').count();
        if let Some(quote @ (b'"' | b'\'' | b'`')) = unmarked.get(slashes).copied()
            && let Some(inside) = in_quotes(unmarked, slashes, quote)
        {
            let start = at + mark + inside.start;
            let span = start..start + inside.len();
            return Some(Self {
                span,
                is_quoted: true,
                ends_line: false,
                is_called: false,
                after: None,
            });
        }
        let start = at + usize::from(matches!(rest.first(), Some(b'"' | b'\'' | b'`')));
        let run = text.get(start..)?;
        let judged = run.iter().take(JUDGED).take_while(|byte| !is_end(**byte)).count();
        let run = run.get(..judged)?;
        let is_called = {
            let name = run
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.:$?!".contains(byte))
                .count();
            name > 0 && matches!(run.get(name), Some(b'(' | b'['))
                || run.starts_with(b"(")
                || run.starts_with(b"[")
        };
        let value = trimmed(run);
        let after = text.get(start + value.len()..)?;
        let ends_line = match after.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
            None | Some(b'\n' | b'\r' | b'#') => true,
            Some(_) => false,
        };
        let span = start..start + value.len();
        (!span.is_empty()).then_some(Self {
            span,
            is_quoted: false,
            ends_line,
            is_called,
            after: after.first().copied(),
        })
    }
}

impl Value {
    /// All of it, however long.
    fn whole(self, text: &[u8]) -> Range<usize> {
        let is_cut = !self.is_quoted && self.span.len() == JUDGED;
        if is_cut { self.span.start..run_end(text, self.span.end) } else { self.span }
    }
}

/// The end of the word that continues here.
fn run_end(text: &[u8], from: usize) -> usize {
    from + text.get(from..).unwrap_or_default().iter().take_while(|byte| !is_end(**byte)).count()
}

/// Whether a value that is not in quotes ends here.
fn is_end(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'|')
}

/// The text between the quotes at the start of this text. The quotes may be escaped.
fn in_quotes(text: &[u8], slashes: usize, quote: u8) -> Option<Range<usize>> {
    let triple = [quote; 3];
    let is_triple = slashes == 0 && text.starts_with(&triple);
    let start = if is_triple { 3 } else { slashes + 1 };
    let mut run = 0;
    for (offset, byte) in text.get(start..)?.iter().enumerate().take(LONGEST_QUOTED) {
        match byte {
            b'\\' => {
                run += 1;
                continue;
            }
            b'\n' if !is_triple => return None,
            byte if *byte == quote
                && is_triple
                && text.get(start + offset..)?.starts_with(&triple) =>
            {
                return Some(start..start + offset);
            }
            byte if *byte == quote && is_triple => {}
            // A quote in the text has one backslash more than those around it, and doubles theirs.
            byte if *byte == quote && run <= slashes => return Some(start..start + offset - run),
            _ => {}
        }
        run = 0;
    }
    None
}

/// A value without punctuation of the text around it.
fn trimmed(run: &[u8]) -> &[u8] {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-[]".contains(byte);
    let mut end = run.len();
    for (at, byte) in run.iter().enumerate().take(JUDGED) {
        let rest = run.get(at + 1..).unwrap_or_default();
        let next = rest.first();
        let ends = match byte {
            b';' => true,
            b',' => {
                next.is_none_or(|next| matches!(next, b'{' | b'[')) || begins_another(rest, is_name)
            }
            b'&' => begins_another(rest, is_name) || next == Some(&b'&') || is_entity(rest),
            b'\\' => matches!(
                next,
                None | Some(b'n' | b'r' | b't' | b'u' | b'x' | b'\\' | b'"' | b'\'' | b'/')
            ),
            _ => false,
        };
        if ends {
            end = at;
            break;
        }
    }
    let mut value = run.get(..end).unwrap_or(run);
    while let Some(last) = value.last() {
        let opening = match last {
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            b'.' | b',' | b':' => 0,
            _ => break,
        };
        let head = value.get(..value.len().min(JUDGED)).unwrap_or(value);
        if opening != 0 && head.contains(&opening) {
            break;
        }
        value = value.get(..value.len() - 1).unwrap_or_default();
    }
    value
}

/// Whether another name and its value begin here: `&user=ann`.
fn begins_another(rest: &[u8], is_name: impl Fn(&u8) -> bool) -> bool {
    let name = rest.iter().take(64).take_while(|byte| is_name(byte)).count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

/// Whether this is the rest of an entity of HTML: `quot;`.
fn is_entity(rest: &[u8]) -> bool {
    let name = rest
        .iter()
        .take(8)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#')
        .count();
    name >= 2 && rest.get(name) == Some(&b';')
}
