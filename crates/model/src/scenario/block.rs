//! The blocks of a reply.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

/// A part of a reply. In a file, a string is a text, and anything else is a table:
///
/// ```toml
/// say = [
///     { thinking = "They greet me." },
///     "Hello. Let me look.",
///     { tool = "Bash", input = { command = "ls" } },
///     { text = "very long ", repeat = 100_000 },
/// ]
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// Text.
    #[non_exhaustive]
    Text {
        /// The text.
        text: String,
        /// How often it is repeated within the block.
        repeat: usize,
    },
    /// Thinking.
    #[non_exhaustive]
    Thinking {
        /// The text.
        thinking: String,
        /// The signature.
        signature: String,
    },
    /// A tool call.
    #[non_exhaustive]
    Tool {
        /// The name of the tool.
        name: String,
        /// The input as text. It need not be valid JSON: models sometimes write invalid JSON.
        input: String,
        /// The id of the call. Default: a made-up one.
        id: Option<String>,
    },
    /// A block as the API sends it, in one piece: for kinds without a variant here.
    Raw(Map<String, Value>),
}

impl Block {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), repeat: 1 }
    }

    /// A repeated text.
    #[must_use]
    pub fn repeated(text: impl Into<String>, repeat: usize) -> Self {
        Self::Text { text: text.into(), repeat }
    }

    /// Thinking, with a made-up signature.
    #[must_use]
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::Thinking { thinking: thinking.into(), signature: SIGNATURE.to_owned() }
    }

    /// A call of a tool.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "callers write json!(…) in the call")]
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::tool_with_text(name, input.to_string())
    }

    /// A call of a tool whose input is this text, which need not be JSON.
    #[must_use]
    pub fn tool_with_text(name: impl Into<String>, input: impl Into<String>) -> Self {
        Self::Tool { name: name.into(), input: input.into(), id: None }
    }

    /// Sets the id of a call. Other blocks have none.
    #[must_use]
    pub fn id(mut self, new: impl Into<String>) -> Self {
        if let Self::Tool { id, .. } = &mut self {
            *id = Some(new.into());
        }
        self
    }
}

impl From<&str> for Block {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Block {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Clients return it unchanged and do not check it.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// A block as a table of a file. It has exactly one of `text`, `thinking`, `tool` and `block`.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = kinds)]
struct BlockTable {
    /// A text.
    text: Option<String>,
    /// A thinking block.
    thinking: Option<String>,
    /// A call of the tool with this name.
    tool: Option<String>,
    /// A content block as the API sends it, in one piece.
    block: Option<Map<String, Value>>,
    /// With `text`: how often the text is repeated within the block. Default: 1.
    repeat: Option<usize>,
    /// With `thinking`: the signature of the block. Default: a made-up one.
    signature: Option<String>,
    /// With `tool`: its input. Default: an empty object.
    input: Option<Map<String, Value>>,
    /// With `tool`: its input as text, which need not be valid JSON. Excludes `input`.
    input_text: Option<String>,
    /// With `tool`: the id of the call. Default: a made-up one.
    id: Option<String>,
}

/// The further fields of each kind of block.
const KINDS: [(&str, &str, &[&str]); 4] = [
    ("text", "string", &["repeat"]),
    ("thinking", "string", &["signature"]),
    ("tool", "string", &["input", "input_text", "id"]),
    ("block", "object", &[]),
];

/// Adds to the schema that a block is of one kind, and which fields belong to it. A field that is null is absent.
fn kinds(schema: &mut Schema) {
    let given = |field: &str| json!({ "required": [field], "not": absent(field) });
    let branch = |(kind, is, own): (&str, &str, &[&str])| {
        let others = KINDS.iter().flat_map(|(other, _, own)| std::iter::once(other).chain(*own));
        let others = others.filter(|field| **field != kind && !own.contains(field));
        let excluded: Map<String, Value> =
            others.map(|field| ((*field).to_owned(), json!({ "type": "null" }))).collect();
        let mut branch = json!({ "required": [kind], "properties": excluded });
        branch["properties"][kind] = json!({ "type": is });
        branch
    };
    schema.insert("oneOf".to_owned(), KINDS.map(branch).into());
    schema.insert("not".to_owned(), json!({ "allOf": [given("input"), given("input_text")] }));
}

/// A schema of objects that have this field with the value null.
fn absent(field: &str) -> Value {
    json!({ "properties": { field: { "type": "null" } } })
}

impl BlockTable {
    fn block(self) -> Result<Block, String> {
        let kinds = [
            ("text", self.text.is_some()),
            ("thinking", self.thinking.is_some()),
            ("tool", self.tool.is_some()),
            ("block", self.block.is_some()),
        ];
        let given: Vec<&str> = kinds.iter().filter(|kind| kind.1).map(|kind| kind.0).collect();
        let [kind] = given[..] else {
            return Err(match given.len() {
                0 => "this block is empty: add `text`, `thinking`, `tool` or `block`".to_owned(),
                _ => format!("this has {} at once: make each a block", given.join(" and ")),
            });
        };
        let owners = [
            ("repeat", "text", self.repeat.is_some()),
            ("signature", "thinking", self.signature.is_some()),
            ("input", "tool", self.input.is_some()),
            ("input_text", "tool", self.input_text.is_some()),
            ("id", "tool", self.id.is_some()),
        ];
        for (field, owner, given) in owners {
            if given && owner != kind {
                return Err(format!("`{field}` belongs to a `{owner}`, and this is a `{kind}`"));
            }
        }
        if self.input.is_some() && self.input_text.is_some() {
            return Err("a tool has either `input` or `input_text`".to_owned());
        }
        let input = self
            .input_text
            .unwrap_or_else(|| Value::Object(self.input.unwrap_or_default()).to_string());
        if let Some(text) = self.text {
            Ok(Block::repeated(text, self.repeat.unwrap_or(1)))
        } else if let Some(thinking) = self.thinking {
            let signature = self.signature.unwrap_or_else(|| SIGNATURE.to_owned());
            Ok(Block::Thinking { thinking, signature })
        } else if let Some(name) = self.tool {
            Ok(Block::Tool { name, input, id: self.id })
        } else {
            Ok(Block::Raw(self.block.unwrap_or_default()))
        }
    }
}

/// Reads a block. `untagged` would not report what is wrong, or where.
struct OneBlock;

impl<'de> Visitor<'de> for OneBlock {
    type Value = Block;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a block")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Block, E> {
        Ok(Block::text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Block, A::Error> {
        let table = BlockTable::deserialize(MapAccessDeserializer::new(map))?;
        table.block().map_err(Error::custom)
    }
}

/// Reads a block, or a list of them.
struct ManyBlocks;

impl<'de> Visitor<'de> for ManyBlocks {
    type Value = Vec<Block>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, a block, or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        OneBlock.visit_str(text).map(|block| vec![block])
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        OneBlock.visit_map(map).map(|block| vec![block])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element()? {
            blocks.push(block);
        }
        Ok(blocks)
    }
}

/// For `say`.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Block>, D::Error> {
    from.deserialize_any(ManyBlocks)
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneBlock)
    }
}

impl JsonSchema for Block {
    fn schema_name() -> Cow<'static, str> {
        "Block".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<BlockTable>();
        json_schema!({ "description": "A part of a reply: a text, or a table.", "anyOf": [{ "type": "string" }, table] })
    }
}

/// The schema of `say`.
pub(super) fn one_or_many_schema(generator: &mut SchemaGenerator) -> Schema {
    let block = generator.subschema_for::<Block>();
    json_schema!({ "anyOf": [block, { "type": "array", "items": block }] })
}
