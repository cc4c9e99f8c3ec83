//! The two kinds of text: [`Foreign`] comes from outside and cannot be printed, [`Shown`] is safe to print.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use duologue_protocol::{Field, Text, visible};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::shown;

/// Text from outside: of an agent, a tape, a file, the command line, the environment. It has no
/// `Display`: [`line()`] and [`block`] escape it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Foreign<'a>(Cow<'a, str>);

impl<'a> Foreign<'a> {
    /// The `Display` text of a value: an error, a version, a rule.
    pub fn of(text: &dyn fmt::Display) -> Foreign<'static> {
        Foreign(Cow::Owned(text.to_string()))
    }

    /// The text as it is, to compare or search it. Never print it.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// The text with its own allocation.
    pub fn into_owned(self) -> Foreign<'static> {
        Foreign(Cow::Owned(self.0.into_owned()))
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first line that is not blank, and a `…` if there are more.
    pub fn first_line(&self) -> Shown {
        let mut lines = self.0.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = line(lines.next().unwrap_or_default());
        if lines.next().is_some() { shown!("{} …", first) } else { first }
    }

    /// The lines, one by one.
    pub fn lines(&self) -> impl Iterator<Item = Shown> + '_ {
        self.0.lines().map(line)
    }
}

impl fmt::Debug for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", visible::line(&self.0))
    }
}

impl<'a> From<&'a str> for Foreign<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'a> From<Cow<'a, str>> for Foreign<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(text)
    }
}

impl From<String> for Foreign<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl<'a> From<&'a String> for Foreign<'a> {
    fn from(text: &'a String) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a Path> for Foreign<'a> {
    fn from(path: &'a Path) -> Self {
        Self(path.to_string_lossy())
    }
}

impl<'a> From<&'a Text> for Foreign<'a> {
    fn from(text: &'a Text) -> Self {
        Self(Cow::Borrowed(text.as_str()))
    }
}

impl<'a> From<&'a Field<Text>> for Foreign<'a> {
    fn from(text: &'a Field<Text>) -> Self {
        Self(Cow::Borrowed(text.as_str().unwrap_or_default()))
    }
}

impl<'a> From<&'a Foreign<'_>> for Foreign<'a> {
    fn from(text: &'a Foreign<'_>) -> Self {
        Self(Cow::Borrowed(&text.0))
    }
}

/// Escapes foreign text for one line. Line breaks become `⏎`.
pub fn line<'a>(text: impl Into<Foreign<'a>>) -> Shown {
    Shown(visible::line(&text.into().0).into_owned())
}

/// Escapes foreign text, and keeps its line breaks and tabs.
pub fn block<'a>(text: impl Into<Foreign<'a>>) -> Shown {
    Shown(visible::block(&text.into().0).into_owned())
}

/// A literal of this program.
pub fn ours(text: &'static str) -> Shown {
    Shown(text.to_owned())
}

