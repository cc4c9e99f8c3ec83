//! [`UsageMessage`]: messages of the CLI about usage limits.

/// A message of the CLI about usage limits, recognised by its text.
///
/// The CLI has no code for these messages. The prefixes are those of the official TypeScript SDK.
///
/// ```
/// use duologue::UsageMessage;
///
/// let message = UsageMessage::of("You've hit your session limit · resets 3pm");
/// assert_eq!(message, Some(UsageMessage::LimitReached));
/// assert_eq!(UsageMessage::of("Hello"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UsageMessage {
    /// A usage limit is reached. Requests fail until it is reset or raised.
    LimitReached,
    /// The organization has disabled the service.
    DisabledByOrganization,
    /// From now on, usage credits are used.
    UsingCredits,
    /// A limit is close.
    Warning,
}

const LIMIT_REACHED: &[&str] = &[
    "You've hit your",
    "You've reached your",
    "You're out of usage credits",
    "Your org is out of usage",
    "Your seat type doesn't include usage",
    "Your usage allocation has been disabled by your admin",
    "Your group's usage limit is set to $0",
    "Fable 5 requires usage credits",
    "You're out of extra usage",
    "Your seat type doesn't include extra usage",
    // Versions before 2.1.
    "Claude AI usage limit reached",
];

const DISABLED: &[&str] = &["This service is disabled for your org"];

const USING_CREDITS: &[&str] = &[
    "You're now using usage credits",
    "You're now using your usage allocation",
    "Now using your usage allocation",
    "Now using usage credits",
    "Now using credits",
    "You're now using extra usage",
    "Now using extra usage",
];

const WARNING: &[&str] = &["You've used", "You're close to"];

impl UsageMessage {
    /// Recognises a message by its beginning.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let kinds = [
            (LIMIT_REACHED, Self::LimitReached),
            (DISABLED, Self::DisabledByOrganization),
            (USING_CREDITS, Self::UsingCredits),
            (WARNING, Self::Warning),
        ];
        let matches = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
        kinds.into_iter().find_map(|(prefixes, kind)| matches(prefixes).then_some(kind))
    }

    /// Whether requests fail because of it.
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::LimitReached | Self::DisabledByOrganization)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_recognised_by_their_beginning_only() {
        for (text, kind) in [
            ("You've reached your Opus limit", Some(UsageMessage::LimitReached)),
            ("Your org is out of usage · add funds to continue", Some(UsageMessage::LimitReached)),
            ("Claude AI usage limit reached|1750000000", Some(UsageMessage::LimitReached)),
            ("This service is disabled for your org", Some(UsageMessage::DisabledByOrganization)),
            ("Now using extra usage", Some(UsageMessage::UsingCredits)),
            ("You've used 90% of your weekly limit", Some(UsageMessage::Warning)),
            ("I think you've hit your limit", None),
            ("", None),
        ] {
            assert_eq!(UsageMessage::of(text), kind, "{text}");
        }
        assert!(!UsageMessage::Warning.is_limit() && !UsageMessage::UsingCredits.is_limit());
    }
}
