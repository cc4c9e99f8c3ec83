//! What the fuzz targets share: a second opinion on JSON.

pub mod typed;

use duologue_protocol::FaultKind;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// Whether `serde_json` takes this as JSON. It passes over the value without reading it, so that
/// depth, lone surrogates and the range of numbers do not matter: only the grammar does.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a fault says that the text is no JSON.
pub fn is_syntax(kind: &FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::NotUtf8 | FaultKind::Truncated | FaultKind::Trailing | FaultKind::Syntax(_)
    )
}

/// What a valid JSON text says. Lone surrogates are spelled out, depth has no limit; `None` if
/// there is a number that no double can hold, the one thing left that `serde_json` refuses.
pub fn meaning(json: &str) -> Option<Value> {
    let spelled = spell_lone_surrogates(json);
    let mut reader = serde_json::Deserializer::from_str(&spelled);
    reader.disable_recursion_limit();
    match Value::deserialize(&mut reader) {
        Ok(value) => Some(value),
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("number out of range"), "{error}: {json}");
            None
        }
    }
}

/// Doubles the backslash of each surrogate escape that has no partner.
fn spell_lone_surrogates(json: &str) -> String {
    let unit = |at: usize| {
        let hex = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
        let length = match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                out.push('\\');
                out.push_str(&rest[..6].to_lowercase());
                at += 6;
                continue;
            }
            _ if rest.starts_with('\\') => 2,
            _ => rest.find('\\').unwrap_or(rest.len()),
        };
        out.push_str(&rest[..length]);
        at += length;
    }
    out
}

/// Every value that an object has under `type`, in order: `serde_json` alone keeps the last.
pub struct Types(pub Vec<Value>);

impl<'de> Deserialize<'de> for Types {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Types(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Types {
    type Value = Self;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value::<Value>()?;
            if key == "type" {
                self.0.push(value);
            }
        }
        Ok(self)
    }
}
