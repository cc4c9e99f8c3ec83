//! The faults of an agent. `hazards` runs them, `misbehave` has them, `hazard-host` meets them.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};

/// The variable with the hazard, for the agent.
pub const HAZARD: &str = "HAZARD";
/// The variable with the directory of the agent's records.
pub const FOLDER: &str = "HAZARD_FOLDER";
/// A file in that directory: the flood is complete.
pub const FLOODED: &str = "flooded";
/// A file in that directory that grows while the flood is written.
pub const FLOODING: &str = "flooding";
/// How many lines a flood has, of about 1,850 bytes each.
pub const FLOOD_LINES: u64 = 100_000;
/// A slow consumer sleeps until everything is written, or nothing was written for this long.
pub const SLEEP: Duration = Duration::from_secs(5);
/// How many lines come in pieces while reads are cancelled.
pub const PIECES: u64 = 100;
/// The bytes of the text of a huge line.
pub const HUGE: usize = 50_000_000;
/// The number of requests of an agent that does not read the answers.
pub const UNREAD_ASKS: usize = 1_000;
/// How long the agent waits for answers.
pub const ASKED: Duration = Duration::from_secs(8);
/// The timeout of permission handlers, for libraries that have one.
pub const DEADLINE: Duration = Duration::from_millis(500);
/// How long a handler blocks its thread.
pub const BLOCKED: Duration = Duration::from_secs(3);
/// How many pieces a streamed message has, and the bytes of each: 200 MB.
pub const DELTAS: u64 = 100_000;
/// The bytes of each piece.
pub const DELTA: usize = 2_000;
/// A host that has received nothing for this long hangs.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(20);
/// The seconds that a child of the agent sleeps: it is recognised by them.
pub const FOREVER: &str = "86399";

macro_rules! hazards {
    ($($name:ident $word:literal $title:literal $about:literal)*) => {
        /// One fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Hazard {
            $(#[doc = $about] $name,)*
        }

        /// All of them, in the order of the table.
        pub const ALL: &[Hazard] = &[$(Hazard::$name),*];

        impl Hazard {
            /// Its name on the command line.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Its name in the table.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// What happens.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }
        }
    };
}

hazards! {
    Calm "calm" "nothing wrong" "A turn without a fault: two texts and a result. It shows that the test programs work."
    Stderr "stderr" "stderr flood" "300 KB on stderr at once, in the middle of the turn."
    Stray "stray" "stray line" "A line on stdout that is not JSON."
    Huge "huge" "50 MB line" "A text of 50,000,000 bytes in one line."
    UnknownType "unknown-type" "unknown message type" "A line with an unknown `type`."
    UnknownBlock "unknown-block" "unknown content block" "An assistant message with a content block of an unknown `type`."
    ResultSubtype "result-subtype" "unknown result subtype" "The `result` that ends the turn has an unknown `subtype`. The turn should end and `close` should return."
    Slow "slow" "slow consumer" "100,000 texts, 185 MB, as fast as the pipe accepts them, while the consumer sleeps after the first text, until everything is written or nothing is written for 5 s."
    Cancelled "cancelled" "cancelled reads" "100 lines in three pieces each; each read is cancelled after 1 ms and repeated."
    Asks "asks" "requests answered" "`can_use_tool`, `hook_callback`, `mcp_message` (for a server that does not exist), `elicitation` and an unknown subtype, at once. The agent waits for 8 s."
    NoCallback "no-callback" "no callback set" "`can_use_tool`, to a host without a permission handler. The agent waits for 8 s."
    Blocks "blocks" "handler past its deadline" "`can_use_tool`, to a permission handler that blocks its thread for 3 s and then allows. Where a library has a deadline for handlers, it is 0.5 s. The agent records the answer and its time."
    Deltas "deltas" "200 MB in one message" "One message of the model in 100,000 deltas of 2,000 bytes each, which never finishes: no line has the whole text."
    Unread "unread" "stops reading stdin" "The agent stops reading stdin, asks `can_use_tool` 1,000 times (so that answers queue up), and ends the turn. It does not notice the end of stdin. (It exits on SIGTERM.)"
    Closed "closed" "left after close" "The agent has started one process in its group and one that left it (`setsid`). The host closes as documented; the agent exits at the end of stdin."
    Dropped "dropped" "left after drop" "The same; the host is dropped (or goes out of scope) without being closed, and the program exits a second later."
    Killed "killed" "left after kill -9" "The same; the program is killed."
    StuckClosed "stuck-closed" "stuck, left after close" "The same; the agent does not exit at the end of stdin. (It exits on SIGTERM.)"
    StuckDropped "stuck-dropped" "stuck, left after drop" "The same, dropped."
    StuckKilled "stuck-killed" "stuck, left after kill -9" "The same, killed."
}

/// How a conversation is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As the documentation says.
    Close,
    /// It is dropped, and the program lives for a second.
    Drop,
    /// The program is killed.
    Kill,
}

impl Hazard {
    /// How the conversation is ended.
    pub const fn ending(self) -> Ending {
        match self {
            Self::Dropped | Self::StuckDropped => Ending::Drop,
            Self::Killed | Self::StuckKilled => Ending::Kill,
            _ => Ending::Close,
        }
    }

    /// Whether the agent starts processes that may be left.
    pub const fn has_offspring(self) -> bool {
        matches!(self, Self::Closed | Self::Dropped | Self::Killed) || self.is_stuck()
    }

    /// Whether the agent lives on when its stdin has ended.
    pub const fn is_stuck(self) -> bool {
        matches!(self, Self::StuckClosed | Self::StuckDropped | Self::StuckKilled)
    }
}

impl FromStr for Hazard {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        let found = ALL.iter().find(|hazard| hazard.word() == word);
        found.copied().with_context(|| format!("no hazard is called {word}"))
    }
}
