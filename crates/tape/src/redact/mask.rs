//! Replacements: how they are written and recognised.

use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

/// The replacement of an Anthropic key. It keeps the prefix, which programs check.
pub(super) const ANTHROPIC: &str = "sk-ant-redacted-";
pub(super) const SECRET: &str = "secret-";
pub(super) const ACCOUNT: &str = "account-";
pub(super) const CHOSEN: &str = "redacted-";
pub(super) const USER: &str = "user";

/// Whether this is a replacement.
pub(super) fn is_replaced(value: &[u8]) -> bool {
    let value = value.strip_suffix(b"@example.com").unwrap_or(value);
    [SECRET, ANTHROPIC, ACCOUNT, CHOSEN, USER].iter().any(|word| {
        let number = value.strip_prefix(word.as_bytes());
        number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    })
}

/// Whether a part of this value is a replacement. The rest of it is not secret.
pub(super) fn has_replaced(value: &[u8]) -> bool {
    let words = [SECRET, CHOSEN].map(str::as_bytes);
    words.iter().any(|word| {
        memmem::find_iter(value, word)
            .any(|at| value.get(at + word.len()).is_some_and(u8::is_ascii_digit))
    })
}

/// Whether this ends in a replacement.
pub(super) fn ends_replaced(name: &[u8]) -> bool {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let word = name.get(..name.len() - digits).unwrap_or_default();
    digits > 0 && [SECRET, ACCOUNT, CHOSEN].iter().any(|mask| word.ends_with(mask.as_bytes()))
}

/// A replacement.
static MASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:sk-ant-redacted-|secret-|account-|redacted-)[0-9]+|user[0-9]+(?:@example\.com)?",
    )
    .ok()
});

/// Whether the first could become the second by redaction.
pub(crate) fn is_masked(text: &str, redacted: &str) -> bool {
    let Some(mask) = &*MASK else { return false };
    let pieces: Vec<&str> = mask.split(redacted).collect();
    let [first, middle @ .., last] = pieces.as_slice() else { return false };
    let rest = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    let follow = |rest, piece: &&str| str::split_once(rest, *piece).map(|(_, rest)| rest);
    rest.is_some_and(|rest| middle.iter().try_fold(rest, follow).is_some())
}
