//! [`Line`]: one line of the protocol: its exact bytes, and its message.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::json::{Fault, FaultKind, Kind, Parser};
use crate::text::Source;
use crate::to_agent::ToAgent;
use crate::to_host::ToHost;
use crate::wire::Wire;

/// One line of the wire: exactly the bytes that came, and what they mean.
///
/// A line never fails: reading it as a message gives a [`Decoded`], which is known, unknown or
/// malformed. Cloning a line is cheap, and so is every text that was read out of it.
///
/// ```
/// use duologue_wire::{Line, ToHost};
///
/// let line = Line::from(r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Hi"}]}}"#);
/// let decoded = line.to_host();
/// let Some(ToHost::Assistant(assistant)) = decoded.message() else { panic!() };
/// assert_eq!(assistant.message.value().unwrap().text(), "Hi");
/// ```
#[derive(Clone)]
pub struct Line {
    content: Content,
    position: Position,
    newline: bool,
}

#[derive(Clone)]
enum Content {
    Text(Source),
    /// Not UTF-8, from this byte on.
    Bytes(Arc<[u8]>, usize),
}

/// The position of a line in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Position {
    /// Its number, counted from 1, blank lines included.
    pub number: u64,
    /// The offset of its first byte.
    pub offset: u64,
}

/// Which way a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the wire has two ends")]
pub enum Direction {
    /// On the agent's stdout.
    ToHost,
    /// On the agent's stdin.
    ToAgent,
}

impl Direction {
    /// Its name in machine-readable reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToHost => "to_host",
            Self::ToAgent => "to_agent",
        }
    }

    /// The other way.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::ToHost => Self::ToAgent,
            Self::ToAgent => Self::ToHost,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ToHost => "to host",
            Self::ToAgent => "to agent",
        })
    }
}

/// What a line turned out to be.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a line is known, unknown or malformed")]
pub enum Decoded<M> {
    /// Its type and subtype are known and every field has the type it should.
    Known(M),
    /// Its type or subtype is unknown. The known part is here: an unknown control request, for
    /// example, still has its id.
    Unknown(M),
    /// It is not a JSON object, or it is a known message with a field of the wrong type.
    Malformed(Fault),
}

impl<M> Decoded<M> {
    /// The message, known or not, unless the line is malformed.
    pub fn message(&self) -> Option<&M> {
        match self {
            Self::Known(message) | Self::Unknown(message) => Some(message),
            Self::Malformed(_) => None,
        }
    }

    /// The message itself, known or not, unless the line is malformed.
    pub fn into_message(self) -> Option<M> {
        match self {
            Self::Known(message) | Self::Unknown(message) => Some(message),
            Self::Malformed(_) => None,
        }
    }

    /// The message, if it is known.
    pub fn known(&self) -> Option<&M> {
        match self {
            Self::Known(message) => Some(message),
            Self::Unknown(_) | Self::Malformed(_) => None,
        }
    }

    /// What is wrong, if the line is malformed.
    pub fn malformed(&self) -> Option<&Fault> {
        match self {
            Self::Malformed(fault) => Some(fault),
            Self::Known(_) | Self::Unknown(_) => None,
        }
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

impl Line {
    /// A line from bytes that stay the caller's.
    pub(crate) fn copied(bytes: &[u8]) -> Self {
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => Self::from(text),
            Err(_) => Self::not_utf8(bytes),
        }
    }

    fn not_utf8(bytes: &[u8]) -> Self {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        Self::with(Content::Bytes(bytes.into(), valid))
    }

    const fn with(content: Content) -> Self {
        Self { content, position: Position { number: 1, offset: 0 }, newline: true }
    }

    pub(crate) const fn at(mut self, position: Position, newline: bool) -> Self {
        self.position = position;
        self.newline = newline;
        self
    }

    /// The same line as the last of its stream, without a newline.
    #[must_use]
    pub const fn without_newline(mut self) -> Self {
        self.newline = false;
        self
    }

    /// Its exact bytes, without the newline. A carriage return before it is part of them.
    pub fn raw(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) => text.as_str().as_bytes(),
            Content::Bytes(bytes, _) => bytes,
        }
    }

    /// Its text, if it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text.as_str()),
            Content::Bytes(..) => None,
        }
    }

    /// Whether there is nothing in it but white space. [`LineDecoder`](crate::LineDecoder) skips
    /// such lines, as both ends of the wire do.
    pub fn is_blank(&self) -> bool {
        self.raw().iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    }

    /// The position in the stream.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether a newline ended it; only the last line of a stream may lack one.
    pub fn has_newline(&self) -> bool {
        self.newline
    }

    /// Its `type`, read quickly: if it is the first field, as usual, the rest is not parsed and can be
    /// malformed.
    ///
    /// # Errors
    /// If no `type` can be found.
    ///
    /// ```
    /// use duologue_wire::Line;
    ///
    /// assert_eq!(Line::from(r#"{"type":"keep_alive"}"#).kind().unwrap(), "keep_alive");
    /// ```
    pub fn kind(&self) -> Result<Cow<'_, str>, Fault> {
        self.parser()?.peek_tag("type")
    }

    /// Reads only what it takes to route the line; the rest is passed over.
    ///
    /// # Errors
    /// If the line is not a JSON object with one `type`.
    pub fn head(&self) -> Result<Head<'_>, Fault> {
        self.parse(Head::scan)
    }

    /// Reads the line as a message to the host: a line of the agent's stdout.
    pub fn to_host(&self) -> Decoded<ToHost> {
        self.decode(ToHost::is_understood)
    }

    /// Reads the line as a message to the agent: a line of its stdin.
    pub fn to_agent(&self) -> Decoded<ToAgent> {
        self.decode(ToAgent::is_understood)
    }

    fn decode<M: Wire>(&self, is_known: impl FnOnce(&M) -> bool) -> Decoded<M> {
        match self.parse(|parser| M::decode(parser)) {
            Ok(message) if is_known(&message) => Decoded::Known(message),
            Ok(message) => Decoded::Unknown(message),
            Err(fault) => Decoded::Malformed(fault),
        }
    }

    fn parse<'l, T>(
        &'l self,
        read: impl FnOnce(&mut Parser<'l>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut parser = self.parser()?;
        let value = read(&mut parser)?;
        parser.end()?;
        Ok(value)
    }

    fn parser(&self) -> Result<Parser<'_>, Fault> {
        let source = match &self.content {
            Content::Text(source) => source,
            Content::Bytes(_, valid) => return Err(Fault::new(FaultKind::NotUtf8, *valid)),
        };
        let text = source.as_str();
        let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        Ok(Parser::new(source).within(start, text.len()))
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::with(Content::Text(Source::from(text)))
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self::with(Content::Text(Source::from(text)))
    }
}