/// Text that is safe to print: control characters from outside are escaped, colours are this program's.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    /// For [`shown!`], which accepts only [`Printable`] arguments.
    #[doc(hidden)]
    pub fn format(text: fmt::Arguments<'_>) -> Self {
        Self(text.to_string())
    }

    /// A literal, repeated.
    pub fn repeat(text: &'static str, times: usize) -> Self {
        Self(text.repeat(times))
    }

    /// The text, with its colours.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its width in columns of a terminal.
    pub fn width(&self) -> usize {
        parts(&self.0).map(|part| if part.is_style { 0 } else { part.text.width() }).sum()
    }

    /// The beginning that fits into this many columns, with a `…` if something is missing. Colours still end.
    pub fn cut(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let mut left = columns.saturating_sub(1);
        let mut cut = String::new();
        let mut is_full = false;
        for part in parts(&self.0) {
            if part.is_style {
                cut.push_str(part.text);
                continue;
            }
            for character in part.text.chars() {
                let width = width_of(character);
                if !is_full && width > left {
                    is_full = true;
                    cut.push('…');
                }
                if is_full {
                    break;
                }
                left -= width;
                cut.push(character);
            }
        }
        Self(cut)
    }

    /// The end that fits into this many columns. The text must have no colours yet.
    pub fn tail(&self, columns: usize) -> Self {
        let mut width = 0;
        let cut = self.0.char_indices().rev().find(|(_, character)| {
            width += width_of(*character);
            width > columns
        });
        match cut {
            Some((at, character)) => {
                Self(format!("…{}", self.0.get(at + character.len_utf8()..).unwrap_or_default()))
            }
            None => self.clone(),
        }
    }

    /// One line broken into lines of at most this many columns. The text must have no colours yet.
    pub fn wrapped(&self, columns: usize) -> Vec<Self> {
        let (mut rows, mut row, mut width) = (Vec::new(), String::new(), 0);
        for character in self.0.chars() {
            let wide = width_of(character);
            if width + wide > columns && !row.is_empty() {
                rows.push(Self(std::mem::take(&mut row)));
                width = 0;
            }
            row.push(character);
            width += wide;
        }
        rows.push(Self(row));
        rows
    }

    /// Whether nothing of it can be seen.
    pub fn is_blank(&self) -> bool {
        self.0.chars().all(|character| character.is_whitespace() || character == '\u{2800}')
    }

    /// The lines, one by one.
    pub fn lines(&self) -> impl Iterator<Item = Self> + '_ {
        self.0.lines().map(|line| Self(line.to_owned()))
    }

    pub fn trim_end(&self) -> Self {
        Self(self.0.trim_end().to_owned())
    }

    pub fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    pub fn join(parts: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let parts: Vec<String> = parts.into_iter().map(|part| part.0).collect();
        Self(parts.join(between))
    }

    /// Without its colours.
    pub fn plain(&self) -> Self {
        Self(anstream::adapter::strip_str(&self.0).to_string())
    }

    /// The same in pieces of about so many bytes, none of which ends inside of a colour.
    pub fn pieces(&self, bytes: usize) -> impl Iterator<Item = Self> + '_ {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let mut at = rest.len().min(bytes.max(16));
            while !rest.is_char_boundary(at) {
                at += 1;
            }
            let colour = rest.get(..at)?.rfind('\u{1b}').filter(|from| *from > 0);
            if let Some(from) = colour
                && !rest.get(from..at)?.contains('m')
            {
                at = from;
            }
            let (piece, left) = rest.split_at_checked(at)?;
            rest = left;
            (!piece.is_empty()).then(|| Self(piece.to_owned()))
        })
    }

    /// Cut into two at this byte, which must be the end of a line.
    pub fn split_off(&mut self, at: usize) -> Self {
        Self(self.0.split_off(at))
    }

    /// Styles each line by itself: a terminal that scrolls may forget how a line began.
    fn styled(&self, style: u8, end: u8) -> Self {
        let styled = |line: &str| match line {
            "" => String::new(),
            line => format!("\u{1b}[{style}m{line}\u{1b}[{end}m"),
        };
        Self(self.0.split('\n').map(styled).collect::<Vec<_>>().join("\n"))
    }

    /// In bold type.
    pub fn bold(&self) -> Self {
        self.styled(1, 0)
    }

    /// In dimmed type.
    pub fn dimmed(&self) -> Self {
        self.styled(2, 0)
    }

    /// In red.
    pub fn red(&self) -> Self {
        self.styled(31, 39)
    }

    /// In green.
    pub fn green(&self) -> Self {
        self.styled(32, 39)
    }

    /// In yellow.
    pub fn yellow(&self) -> Self {
        self.styled(33, 39)
    }

    /// In blue.
    pub fn blue(&self) -> Self {
        self.styled(34, 39)
    }

    /// In magenta.
    pub fn magenta(&self) -> Self {
        self.styled(35, 39)
    }

    /// In cyan.
    pub fn cyan(&self) -> Self {
        self.styled(36, 39)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

fn width_of(character: char) -> usize {
    character.width().unwrap_or_default()
}

/// A piece of a [`Shown`]: text, or a code that changes its style.
struct Part<'a> {
    text: &'a str,
    is_style: bool,
}

/// Splits text from style codes. The only control sequences in a [`Shown`] are those of [`Shown::styled`].
fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let is_style = rest.starts_with('\u{1b}');
        let end = match is_style {
            true => rest.find('m').map(|end| end + 1),
            false => rest.find('\u{1b}'),
        };
        let (text, left) = rest.split_at(end.unwrap_or(rest.len()));
        rest = left;
        Some(Part { text, is_style })
    })
}

