//! Personal names: e-mail addresses, home folders, and the names in them.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::mask::is_replaced;

/// User names that are not personal.
const GENERIC: &[&str] = &[
    "root",
    "user",
    "users",
    "home",
    "claude",
    "admin",
    "test",
    "tests",
    "node",
    "app",
    "dev",
    "bin",
    "shared",
    "public",
    "runner",
    "work",
    "workspace",
    "src",
    "example",
    "you",
    "name",
    "me",
];

/// Addresses and folders. A text may quote JSON, and then `\nann` is a line end and a name. That is why a word may
/// begin after an escape.
static PLACES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled(
        r#"
  (?:\\[nrtbf]|\\u[0-9A-Fa-f]{4})?
  (?P<email>[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}\.[A-Za-z]{2,24})
| :\\+Users\\+(?P<windows>[^\s\\/:*?"<>|]{1,64}(?:\ [^\s\\/:*?"<>|]{1,64}){0,3})\\
| (?:(?:/|%2[Ff])(?:home|Users)(?:/|%2[Ff])|:\\+Users\\+)
  (?P<home>[A-Za-z0-9_\x80-\xff](?:[A-Za-z0-9._\x80-\xff-]{0,64}[A-Za-z0-9_\x80-\xff])?)
"#,
    )
});

/// Claude Code turns a path into one word. Where a name ends in it is known only if the name is, so this comes last.
static FOLDERS: LazyLock<Option<Regex>> =
    LazyLock::new(|| compiled(r"-(?:home|Users)-(?P<folder>[A-Za-z0-9]{1,64})"));

fn compiled(expression: &str) -> Option<Regex> {
    RegexBuilder::new(expression).ignore_whitespace(true).unicode(false).build().ok()
}

/// What finds addresses and home folders, if there can be any in this text.
pub(super) fn places(text: &[u8]) -> Option<&'static Regex> {
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    (memchr::memchr(b'@', text).is_some() || has(b"home") || has(b"Users"))
        .then(|| PLACES.as_ref())?
}

/// What finds names in paths that are one word.
pub(super) fn folders(text: &[u8]) -> Option<&'static Regex> {
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    (has(b"-home-") || has(b"-Users-")).then(|| FOLDERS.as_ref())?
}

/// Whether this name is not personal.
pub(super) fn is_generic(name: &[u8]) -> bool {
    GENERIC.iter().any(|generic| generic.as_bytes().eq_ignore_ascii_case(name)) || is_replaced(name)
}

/// Whether this address is public.
pub(super) fn is_public(address: &[u8]) -> bool {
    address.ends_with(b"@example.com") || address == b"noreply@anthropic.com"
}
