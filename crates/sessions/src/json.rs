//! Looking into JSON without building trees.
//!
//! A transcript may hold gigabytes in a few lines, so values are looked at as they stand. Lone surrogates, which Claude Code
//! does write, are accepted, and of two fields with the same name the last counts: both as in JavaScript.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The values of these fields as they stand. `None` if the text is not one JSON object.
pub(crate) fn fields<'l, const N: usize>(
    text: &'l str,
    names: &[&str; N],
) -> Option<[Option<&'l str>; N]> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let found = parser.deserialize_map(Fields { names }).ok()?;
    parser.end().ok()?;
    Some(found)
}

/// All fields of an object in their order: names as texts, values as they stand.
pub(crate) fn all_fields(text: &str) -> Option<Vec<(String, &str)>> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let found = parser.deserialize_map(AllFields).ok()?;
    parser.end().ok()?;
    Some(found)
}

/// The elements of an array as they stand. Empty if it is none.
pub(crate) fn elements(text: &str) -> Vec<&str> {
    if !text.starts_with('[') {
        return Vec::new();
    }
    serde_json::Deserializer::from_str(text).deserialize_seq(Elements).unwrap_or_default()
}

/// The text of a string. `None` if it is none.
pub(crate) fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let bytes = serde_json::Deserializer::from_str(text).deserialize_bytes(Bytes).ok()?;
    Some(Cow::Owned(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    ))
}

/// Whether JavaScript takes the value for true.
pub(crate) fn is_truthy(text: &str) -> bool {
    match text {
        "false" | "null" | "\"\"" => false,
        _ if text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) => {
            text.parse::<f64>().is_ok_and(|number| number != 0.0)
        }
        _ => true,
    }
}

/// A text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Fields<'n, const N: usize> {
    names: &'n [&'n str; N],
}

impl<'l, const N: usize> Visitor<'l> for Fields<'_, N> {
    type Value = [Option<&'l str>; N];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(place) = map.next_key_seed(Place { names: self.names })? {
            match place.and_then(|place| found.get_mut(place)) {
                Some(slot) => *slot = Some(map.next_value::<&RawValue>()?.get()),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// Finds the place of a key in the list of names.
struct Place<'n, const N: usize> {
    names: &'n [&'n str; N],
}

impl<'l, const N: usize> DeserializeSeed<'l> for Place<'_, N> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'l>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<const N: usize> Visitor<'_> for Place<'_, N> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.names.iter().position(|name| *name == key))
    }
}

struct AllFields;

impl<'l> Visitor<'l> for AllFields {
    type Value = Vec<(String, &'l str)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found: Self::Value = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value::<&RawValue>()?.get();
            match found.iter_mut().find(|(name, _)| *name == key) {
                Some(same) => same.1 = value,
                None => found.push((key, value)),
            }
        }
        Ok(found)
    }
}

struct Elements;

impl<'l> Visitor<'l> for Elements {
    type Value = Vec<&'l str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'l>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(element) = seq.next_element::<&RawValue>()? {
            found.push(element.get());
        }
        Ok(found)
    }
}

/// A string that may hold lone surrogates.
struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_as_they_stand() {
        let text = r#"{"a": [1, {"b":2}], "c":"x\ud83ey", "a" :null, "d":"\ud83e\udd80"}"#;
        let found = fields(text, &["a", "c", "e"]);
        assert_eq!(found, Some([Some("null"), Some(r#""x\ud83ey""#), None]));
        assert_eq!(
            string(r#""x\ud83ey""#).as_deref().map(|text| text.starts_with('x')),
            Some(true)
        );
        assert_eq!(string(r#""\ud83e\udd80""#).as_deref(), Some("🦀"));
        assert_eq!(fields::<1>("[]", &["a"]), None);
        assert_eq!(fields::<1>(r#"{"a":1"#, &["a"]), None);
        assert_eq!(fields::<1>(r#"{"a":1}{"#, &["a"]), None);
    }

    #[test]
    fn truth_is_that_of_javascript() {
        for text in ["false", "null", "\"\"", "0", "-0", "0.0"] {
            assert!(!is_truthy(text), "{text}");
        }
        for text in ["true", "\"x\"", "1", "{}", "[]"] {
            assert!(is_truthy(text), "{text}");
        }
    }
}
