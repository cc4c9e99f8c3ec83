//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use duologue_protocol::Direction;

/// See, check and describe the conversation that Claude Code holds over stdin and stdout.
///
/// That conversation ("the wire") is one JSON object per line, called stream-json. A tape is a
/// recording of it, both directions.
#[derive(Debug, Parser)]
#[command(name = "duologue", version, help_expected = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Is every line understood? Counts, unknown types and fields, malformed lines, broken rules
    Check(Check),
    /// What happened? A timeline of a conversation, for people, programs or a browser
    Inspect(Inspect),
    /// Print the JSON Schema of the wire
    Schema(Schema),
    /// Run an agent unchanged, and write a tape of all it hears and says
    Record(Record),
    /// Be the agent on a tape, for any host; or its host, for any agent
    Replay(Replay),
    /// Compare two tapes by meaning, or by shape
    Diff(Diff),
    /// Make a tape that can be shared: without keys, names and addresses
    Redact(Redact),
    /// Start a program that dies with us; what `record` does
    #[command(hide = true)]
    Start(Start),
}

/// Is every line understood?
///
/// Reads tapes and plain captures of stdout, and tells at a glance whether everything in them is
/// understood.
///
/// Exit codes: 0 if every type and subtype is known and nothing on stdout is malformed, 1 if not, 2
/// if a file could not be read. Unknown fields, broken rules and malformed lines of the host are
/// warnings, unless --strict.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Check {
    /// Tapes or captures; - or nothing for stdin
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object instead of a report
    #[arg(long)]
    pub(crate) json: bool,

    /// Warnings count: exit 1 for them too
    #[arg(long)]
    pub(crate) strict: bool,

    /// Which way the lines of a plain capture go
    #[arg(long, value_enum, default_value_t = Way::ToHost)]
    pub(crate) direction: Way,

    /// The most bytes a line of the file may have (256 MiB unless set); longer ones are reported and
    /// passed over
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_line: Option<usize>,
}

/// What happened?
///
/// Reads a tape or a plain capture of stdout and tells what happened in it, each thing once: turns,
/// agents, texts, tool calls and their results, permissions and who decided, retries, tokens, money.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Inspect {
    /// A tape or a capture; - or nothing for stdin
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) file: PathBuf,

    /// Print the events, one JSON object per line
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,

    /// Show texts, thinking and tool inputs as they were streamed too
    #[arg(long)]
    pub(crate) deltas: bool,

    /// Write one HTML page, which needs no network; - for stdout
    #[arg(long, value_name = "OUT", conflicts_with = "follow")]
    pub(crate) html: Option<PathBuf>,

    /// Wait for more at the end of the file, until interrupted
    #[arg(long)]
    pub(crate) follow: bool,

    /// Show everything in full, not just its beginning
    #[arg(long)]
    pub(crate) full: bool,

    /// The most bytes a line of the file may have (256 MiB unless set); longer ones are reported and
    /// passed over
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_line: Option<usize>,

    /// Which way the lines of a plain capture go
    #[arg(long, value_enum, default_value_t = Way::ToHost)]
    pub(crate) direction: Way,
}

/// Print the JSON Schema of the wire.
///
/// A line validates if this version understands it. Unknown fields are allowed.
#[derive(Debug, Parser)]
pub(crate) struct Schema {
    /// Only the lines that go this way
    #[arg(long, value_enum, conflicts_with = "events")]
    pub(crate) direction: Option<Way>,

    /// The events of `inspect --json` instead of the lines of the wire
    #[arg(long)]
    pub(crate) events: bool,
}

/// Run an agent unchanged, and write a tape.
///
/// Stands in for the agent: its stdin, stdout and stderr pass through byte for byte, signals reach it,
/// its exit code is ours. If the tape cannot be written any more, that is said on stderr, and the
/// conversation goes on.
///
///   duologue record -o talk.tape -- claude --input-format stream-json ...
///   duologue record --install bin     then let your program find bin/claude first
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Record {
    /// The tape, packed if its name ends in .zst; or a folder, for a tape with a new name
    #[arg(short, long, value_name = "TAPE", required_unless_present = "install")]
    pub(crate) output: Option<PathBuf>,

    /// Replace a tape of that name
    #[arg(long)]
    pub(crate) force: bool,

    /// Leave out what should not be shared: see `duologue redact`
    #[arg(long)]
    pub(crate) redact: bool,

    /// Also leave out what stands at this path of a line: message.content[].text
    #[arg(long = "path", value_name = "PATH", requires = "redact")]
    pub(crate) paths: Vec<String>,

    /// Put a `claude` into this folder that records; tapes go to DUOLOGUE_TAPE, or to --output, or
    /// to the folder `tapes` in it
    #[arg(long, value_name = "DIR")]
    pub(crate) install: Option<PathBuf>,

    /// The agent and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "install")]
    pub(crate) command: Vec<OsString>,
}

