//! JSON for comparisons.

use serde_json::Value;

/// Parses JSON that can have lone surrogates, which serde_json rejects: their escapes become text.
///
/// # Panics
/// If it is not JSON: the test has failed.
#[expect(clippy::panic, reason = "a test whose JSON is broken must fail")]
pub fn value(json: &str) -> Value {
    let json = json.strip_prefix('\u{feff}').unwrap_or(json);
    serde_json::from_str(json).unwrap_or_else(|_| {
        let spelled = spell_lone_surrogates(json);
        serde_json::from_str(&spelled).unwrap_or_else(|error| panic!("{error}: {spelled}"))
    })
}

/// Doubles the backslash of each surrogate escape that has no partner.
fn spell_lone_surrogates(json: &str) -> String {
    let unit = |at: usize| {
        let hex = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(hex, 16).ok()
    };
    let mut out = String::new();
    let mut at = 0;
    while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => {
                out.push_str(&json[at..at + 12]);
                at += 12;
            }
            Some(0xD800..=0xDFFF) => {
                out.push('\\');
                out.push_str(&json[at..at + 6].to_lowercase());
                at += 6;
            }
            _ if rest.starts_with('\\') => {
                out.push_str(&json[at..at + 2]);
                at += 2;
            }
            _ => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                out.push_str(&rest[..length]);
                at += length;
            }
        }
    }
    out
}
