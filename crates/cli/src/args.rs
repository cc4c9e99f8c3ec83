//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use duologue_protocol::Direction;

use crate::session_args::SessionArgs;

/// Hold, see, check and describe the conversation that Claude Code holds over stdin and stdout.
///
/// That conversation ("the wire") is one JSON object per line, called stream-json. A tape is a
/// recording of it, both directions.
#[derive(Debug, Parser)]
#[command(name = "duologue", version, help_expected = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

// Attributes, since a doc comment here would take the place of the long help there.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(
        about = "One prompt and what comes of it: text on stdout, what the agent does on stderr"
    )]
    Run(Box<Run>),
    #[command(about = "Talk to an agent in the terminal")]
    Chat(Box<Chat>),
    #[command(
        about = "Be the agent: a drop-in for claude, with real tools, with or without a model",
        disable_help_flag = true,
        disable_version_flag = true
    )]
    Agent(Agent),
    #[command(about = "Be the model: a scripted Messages API")]
    Model(Model),
    #[command(about = "Is Claude Code there, does it answer, and what is to be mended?")]
    Doctor(Doctor),
    #[command(
        about = "Is every line understood? Counts, unknown types and fields, malformed lines, broken rules"
    )]
    Check(Check),
    #[command(
        about = "What happened? A timeline of a conversation, for people, programs or a browser"
    )]
    Inspect(Inspect),
    #[command(about = "Print the JSON Schema of the wire")]
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

/// One prompt and what comes of it.
///
/// The answer goes to stdout as it is written; tool calls, warnings and the bill go to stderr. Nobody
/// is asked anything: what needs permission is denied, unless --allowed-tools, --permission-mode or
/// --yes say otherwise.
///
/// Ctrl-C interrupts the turn and lets it settle; once more ends everything at once.
///
/// Exit codes:
///   0    the turn succeeded, or whoever read stdout had enough
///   1    the agent failed, or took longer than --timeout
///   2    the command line is wrong
///   3    the turn failed because a tool was not allowed
///   4    the budget is used up
///   5    there is no agent
///   130  interrupted
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    /// What is asked; - for stdin, which is also read if there is no prompt and no terminal
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// A file with the prompt, or with what follows it; - for stdin
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// What goes to stdout
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,

    /// With stream-json: texts as they are being written, too
    #[arg(long, alias = "include-partial-messages")]
    pub(crate) partial_messages: bool,

    /// A JSON Schema that the answer must fit; the value goes to stdout
    #[arg(long, value_name = "FILE|JSON", alias = "json-schema")]
    pub(crate) schema: Option<String>,

    /// How long it may take: 90, 90s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// Allow whatever the agent asks for. Rules that forbid something still count
    #[arg(long, short, help_heading = "Permissions")]
    pub(crate) yes: bool,

    /// Only warnings and errors on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The answer
    Text,
    /// The agent's result line, byte for byte
    Json,
    /// All lines of the agent, byte for byte
    StreamJson,
}

/// Be the agent: a drop-in for claude.
#[derive(Debug, Parser)]
pub(crate) struct Agent {
    /// The flags of Claude Code; --help tells which are ours
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}

/// Be the model: what a scenario says, as a Messages API.
#[derive(Debug, Parser)]
pub(crate) struct Model {
    #[command(subcommand)]
    pub(crate) command: ModelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    #[command(about = "Serve a scenario as a Messages API, on this machine")]
    Serve(ModelServe),
}

/// Serves a scenario as a Messages API, until Ctrl-C.
///
/// When it is ready it prints one line of JSON with its base_url. Start claude with that as
/// ANTHROPIC_BASE_URL, and with any ANTHROPIC_API_KEY.
#[derive(Debug, Parser)]
pub(crate) struct ModelServe {
    /// What the model says: a TOML or JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: PathBuf,

    /// The port; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,

    /// The address. It asks nobody who they are: think before you take one that others can reach
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,

    /// Log each request on stderr, as a line of JSON
    #[arg(long)]
    pub(crate) log: bool,
}

/// Is Claude Code there, does it answer, and what is to be mended?
///
/// Starts the agent and shakes hands with it. No prompt is sent, and no network is used.
///
/// Exit codes: 0 if all is well, 1 if something is broken, 2 if the command line is wrong, 5 if there
/// is no agent.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Doctor {
    /// The agent's program, with its first arguments: "node cli.js", or once for each word. Without
    /// it, Claude Code is looked for on the PATH and in the usual places
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(crate) agent: Vec<String>,

    /// Print one JSON object instead of a report
    #[arg(long)]
    pub(crate) json: bool,

    /// How long the agent may take to answer: 30, 30s, 1m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub(crate) timeout: Duration,
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

/// Talk to an agent in the terminal.
///
/// What it may do is asked with menus: once, from now on, or no, with a reason. Ctrl-C interrupts a
/// turn, Ctrl-D leaves, Tab completes /commands. Without a terminal, each line of stdin is a prompt, and
/// what nobody can be asked for is refused.
///
/// Exit codes: 0, or 1 if the agent failed or, without a terminal, a turn did.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// The first thing to say
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Show what the model thinks
    #[arg(long)]
    pub(crate) thinking: bool,
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

/// A span of time: a number of seconds, or one with a unit.
fn duration(text: &str) -> Result<Duration, String> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("the units are ms, s, m and h".to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| "that is no number".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn spans_of_time_have_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "m", "-1", "1d", "nan", "1e300h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
