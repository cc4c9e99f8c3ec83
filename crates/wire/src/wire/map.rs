//! [`Map`]: an object whose keys are data.

use serde_json::{Value, json};

use crate::json::{Fault, Parser, Writer};
use crate::text::Text;

use super::schema::Schemas;
use super::survey::Survey;
use super::{Sealed, Wire};

/// An object whose keys are data (model names, question texts, tool names), in the order of the wire.
///
/// ```
/// use duologue_wire::{Map, Text, Wire};
///
/// let answers = Map::<Text>::from_json(r#"{"Which colour?":"Blue"}"#)?;
/// assert_eq!(answers.get("Which colour?").unwrap(), "Blue");
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Map<T>(Vec<(Text, T)>);

impl<T> Map<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value under this key.
    pub fn get(&self, key: &str) -> Option<&T> {
        // The last of several wins, as everywhere in JSON.
        self.iter().filter(|(name, _)| name.as_str() == key).last().map(|(_, value)| value)
    }

    /// Puts a value under this key, in place of an older one.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<T>) {
        let key = key.into();
        let value = value.into();
        match self.0.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }

    /// All pairs, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &T)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Map<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<Text>, T> FromIterator<(K, T)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (K, T)>>(pairs: I) -> Self {
        let mut map = Self::new();
        for (key, value) in pairs {
            map.insert(key, value);
        }
        map
    }
}

impl<T: Wire> Sealed for Map<T> {}

impl<T: Wire> Wire for Map<T> {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        parser.enter_object()?;
        let mut map = Self::new();
        let mut first = true;
        while let Some(key) = parser.next_key(&mut first)? {
            parser.count()?;
            let value = T::decode(parser).map_err(|fault| fault.in_field(&key))?;
            map.0.push((key.text(), value));
        }
        Ok(map)
    }

    fn encode(&self, out: &mut Writer) {
        out.begin_object();
        for (key, value) in self.iter() {
            out.data_key(key);
            value.encode(out);
        }
        out.end_object();
    }

    fn survey(&self, survey: &mut Survey<'_>) {
        for (_, value) in self.iter() {
            survey.within("*", |survey| value.survey(survey));
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        json!({ "type": "object", "additionalProperties": T::schema(schemas) })
    }
}
