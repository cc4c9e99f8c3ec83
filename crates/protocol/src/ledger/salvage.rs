//! [`Salvage`]: single fields of a line that could not be decoded.

use std::borrow::Cow;

use memchr::memmem;

use crate::json::Parser;

/// Keys of a result that no other line has at its top.
const KEYS_OF_A_RESULT: [&str; 6] = [
    "num_turns",
    "total_cost_usd",
    "duration_api_ms",
    "permission_denials",
    "modelUsage",
    "terminal_reason",
];

/// How a result begins.
const START_OF_A_RESULT: &[u8] = br#"{"type":"result""#;
/// How much of that distinguishes it from every other line.
const ENOUGH: usize = br#"{"type":"re"#.len();

/// A line that could not be decoded: broken JSON, a field of the wrong type, not UTF-8, or only the beginning of a line
/// that is too long.
///
/// Quotes inside JSON strings are escaped, so `"key":` in the bytes is a key of an object.
#[derive(Debug)]
pub(crate) struct Salvage<'l> {
    text: Cow<'l, str>,
}

impl<'l> Salvage<'l> {
    pub(crate) fn of(bytes: &'l [u8]) -> Self {
        Self { text: String::from_utf8_lossy(bytes) }
    }

    /// The `type`, if it can be read.
    pub(crate) fn kind(&self) -> Option<Cow<'_, str>> {
        let text = self.text.trim_start_matches('\u{feff}');
        Parser::borrowed(text).peek_tag("type").ok()
    }

    /// The first string with this key.
    pub(crate) fn string(&self, key: &str) -> Option<&str> {
        string(self.value(key)?).map(|(text, _)| text)
    }

    /// The first list of strings with this key.
    pub(crate) fn strings(&self, key: &str) -> Vec<&str> {
        let mut found = Vec::new();
        let Some(mut rest) = self.value(key).and_then(|value| value.strip_prefix('[')) else {
            return found;
        };
        while let Some((text, after)) = string(rest.trim_start()) {
            found.push(text);
            let Some(next) = after.trim_start().strip_prefix(',') else { break };
            rest = next;
        }
        found
    }

    /// Whether this key has an object.
    pub(crate) fn has_object(&self, key: &str) -> bool {
        self.value(key).is_some_and(|value| value.starts_with('{'))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Whether it has keys of a result, or is cut off after the beginning of one.
    pub(crate) fn looks_like_a_result(&self) -> bool {
        let bytes = self.text.as_bytes();
        KEYS_OF_A_RESULT.iter().filter(|key| self.has(key)).count() >= 2
            || (bytes.len() >= ENOUGH && START_OF_A_RESULT.starts_with(bytes))
    }

    /// Whether it looks like a message, and not like printed text.
    pub(crate) fn looks_like_a_message(&self) -> bool {
        self.text.trim_start_matches('\u{feff}').trim_start().starts_with('{') || self.has("type")
    }

    /// What follows the first such key.
    fn value(&self, key: &str) -> Option<&str> {
        let quoted = format!("\"{key}\"");
        let found = memmem::find_iter(self.text.as_bytes(), &quoted);
        found.filter_map(|at| self.text.get(at + quoted.len()..)).find_map(|rest| {
            let value = rest.trim_start().strip_prefix(':')?;
            Some(value.trim_start())
        })
    }
}

/// The string at the beginning, and what follows it. Strings with escapes are not read: ids have none.
fn string(text: &str) -> Option<(&str, &str)> {
    let (text, rest) = text.strip_prefix('"')?.split_once('"')?;
    (!text.contains('\\')).then_some((text, rest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use super::*;

    #[test]
    fn fields_are_found_in_a_broken_line() {
        let broken = br#"{"type":"result","result":"say \"uuid\":\"no\"" oops \xff "user_message_uuids" : [ "a" , "b" ], "uuid":"u"#;
        let salvage = Salvage::of(broken);
        assert_eq!(salvage.kind().unwrap(), "result");
        assert_eq!(salvage.strings("user_message_uuids"), ["a", "b"]);
        assert_eq!(salvage.string("uuid"), None, "it has no end");
        assert!(salvage.strings("uuid").is_empty());
    }

    #[test]
    fn a_result_is_known_by_its_keys_or_its_first_bytes() {
        for line in [
            &br#"{"tyqe":"result","num_turns":1,"total_cost_usd":0}"#[..],
            br#"{"type":"re"#,
            br#"{"type":"resul"#,
        ] {
            assert!(Salvage::of(line).looks_like_a_result(), "{line:?}");
        }
        for line in [&br#"{"type":"r"#[..], br#"{"type":"rate_limit_event","num_turns":1}"#] {
            assert!(!Salvage::of(line).looks_like_a_result(), "{line:?}");
        }
    }
}
