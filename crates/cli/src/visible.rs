//! The two kinds of text: [`Foreign`], which comes from outside and cannot be printed, and [`Shown`],
//! which is safe to print.
//!
//! Everything that is printed for people is a [`Shown`] (see [`print`](crate::print)), and a `Shown` is
//! made of literals, numbers and escaped foreign text only. So a forgotten escape does not compile.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use console::{measure_text_width, truncate_str};
use duologue_protocol::{Field, Text, visible};
use owo_colors::OwoColorize as _;

/// Text from outside: of an agent, a tape, a file, the command line, the environment. It has no
/// `Display`: [`line`] and [`block`] escape it.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Foreign<'a>(Cow<'a, str>);

impl<'a> Foreign<'a> {
    /// What something says about itself: an error, a version, a rule.
    pub(crate) fn of(text: &dyn fmt::Display) -> Foreign<'static> {
        Foreign(Cow::Owned(text.to_string()))
    }

    /// The text as it is: to compare or to search it, never to print it.
    pub(crate) fn raw(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_owned(self) -> Foreign<'static> {
        Foreign(Cow::Owned(self.0.into_owned()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first line that is not blank, and a `…` if there are more.
    pub(crate) fn first_line(&self) -> Shown {
        let mut lines = self.0.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = line(lines.next().unwrap_or_default());
        if lines.next().is_some() { shown!("{} …", first) } else { first }
    }

    /// Each line by itself.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Shown> + '_ {
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

/// Foreign text on one line.
pub(crate) fn line<'a>(text: impl Into<Foreign<'a>>) -> Shown {
    Shown(visible::line(&text.into().0).into_owned())
}

/// Foreign text with its line breaks and tabs.
pub(crate) fn block<'a>(text: impl Into<Foreign<'a>>) -> Shown {
    Shown(visible::block(&text.into().0).into_owned())
}

/// Our own words.
pub(crate) fn ours(text: &'static str) -> Shown {
    Shown(text.to_owned())
}

/// Text that can be printed: hidden characters are escaped, colours are ours.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown(String);

impl Shown {
    /// For [`shown!`], which lets only what is [`Printable`] get here.
    #[doc(hidden)]
    pub(crate) fn format(text: fmt::Arguments<'_>) -> Self {
        Self(text.to_string())
    }

    pub(crate) fn repeat(text: &'static str, times: usize) -> Self {
        Self(text.repeat(times))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many columns of a terminal it takes.
    pub(crate) fn width(&self) -> usize {
        measure_text_width(&self.0)
    }

    /// What fits into so many columns, with a `…` if that is not all.
    pub(crate) fn cut(&self, columns: usize) -> Self {
        Self(truncate_str(&self.0, columns, "…").into_owned())
    }

    /// The end of it that fits into so many columns. It must have no colours yet.
    pub(crate) fn tail(&self, columns: usize) -> Self {
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

    /// One line as several, each of at most so many columns. It must have no colours yet.
    pub(crate) fn wrapped(&self, columns: usize) -> Vec<Self> {
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

    pub(crate) fn is_blank(&self) -> bool {
        self.0.chars().all(|character| character.is_whitespace() || character == '\u{2800}')
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = Self> + '_ {
        self.0.lines().map(|line| Self(line.to_owned()))
    }

    pub(crate) fn trim_end(&self) -> Self {
        Self(self.0.trim_end().to_owned())
    }

    pub(crate) fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    pub(crate) fn join(parts: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let parts: Vec<String> = parts.into_iter().map(|part| part.0).collect();
        Self(parts.join(between))
    }

    /// Without its colours.
    pub(crate) fn plain(&self) -> Self {
        Self(anstream::adapter::strip_str(&self.0).to_string())
    }

    /// The same in pieces of about so many bytes, none of which ends inside of a colour.
    pub(crate) fn pieces(&self, bytes: usize) -> impl Iterator<Item = Self> + '_ {
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
    pub(crate) fn split_off(&mut self, at: usize) -> Self {
        Self(self.0.split_off(at))
    }

    /// Each line by itself: a terminal that scrolls may forget how a line began.
    fn styled(&self, style: impl Fn(&str) -> String) -> Self {
        let style = |line: &str| if line.is_empty() { String::new() } else { style(line) };
        Self(self.0.split('\n').map(style).collect::<Vec<_>>().join("\n"))
    }

    pub(crate) fn bold(&self) -> Self {
        self.styled(|line| line.bold().to_string())
    }

    pub(crate) fn dimmed(&self) -> Self {
        self.styled(|line| line.dimmed().to_string())
    }

    pub(crate) fn red(&self) -> Self {
        self.styled(|line| line.red().to_string())
    }

    pub(crate) fn green(&self) -> Self {
        self.styled(|line| line.green().to_string())
    }

    pub(crate) fn yellow(&self) -> Self {
        self.styled(|line| line.yellow().to_string())
    }

    pub(crate) fn blue(&self) -> Self {
        self.styled(|line| line.blue().to_string())
    }

    pub(crate) fn magenta(&self) -> Self {
        self.styled(|line| line.magenta().to_string())
    }

    pub(crate) fn cyan(&self) -> Self {
        self.styled(|line| line.cyan().to_string())
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
    if character.is_ascii() { 1 } else { measure_text_width(character.encode_utf8(&mut [0; 4])) }
}

/// What [`shown!`] takes: what is escaped already, literals and numbers. There is no such thing as a
/// printable `&str` of unknown origin.
pub(crate) trait Printable: fmt::Display {}

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

/// Lets through what is [`Printable`].
pub(crate) const fn printable<T: Printable>(value: &T) -> &T {
    value
}

/// As `format!`, for [`Shown`]: every argument must be [`Printable`], and none can be captured in the
/// format string, where it would not be checked.
macro_rules! shown {
    ($format:literal $(, $value:expr)* $(,)?) => {
        $crate::visible::Shown::format(format_args!(
            concat!($format) $(, $crate::visible::printable(&$value))*
        ))
    };
}
pub(crate) use shown;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    #[test]
    fn foreign_text_is_escaped_once_and_for_all() {
        let name = Foreign::from("a\u{1b}]0;x\u{7}\nb");
        assert_eq!(line(&name).as_str(), "a␛]0;x␇⏎b");
        assert_eq!(block(&name).as_str(), "a␛]0;x␇\nb");
        assert_eq!(name.first_line().as_str(), "a␛]0;x␇ …");
        assert_eq!(format!("{name:?}"), "\"a␛]0;x␇⏎b\"");
        assert_eq!(shown!("{:>3} {}", 7_u64, line(&name)).as_str(), "  7 a␛]0;x␇⏎b");
    }

    #[test]
    fn nothing_else_makes_text_printable() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
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
        // The macro, which checks what it is given.
        assert_eq!(users, ["visible.rs"]);
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
    fn colours_end_with_their_line() {
        assert_eq!(
            block("a\n\nb").red().as_str(),
            "\u{1b}[31ma\u{1b}[39m\n\n\u{1b}[31mb\u{1b}[39m"
        );
        assert_eq!(block("a\nb").red().plain().as_str(), "a\nb");
    }
}
