//! [`LaunchError`]: why options are refused.

use std::fmt;

use super::version::CliVersion;

/// Why options are refused, before anything is started.
///
/// ```
/// use duologue_protocol::launch::{Launch, LaunchError};
///
/// let error = Launch::new().model("opus").fallback_models(["opus"]).plan(None).unwrap_err();
/// assert!(matches!(error, LaunchError::Contradiction { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// Two options contradict each other.
    #[non_exhaustive]
    Contradiction {
        /// The one.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Why not, and what to do.
        why: &'static str,
    },
    /// An option has a value that cannot work.
    #[non_exhaustive]
    Invalid {
        /// The option.
        option: &'static str,
        /// The value, shortened.
        value: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// This version of the CLI does not support the option.
    #[non_exhaustive]
    Unsupported {
        /// The option.
        option: &'static str,
        /// The version at hand.
        version: CliVersion,
        /// The newest version that is known not to support it.
        missing_in: CliVersion,
    },
    /// A value is too long for a command line, and cannot be passed in another way.
    #[non_exhaustive]
    TooLong {
        /// The flag.
        flag: String,
        /// How long it is, in bytes.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// All arguments together are too long for a command line.
    #[non_exhaustive]
    ArgvTooLong {
        /// How long they are, in bytes.
        length: usize,
        /// How long they may be.
        limit: usize,
    },
}

impl LaunchError {
    pub(super) const fn contradiction(
        first: &'static str,
        second: &'static str,
        why: &'static str,
    ) -> Self {
        Self::Contradiction { first, second, why }
    }

    pub(super) fn invalid(option: &'static str, value: &str, why: &'static str) -> Self {
        /// Enough to recognise a value, and no more than fits a message.
        const SHOWN: usize = 60;
        let mut shown: String = value.chars().take(SHOWN).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self::Invalid { option, value: shown, why }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contradiction { first, second, why } => {
                write!(f, "{first} and {second} contradict each other: {why}")
            }
            Self::Invalid { option, value, why } => write!(f, "{option} {value:?}: {why}"),
            Self::Unsupported { option, version, missing_in } => write!(
                f,
                "{option} is not known to Claude Code {version}: use a version after {missing_in}, \
                 or leave the option out"
            ),
            Self::TooLong { flag, length, limit } => write!(
                f,
                "{flag} is {length} bytes long, and an argument may be {limit}: there is no other \
                 road for it"
            ),
            Self::ArgvTooLong { length, limit } => {
                write!(f, "the arguments are {length} bytes long, and may be {limit}: give fewer")
            }
        }
    }
}

impl std::error::Error for LaunchError {}
