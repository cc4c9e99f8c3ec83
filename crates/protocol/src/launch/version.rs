//! [`CliVersion`]: which CLI it is.

use std::fmt;

/// The version of a CLI, as `claude --version` prints it.
///
/// ```
/// use duologue_protocol::launch::CliVersion;
///
/// let version = CliVersion::parse("2.1.52 (Claude Code)").unwrap();
/// assert!(version > CliVersion::new(2, 0, 77));
/// assert_eq!(version.to_string(), "2.1.52");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct CliVersion {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

impl CliVersion {
    /// The version with these numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Reads `2.1.52`, with or without something after it: `2.1.52 (Claude Code)`.
    ///
    /// `None` if there are not three numbers at its beginning.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let text = text.strip_prefix('v').unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (numbers, rest) = text.split_at(end);
        if !rest.is_empty() && !rest.starts_with([' ', '\t', '\r', '\n', '-', '+', '(']) {
            return None;
        }
        let mut numbers = numbers.split('.').map(|number| number.parse().ok());
        let version = Self::new(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for CliVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}
