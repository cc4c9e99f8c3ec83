//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use duologue_protocol::Direction;

use crate::session_args::SessionArgs;

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
    /// Talk to an agent in the terminal
    Chat(Box<Chat>),
    /// Print the JSON Schema of the wire
    Schema(Schema),
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
