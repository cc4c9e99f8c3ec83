//! Mutations of recorded lines, as a broken pipe, a broken agent or a new version might write them.
//! Deterministic: the same seed gives the same lines.

use std::fmt;

use serde_json::{Value, json};

/// A small random number generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. The same seed gives the same numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, or 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from(self.number() % end).unwrap_or_default()
    }
}

/// A mutation of a line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mutation {
    /// The line, counted from 0.
    pub line: usize,
    /// The kind of mutation.
    pub kind: Kind,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of line {}", self.kind, self.line)
    }
}

/// The kinds of mutations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The line is missing.
    Delete,
    /// The line comes twice.
    Duplicate,
    /// The line is swapped with another one.
    Swap,
    /// The line is truncated.
    Truncate,
    /// Some bits are flipped.
    Flip,
    /// A field has a value of another type.
    Retype,
    /// A field is missing.
    Remove,
    /// A field has another name.
    RenameField,
    /// Its type is unknown.
    RenameType,
    /// Its subtype is unknown.
    RenameSubtype,
    /// A field is nested very deeply.
    Deepen,
    /// A field is very long.
    Lengthen,
    /// It is not UTF-8.
    NotUtf8,
    /// A line that is not JSON comes before it.
    Garbage,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Delete,
        Self::Duplicate,
        Self::Swap,
        Self::Truncate,
        Self::Flip,
        Self::Retype,
        Self::Remove,
        Self::RenameField,
        Self::RenameType,
        Self::RenameSubtype,
        Self::Deepen,
        Self::Lengthen,
        Self::NotUtf8,
        Self::Garbage,
    ];

    /// Whether the line still exists and its type can still be read.
    pub const fn keeps_its_type(self) -> bool {
        matches!(
            self,
            Self::RenameSubtype | Self::Deepen | Self::Lengthen | Self::NotUtf8 | Self::Garbage
        )
    }
}

/// The length of a lengthened line, in bytes.
pub const LONG: usize = 20_000;
/// The depth of a nested field.
const DEEP: usize = 2_000;

/// Mutates one of these lines, but none of the first `from`.
pub fn mutate(lines: &mut Vec<Vec<u8>>, from: usize, random: &mut Random) -> Option<Mutation> {
    let count = lines.len().checked_sub(from).filter(|count| *count > 0)?;
    let at = from + random.below(count);
    let kind = Kind::ALL.get(random.below(Kind::ALL.len())).copied().unwrap_or(Kind::Delete);
    let line = lines.get(at).cloned().unwrap_or_default();
    match kind {
        Kind::Delete => {
            lines.remove(at);
        }
        Kind::Duplicate => {
            let to = from + random.below(count + 1);
            lines.insert(to, line);
        }
        Kind::Swap => lines.swap(at, from + random.below(count)),
        Kind::Garbage => {
            let garbage =
                [&b"(node:12) Warning: deprecated"[..], b"{", b"[1,2]", b"\xff\xfe", b"null"];
            let garbage = garbage.get(random.below(garbage.len())).copied().unwrap_or_default();
            lines.insert(at, garbage.to_vec());
        }
        kind => {
            if let Some(slot) = lines.get_mut(at) {
                *slot = changed(line, kind, random);
            }
        }
    }
    Some(Mutation { line: at, kind })
}

fn changed(mut line: Vec<u8>, kind: Kind, random: &mut Random) -> Vec<u8> {
    match kind {
        Kind::Truncate => line.truncate(random.below(line.len())),
        Kind::Flip => {
            for _ in 0..=random.below(3) {
                let at = random.below(line.len());
                let bit = random.below(8);
                if let Some(byte) = line.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
        }
        Kind::NotUtf8 => {
            // Inside the last string, so that the line still begins in the same way.
            let at = line.iter().rposition(|byte| *byte == b'"').unwrap_or(line.len());
            line.insert(at, 0xff);
        }
        kind => {
            let Ok(Value::Object(mut object)) = serde_json::from_slice(&line) else { return line };
            let keys: Vec<String> = object.keys().filter(|key| *key != "type").cloned().collect();
            let Some(key) = keys.get(random.below(keys.len())) else { return line };
            match kind {
                Kind::Retype => {
                    let values =
                        [json!(7), json!("x"), json!(null), json!([]), json!({}), json!(true)];
                    let value = values.get(random.below(values.len())).cloned();
                    object.insert(key.clone(), value.unwrap_or_default());
                }
                Kind::Remove => {
                    object.remove(key);
                }
                Kind::RenameField => {
                    let value = object.remove(key).unwrap_or_default();
                    object.insert(format!("{key}_of_tomorrow"), value);
                }
                Kind::RenameType => {
                    object.insert("type".to_owned(), json!("of_tomorrow"));
                }
                Kind::RenameSubtype => {
                    object.insert("subtype".to_owned(), json!("of_tomorrow"));
                }
                Kind::Lengthen => {
                    object.insert(key.clone(), json!("x".repeat(LONG)));
                }
                _ => {
                    let deep = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
                    object.insert(key.clone(), json!("DEEP"));
                    let text = as_line(object).replace("\"DEEP\"", &deep);
                    return text.into_bytes();
                }
            }
            return as_line(object).into_bytes();
        }
    }
    // A newline would split the line.
    line.retain(|byte| *byte != b'\n');
    line
}

/// As the CLI writes it, with the type first.
fn as_line(mut object: serde_json::Map<String, Value>) -> String {
    let kind = object.remove("type").unwrap_or_default();
    let rest = Value::Object(object).to_string();
    match rest.strip_prefix('{') {
        Some("}") | None => format!("{{\"type\":{kind}}}"),
        Some(rest) => format!("{{\"type\":{kind},{rest}"),
    }
}