/// Be the agent on a tape, for any host.
///
/// Waits for what the host wrote then, and answers as the agent answered then. Lines are matched by
/// meaning: names that the host makes up may be others, requests may come in another order, fields may
/// be added. The host's own arguments are ignored.
///
///   duologue replay talk.tape
///   duologue replay --install bin     then let your program find bin/claude first, with DUOLOGUE_TAPE
///   duologue replay --as-host talk.tape -- claude ...
///
/// Exit codes: the agent's; 3 if the other end does something else than on the tape; 2 if the tape
/// cannot be read.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Replay {
    /// The tape; DUOLOGUE_TAPE if not given
    #[arg(value_name = "TAPE")]
    pub(crate) tape: Option<PathBuf>,

    /// How alike prompts and answers must be
    #[arg(long = "match", value_enum, default_value_t = Alike::Exact)]
    pub(crate) alike: Alike,

    /// What happens when the host does something else
    #[arg(long, value_enum, default_value_t = OnMismatch::Fail)]
    pub(crate) on_mismatch: OnMismatch,

    /// How fast: instant, real, or a factor: 2 is twice as fast
    #[arg(long, value_name = "SPEED", default_value = "instant")]
    pub(crate) speed: Speed,

    /// Put a `claude` into this folder that replays
    #[arg(long, value_name = "DIR", conflicts_with = "as_host")]
    pub(crate) install: Option<PathBuf>,

    /// Be the host instead, for the agent after --, and compare what it says
    #[arg(long)]
    pub(crate) as_host: bool,

    /// With --as-host: how many seconds the agent may keep us waiting
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) patience: u64,

    /// The host's arguments, which are ignored; with --as-host, the agent and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Alike {
    /// A prompt says the same, an answer all that it said then
    Exact,
    /// White space and case do not count, of an answer only what was decided
    Loose,
    /// Any prompt, any answer
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnMismatch {
    /// Report it and exit with 3
    Fail,
    /// Report it and go on as well as possible
    Continue,
}

/// How fast a tape is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    Instant,
    Times(f64),
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "instant" => Ok(Self::Instant),
            "real" => Ok(Self::Times(1.0)),
            _ => match text.parse::<f64>() {
                Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(Self::Times(factor)),
                _ => Err("say instant, real, or a number above 0".to_owned()),
            },
        }
    }
}

/// Compare two tapes by meaning.
///
/// Both are folded into events and compared turn by turn: what is missing, what is extra, what is
/// different. Ids, times, costs and tokens do not count.
///
/// Exit codes: 0 if they are equal, 1 if not, 2 if one cannot be read.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Diff {
    /// The first tape or capture
    pub(crate) a: PathBuf,

    /// The second
    pub(crate) b: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Compare shapes only: types and fields that were added and removed
    #[arg(long)]
    pub(crate) schema: bool,
}

/// Make a tape that can be shared.
///
/// Replaces keys and tokens, home folders and user names, e-mail addresses and account fields. The
/// same thing is replaced by the same words all over the tape, so that it still replays. What was
/// replaced is counted on stderr. It cannot see a secret that was streamed in pieces: look at a tape
/// before you share it.
#[derive(Debug, Parser)]
pub(crate) struct Redact {
    /// The tape; - for stdin
    #[arg(value_name = "TAPE")]
    pub(crate) tape: PathBuf,

    /// Where the new tape goes, packed if its name ends in .zst; stdout if not given
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Also replace what stands at this path of a line, and under it: message.content[].text
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

/// Start a program that dies with us.
#[derive(Debug, Parser)]
pub(crate) struct Start {
    /// The process to die with
    pub(crate) parent: u32,

    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Way {
    /// The agent's stdout
    ToHost,
    /// The agent's stdin
    ToAgent,
}

impl From<Way> for Direction {
    fn from(way: Way) -> Self {
        match way {
            Way::ToHost => Self::ToHost,
            Way::ToAgent => Self::ToAgent,
        }
    }
}
