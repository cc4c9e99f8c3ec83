//! Legacy forms: how an agent serves a host that follows the oldest descriptions of the wire.
//!
//! `AgentLink` reads and writes the lines themselves; `Options::lenient` and [`Dialect`] turn them on.

use std::str::FromStr;

use duologue_protocol::agent_link::AgentLink;
use duologue_protocol::system::System;

use crate::session::Session;

/// The forms that an agent writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Those of the real CLI.
    #[default]
    Current,
    /// Legacy forms: `legacy`.
    Legacy,
    /// The same, with the end of a turn as a `system` line: `legacy-system-result`.
    LegacySystemResult,
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "current" | "today" => Ok(Self::Current),
            "legacy" => Ok(Self::Legacy),
            "legacy-system-result" => Ok(Self::LegacySystemResult),
            other => Err(format!(
                "error: unknown dialect '{other}'; there are current, legacy and legacy-system-result"
            )),
        }
    }
}

impl Dialect {
    /// A link that writes these forms.
    pub(crate) fn apply(self, link: AgentLink) -> AgentLink {
        match self {
            Self::Current => link,
            Self::Legacy => link.legacy(),
            Self::LegacySystemResult => link.legacy_with_system_result(),
        }
    }

    /// Whether `init` comes at the start of every turn. In legacy forms it comes once, at the start of the process.
    pub(crate) fn has_init_in_turns(self) -> bool {
        self == Self::Current
    }
}

impl Session {
    /// Sends `init` at the start of the process, if the dialect has it there.
    pub(crate) fn say_init_at_start(&self) {
        if !self.options().dialect.has_init_in_turns() {
            self.say_line_now(System::from(Box::new(self.init_line())));
        }
    }

    /// Whether this is a legacy host that expects to approve every tool call it sees.
    pub fn approves_tools(&self) -> bool {
        let options = self.options();
        options.lenient && !options.prompts && !self.connection.with(|state| state.has_handshake)
    }
}
