//! [`Fault`]: what is wrong with a line, and where.

use std::fmt;

/// Why a line is malformed: what was expected, in which field, at which byte of the line.
///
/// ```
/// use duologue_wire::{Direction, Line};
///
/// let line = Line::from(r#"{"type":"assistant","message":{"content":[{"type":"text","text":7}]}}"#);
/// let fault = line.to_host().malformed().cloned().unwrap();
/// assert_eq!(
///     fault.to_string(),
///     "field `message.content[0].text`: expected a string, found a number (at byte 64)",
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Fault(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: FaultKind,
    offset: usize,
    /// Innermost first: segments are added while the error travels outwards.
    path: Vec<Segment>,
}

#[derive(Clone, PartialEq, Eq)]
enum Segment {
    Field(String),
    Index(usize),
}

/// The kinds of [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text ends in the middle of a value.
    Truncated,
    /// Something follows the value.
    Trailing,
    /// The text is not JSON: what was expected here.
    Syntax(&'static str),
    /// A value of another JSON type was expected.
    WrongType {
        /// What the field takes.
        expected: &'static str,
        /// What was found.
        found: &'static str,
    },
    /// A field without which the line has no meaning is absent: a tag.
    Missing(&'static str),
    /// A tag occurs twice with different values.
    Contradiction(&'static str),
    /// Nested deeper than this crate follows.
    TooDeep,
    /// The line has more values than this crate reads into types: 262,144.
    TooMany,
}

impl Fault {
    #[cold]
    pub(crate) fn new(kind: FaultKind, offset: usize) -> Self {
        Self(Box::new(Inner { kind, offset, path: Vec::new() }))
    }

    #[cold]
    pub(crate) fn in_field(mut self, name: &str) -> Self {
        self.0.path.push(Segment::Field(name.to_owned()));
        self
    }

    #[cold]
    pub(crate) fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Index(index));
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> &FaultKind {
        &self.0.kind
    }

    /// Where: the byte in the line, counted from 0.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Where: the field, as a path such as `message.content[0].text`; empty for the line itself.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.path.iter().rev() {
            match segment {
                Segment::Field(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
                Segment::Index(index) => {
                    path.push_str(&format!("[{index}]"));
                }
            }
        }
        path
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("not UTF-8"),
            Self::Truncated => f.write_str("the JSON ends too early"),
            Self::Trailing => f.write_str("something follows the JSON object"),
            Self::Syntax(expected) => write!(f, "not JSON: expected {expected}"),
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Missing(name) => write!(f, "`{name}` is missing"),
            Self::Contradiction(name) => write!(f, "`{name}` stands twice with different values"),
            Self::TooDeep => f.write_str("nested too deeply"),
            Self::TooMany => f.write_str("more values than one line may have"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "field `{path}`: ")?;
        }
        write!(f, "{} (at byte {})", self.0.kind, self.0.offset)
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault({self})")
    }
}

impl std::error::Error for Fault {}
