//! [`Text`]: a string of the wire that costs nothing to keep and little to clone.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The text of one line, shared by everything that was read out of it.
///
/// A short line is one allocation. A line that was put together from several reads is taken over as
/// it grew, without a copy.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Short(Arc<str>),
    Long(Arc<Long>),
}

/// A text as it grew. Rare kinds of texts are here too, so that there are few kinds of pointers to
/// count: every record has code for each.
#[derive(Debug)]
pub(crate) struct Long {
    text: String,
    /// The characters between the quotes, if they are not valid Unicode: the text is the closest valid reading.
    escaped: Option<String>,
}

/// Above this length a grown buffer is taken over instead of copied.
const LONG: usize = 16 * 1024;

impl Source {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Short(text) => text,
            Self::Long(long) => &long.text,
        }
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Self::Short(text.into())
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        if text.len() < LONG {
            Self::Short(text.into())
        } else {
            Self::Long(Arc::new(Long { text, escaped: None }))
        }
    }
}

/// A string of the wire: usually a slice of the line it came in, shared, never copied.
///
/// `Text` behaves like `&str` wherever it is read (it derefs to `str`), is cheap to clone and may
/// cross threads. It keeps its whole line alive: call [`detach`](Self::detach) on what is to be
/// kept for long.
///
/// JSON allows what Unicode does not: a lone surrogate, written `\ud83d`. Such a text reads as
/// U+FFFD there, remembers its original escapes and writes them again.
///
/// ```
/// use duologue_wire::Text;
///
/// let text = Text::from("hello");
/// assert_eq!(text, "hello");
/// assert!(text.starts_with('h'));
/// ```
pub struct Text(Repr);

impl Clone for Text {
    // It is in every record: as a call it makes the program a good deal smaller.
    #[inline(never)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[derive(Clone)]
enum Repr {
    /// Where no range fits it is the whole of its source.
    Slice {
        source: Source,
        start: u32,
        end: u32,
    },
    Static(&'static str),
}

impl Text {
    /// A text that lives as long as the program.
    pub const fn from_static(text: &'static str) -> Self {
        Self(Repr::Static(text))
    }

    pub(crate) fn slice(source: &Source, start: usize, end: usize) -> Self {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Self(Repr::Slice { source: source.clone(), start, end }),
            // Beyond 4 GiB a range does not fit: copy.
            _ => Self::from(source.as_str().get(start..end).unwrap_or_default()),
        }
    }

    pub(crate) fn with_lone_surrogates(escaped: &str, lossy: String) -> Self {
        Self::whole(Long { text: lossy, escaped: Some(escaped.to_owned()) })
    }

    fn whole(long: Long) -> Self {
        Self(Repr::Slice { source: Source::Long(Arc::new(long)), start: 1, end: 0 })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Slice { source, start, end } => {
                let whole = source.as_str();
                whole.get(*start as usize..*end as usize).unwrap_or(whole)
            }
            Repr::Static(text) => text,
        }
    }

    /// The line this is a slice of, and where.
    pub(crate) fn shared(&self) -> Option<(&Source, usize, usize)> {
        match &self.0 {
            Repr::Slice { source, start, end } if start <= end => {
                Some((source, *start as usize, *end as usize))
            }
            Repr::Slice { .. } | Repr::Static(_) => None,
        }
    }

    /// The characters between the quotes, if they have escapes that are not Unicode text.
    pub(crate) fn lone_surrogates(&self) -> Option<&str> {
        match &self.0 {
            Repr::Slice { source: Source::Long(long), .. } => long.escaped.as_deref(),
            _ => None,
        }
    }

    /// Whether the wire spelled a lone surrogate here, which reads as U+FFFD.
    pub fn has_lone_surrogates(&self) -> bool {
        self.lone_surrogates().is_some()
    }

    /// How many bytes it keeps in memory: those of its whole line.
    #[doc(hidden)]
    pub fn retained(&self) -> usize {
        match &self.0 {
            Repr::Slice { source, .. } => source.as_str().len(),
            Repr::Static(_) => 0,
        }
    }

    /// Copies the text, so that its line can be freed.
    #[must_use]
    pub fn detach(&self) -> Self {
        match &self.0 {
            Repr::Slice { start, end, .. } if start <= end => Self::from(self.as_str()),
            _ => self.clone(),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from_static("")
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        let Ok(end) = u32::try_from(text.len()) else {
            return Self::whole(Long { text, escaped: None });
        };
        Self(Repr::Slice { source: Source::from(text), start: 0, end })
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Self> for Text {
    fn from(text: &Self) -> Self {
        text.clone()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.as_str().to_owned()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}
