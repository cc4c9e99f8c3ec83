//! [`RawJson`]: a value that is carried, not understood.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fault::Fault;
use super::parser::{Kind, Parser};
use super::scan::without_lone_surrogates;
use super::writer::Writer;
use crate::text::{Source, Text};
use crate::wire::{Schemas, Sealed, Wire};

/// A JSON value, kept as text: tool inputs, tool results, settings, unknown fields.
///
/// It is valid JSON, shares the memory of its line, and is decoded on request.
///
/// ```
/// use duologue_wire::RawJson;
///
/// let input = RawJson::parse(r#"{"command": "ls"}"#)?;
/// assert_eq!(input.get("command").unwrap().as_str().unwrap(), "ls");
/// assert_eq!(input.to_value()?["command"], "ls");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct RawJson(Text);

impl RawJson {
    pub(crate) fn from_valid(text: Text) -> Self {
        Self(text)
    }

    /// Takes a text that must be one JSON value.
    ///
    /// # Errors
    /// If it is not.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let mut parser = Parser::borrowed(text);
        let value = parser.raw()?;
        parser.end()?;
        Ok(value)
    }

    /// Any value that serde can write.
    ///
    /// # Errors
    /// If it cannot be written as JSON, for example a map whose keys are not strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(|json| Self(Text::from(json)))
    }

    /// Any value of this crate.
    pub fn from_wire<T: Wire>(value: &T) -> Self {
        Self(Text::from(value.to_json()))
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        self.0.as_str()
    }

    /// Reads the value into any type of yours.
    ///
    /// # Errors
    /// If the value has another shape.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_json())
    }

    /// Reads the value as a tree.
    ///
    /// # Errors
    /// If it holds a lone surrogate, a number that no double can hold, or nests more than 128 levels
    /// deep: `serde_json` refuses those.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        self.to()
    }

    /// Reads the value as a tree, with U+FFFD in place of lone surrogates.
    ///
    /// ```
    /// use duologue_wire::RawJson;
    ///
    /// let half = RawJson::parse(r#"["cut \ud83e off", "\ud83e\udd80"]"#)?;
    /// assert!(half.to_value().is_err());
    /// assert_eq!(half.to_value_lossy().unwrap(), serde_json::json!(["cut \u{fffd} off", "🦀"]));
    /// # Ok::<(), duologue_wire::Fault>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_value`](Self::to_value), for other reasons.
    pub fn to_value_lossy(&self) -> Result<Value, serde_json::Error> {
        self.to_value().or_else(|error| match without_lone_surrogates(self.as_json()) {
            Some(mended) => serde_json::from_str(&mended),
            None => Err(error),
        })
    }

    /// Reads the value as one of this crate's types.
    ///
    /// # Errors
    /// If a field has the wrong JSON type or a tag is missing.
    pub fn read<T: Wire>(&self) -> Result<T, Fault> {
        match self.0.shared() {
            Some((source, start, end)) => read(Parser::new(source).within(start, end)),
            None => read(Parser::new(&Source::from(self.as_json()))),
        }
    }

    /// The field of that name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<Self> {
        let mut parser = Parser::borrowed(self.as_json());
        parser.enter_object().ok()?;
        let mut first = true;
        let mut found = None;
        while let Some(key) = parser.next_key(&mut first).ok()? {
            if *key == *name {
                found = Some(parser.raw().ok()?);
            } else {
                parser.skip().ok()?;
            }
        }
        found
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<Text> {
        Parser::borrowed(self.as_json()).string().ok()
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.as_json() == "null"
    }

    /// The same value on one line: white space between its parts is dropped where it holds newlines.
    pub(crate) fn write_on_one_line(&self, out: &mut Writer) {
        let json = self.as_json();
        if memchr::memchr(b'\n', json.as_bytes()).is_none() {
            out.verbatim(json);
            return;
        }
        // A newline in valid JSON is white space: inside a string it would be an escape.
        let mut compact = String::with_capacity(json.len());
        let mut in_string = false;
        let mut escape = false;
        for character in json.chars() {
            match character {
                _ if escape => escape = false,
                '\\' if in_string => escape = true,
                '"' => in_string = !in_string,
                ' ' | '\t' | '\n' | '\r' if !in_string => continue,
                _ => {}
            }
            compact.push(character);
        }
        out.verbatim(&compact);
    }
}

/// A [`RawJson`] that is known to be an object: the input of a tool, settings, a JSON Schema.
///
/// ```
/// use duologue_wire::RawObject;
/// use serde_json::json;
///
/// let input = RawObject::of(&json!({ "command": "ls" }))?;
/// assert_eq!(input.get("command").unwrap().as_str().unwrap(), "ls");
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct RawObject(RawJson);

impl RawObject {
    /// Takes any value that serde writes as an object.
    ///
    /// # Errors
    /// If it is written as something else.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Fault> {
        let json = serde_json::to_string(value).unwrap_or_default();
        Self::from_json(&json)
    }

    /// Any value of this crate that is an object; `None` if it is something else.
    pub fn from_wire<T: Wire>(value: &T) -> Option<Self> {
        Self::from_json(&value.to_json()).ok()
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        self.0.as_json()
    }
}

impl Deref for RawObject {
    type Target = RawJson;

    fn deref(&self) -> &RawJson {
        &self.0
    }
}

impl Default for RawObject {
    fn default() -> Self {
        Self(RawJson(Text::from_static("{}")))
    }
}

impl From<serde_json::Map<String, Value>> for RawObject {
    fn from(object: serde_json::Map<String, Value>) -> Self {
        Self(RawJson::from(Value::Object(object)))
    }
}

impl fmt::Debug for RawObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

impl Sealed for RawObject {}

impl Wire for RawObject {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        match parser.kind()? {
            Kind::Object => parser.raw().map(Self),
            other => Err(parser.wrong_type("an object", other)),
        }
    }

    fn encode(&self, out: &mut Writer) {
        self.0.encode(out);
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "object" })
    }
}

fn read<T: Wire>(mut parser: Parser<'_>) -> Result<T, Fault> {
    let value = T::decode(&mut parser)?;
    parser.end()?;
    Ok(value)
}

impl Default for RawJson {
    fn default() -> Self {
        Self(Text::from_static("null"))
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self(Text::from(value.to_string()))
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        Self(Text::from(value.to_string()))
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}