/// What [`shown!`] accepts: text that is escaped already, literals and numbers. A `&str` of unknown origin is not
/// printable.
pub trait Printable: fmt::Display {}

impl Printable for Shown {}
impl Printable for &Shown {}
impl Printable for &'static str {}
impl Printable for u8 {}
impl Printable for u16 {}
impl Printable for u32 {}
impl Printable for u64 {}
impl Printable for usize {}
impl Printable for i32 {}
impl Printable for i64 {}
impl Printable for f64 {}

/// Checks that a value is [`Printable`].
#[doc(hidden)]
pub const fn printable<T: Printable>(value: &T) -> &T {
    value
}

/// Like `format!`, for [`Shown`]: every argument must be [`Printable`](crate::Printable). Arguments cannot be captured in
/// the format string, where they would not be checked.
#[macro_export]
macro_rules! shown {
    ($format:literal $(, $value:expr)* $(,)?) => {
        $crate::Shown::format(format_args!(
            concat!($format) $(, $crate::text::printable(&$value))*
        ))
    };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    #[test]
    fn foreign_text_is_escaped() {
        let name = Foreign::from("a\u{1b}]0;x\u{7}\nb");
        assert_eq!(line(&name).as_str(), "a␛]0;x␇⏎b");
        assert_eq!(block(&name).as_str(), "a␛]0;x␇\nb");
        assert_eq!(name.first_line().as_str(), "a␛]0;x␇ …");
        assert_eq!(format!("{name:?}"), "\"a␛]0;x␇⏎b\"");
        assert_eq!(shown!("{:>3} {}", 7_u64, line(&name)).as_str(), "  7 a␛]0;x␇⏎b");
    }

    #[test]
    fn nothing_else_makes_text_printable() {
        let crates = ["terminal", "chat", "cli"]
            .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(name).join("src"));
        let mut folders = crates.to_vec();
        let mut users = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if std::fs::read_to_string(&path).unwrap().contains("Shown::format(") {
                    users.push(path.file_name().unwrap().to_owned());
                }
            }
        }
        // The macro, which checks its arguments.
        assert_eq!(users, ["text.rs"]);
    }

    #[test]
    fn a_colour_is_never_cut_in_half() {
        let whole = line("x".repeat(40)).red();
        let parts: Vec<Shown> = whole.pieces(16).collect();
        let is_whole = |part: &Shown| {
            part.as_str().matches('\u{1b}').count() == part.as_str().matches('m').count()
        };
        assert!(parts.len() > 2 && parts.iter().all(is_whole), "{parts:?}");
        assert_eq!(Shown::join(parts, ""), whole);
    }

    #[test]
    fn lines_are_wrapped_by_width() {
        let wrapped = |text: &str, columns| {
            line(text).wrapped(columns).iter().map(Shown::to_string).collect::<Vec<_>>()
        };
        assert_eq!(wrapped("abcde", 2), ["ab", "cd", "e"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("日本", 1), ["日", "本"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(line("one\ntwo").tail(9).as_str(), "one⏎two");
        assert_eq!(line("日本語").tail(5).as_str(), "…本語");
        assert_eq!(line("x").tail(0).as_str(), "…");
    }

    #[test]
    fn a_text_is_cut_by_width_and_its_colours_still_end() {
        assert_eq!(line("日本語").cut(5).as_str(), "日本…");
        assert_eq!(line("日本語").cut(4).as_str(), "日…");
        assert_eq!(line("日本語").cut(6).as_str(), "日本語");
        assert_eq!(line("abc").cut(0).as_str(), "…");
        let coloured = shown!("{} {}", ours("abc").red(), ours("def").bold());
        assert_eq!(coloured.width(), 7);
        assert_eq!(coloured.cut(3).as_str(), "\u{1b}[31mab…\u{1b}[39m\u{1b}[1m\u{1b}[0m");
        assert_eq!(coloured.cut(7), coloured);
    }

    #[test]
    fn colours_end_with_their_line() {
        assert_eq!(
            block("a\n\nb").red().as_str(),
            "\u{1b}[31ma\u{1b}[39m\n\n\u{1b}[31mb\u{1b}[39m"
        );
        assert_eq!(block("a\nb").red().plain().as_str(), "a\nb");
    }
}