impl From<&[u8]> for Line {
    fn from(bytes: &[u8]) -> Self {
        Self::copied(bytes)
    }
}

/// A line can hold any bytes, also bytes that are not UTF-8.
impl From<Vec<u8>> for Line {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::from(text),
            Err(error) => Self::not_utf8(error.as_bytes()),
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line({}: {})", self.position.number, String::from_utf8_lossy(self.raw()))
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

/// The head of a line: enough to route it, without reading its body.
///
/// ```
/// use duologue_wire::Line;
///
/// let line = Line::from(
///     r#"{"type":"control_request","request_id":"r1","request":{"subtype":"interrupt"}}"#,
/// );
/// let head = line.head()?;
/// assert_eq!(head.kind, "control_request");
/// assert_eq!(head.subtype.unwrap(), "interrupt");
/// assert_eq!(head.request_id.unwrap(), "r1");
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head<'l> {
    /// Its `type`.
    pub kind: Cow<'l, str>,
    /// Its `subtype`; that of the request or response for control lines; the type of the event for
    /// stream events.
    pub subtype: Option<Cow<'l, str>>,
    /// The id of the control request that this line makes, answers or withdraws.
    pub request_id: Option<Cow<'l, str>>,
    /// Its own uuid.
    pub uuid: Option<Cow<'l, str>>,
    /// The conversation it belongs to.
    pub session_id: Option<Cow<'l, str>>,
    /// The tool call whose sub-agent it belongs to; absent or null for the main agent.
    pub parent_tool_use_id: Option<Cow<'l, str>>,
}

impl<'l> Head<'l> {
    fn scan(parser: &mut Parser<'l>) -> Result<Self, Fault> {
        let mut head = Self::default();
        let mut kind = None::<Cow<'l, str>>;
        let start = parser.clone();
        parser.enter_object()?;
        let mut first = true;
        while let Some(key) = parser.next_key(&mut first)? {
            match &*key {
                "type" => match &kind {
                    Some(kind) => parser.same_tag("type", kind)?,
                    None => {
                        let text = parser.borrowed_string();
                        kind = Some(text.map_err(|fault| fault.in_field("type"))?);
                    }
                },
                "subtype" => text_into(parser, &mut head.subtype)?,
                "request_id" => text_into(parser, &mut head.request_id)?,
                "uuid" => text_into(parser, &mut head.uuid)?,
                "session_id" => text_into(parser, &mut head.session_id)?,
                "parent_tool_use_id" => text_into(parser, &mut head.parent_tool_use_id)?,
                "request" | "response" | "event" => head.scan_inner(parser)?,
                _ => parser.skip()?,
            }
        }
        head.kind = kind.ok_or_else(|| start.missing("type"))?;
        Ok(head)
    }

    /// The object inside a control line or a stream event.
    fn scan_inner(&mut self, parser: &mut Parser<'l>) -> Result<(), Fault> {
        if parser.kind()? != Kind::Object {
            return parser.skip();
        }
        parser.enter_object()?;
        let mut first = true;
        while let Some(key) = parser.next_key(&mut first)? {
            match &*key {
                "subtype" | "type" => text_into(parser, &mut self.subtype)?,
                "request_id" => text_into(parser, &mut self.request_id)?,
                _ => parser.skip()?,
            }
        }
        Ok(())
    }
}

/// Takes a text or an id that is a number; passes over anything else.
fn text_into<'l>(parser: &mut Parser<'l>, target: &mut Option<Cow<'l, str>>) -> Result<(), Fault> {
    match parser.kind()? {
        Kind::String => *target = Some(parser.borrowed_string()?),
        Kind::Number => *target = Some(parser.borrowed_number()?),
        Kind::Object | Kind::Array | Kind::Bool | Kind::Null => parser.skip()?,
    }
    Ok(())
}
