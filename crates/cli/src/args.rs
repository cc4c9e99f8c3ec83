//! What can be typed.

mod tapes;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use duologue_protocol::Direction;

use crate::session_args::SessionArgs;

pub(crate) use tapes::*;

/// Talk to Claude Code from the shell, and see, test, record and replay what programs say to it.
///
/// Programs talk to Claude Code over its stdin and stdout, one JSON object per line (stream-json,
/// "the wire"). A host is the program that asks, the agent is what answers: claude, or this program.
/// A tape is a recording of both.
#[derive(Debug, Parser)]
#[command(name = "duologue", version, help_expected = true, arg_required_else_help = true)]
#[command(after_help = START)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where to begin.
const START: &str = "\
To begin with:
  duologue run \"read Cargo.toml\"                ask once; without claude, the embedded agent answers
  duologue chat                                  talk
  duologue doctor                                when something does not work
  duologue COMMAND --help                        more about a command, and its exit codes";

// Attributes, since a doc comment here would take the place of the long help there.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(about = "Ask once: the answer on stdout, what the agent does on stderr")]
    Run(Box<Run>),
    #[command(about = "Talk to an agent in the terminal")]
    Chat(Box<Chat>),
    #[command(
        about = "Be the agent: a drop-in for claude, with real tools, with or without a model",
        disable_help_flag = true,
        disable_version_flag = true
    )]
    Agent(Agent),
    #[command(about = "Be the model: a scripted Messages API, for the real claude")]
    Model(Model),
    #[command(about = "Is Claude Code there, does it answer, and what is to be mended?")]
    Doctor(Doctor),
    #[command(about = "Is every line understood? What is unknown, malformed, against the rules")]
    Check(Check),
    #[command(
        about = "What happened? A timeline of a conversation, for people, programs or a browser"
    )]
    Inspect(Inspect),
    #[command(about = "Print the JSON Schema of wire lines, events or scenario files")]
    Schema(Schema),
    #[command(about = "Run an agent unchanged, and write a tape of all it hears and says")]
    Record(Record),
    #[command(about = "Be the agent on a tape, for any host; or its host, for any agent")]
    Replay(Replay),
    #[command(about = "Compare two tapes by meaning, or by shape")]
    Diff(Diff),
    #[command(about = "Make a tape that can be shared: without keys, names and addresses")]
    Redact(Redact),
    #[command(about = "Print the completions for a shell")]
    Completions(Completions),
    #[command(about = "Write the manual pages, one for each command")]
    Man(Man),
    /// Start a program that dies with us; what `record` does
    #[command(hide = true)]
    Start(Start),
}

/// Ask once.
///
/// The answer goes to stdout as it is written; tool calls, warnings and the bill go to stderr. Nobody
/// is asked anything: what needs permission is denied, unless --allowed-tools, --permission-mode or
/// --yes say otherwise.
///
/// Ctrl-C interrupts the turn, stops printing its text and waits for its end; once more ends everything
/// at once.
///
/// Exit codes:
///   0    the turn succeeded, or whoever read stdout had enough
///   1    the agent failed, or the command took longer than --timeout
///   2    the command line is wrong
///   3    the turn failed because a tool was not allowed
///   4    the budget is used up
///   5    there is no agent; or no Claude Code, so that the embedded agent answered without a model, and
///        neither --embedded nor a terminal
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

    /// The same as --output json
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,

    /// With stream-json: texts as they are being written, too
    #[arg(long, alias = "include-partial-messages")]
    pub(crate) partial_messages: bool,

    /// A JSON Schema that the answer must fit; the value goes to stdout
    #[arg(long, value_name = "FILE|JSON", alias = "json-schema")]
    pub(crate) schema: Option<String>,

    /// How long the whole command may take, from starting the agent to its end: 90, 90s, 5m, 1h.
    /// Then the agent is killed
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

impl Run {
    /// What goes to stdout.
    pub(crate) const fn output(&self) -> Output {
        if self.json { Output::Json } else { self.output }
    }
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

/// Print the completions for a shell.
///
/// For bash, for instance: duologue completions bash > ~/.local/share/bash-completion/completions/duologue
///
/// Exit codes: 0, or 2 if they cannot be written.
#[derive(Debug, Parser)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages, one for each command.
///
/// man -l DIR/duologue.1 shows the first of them.
///
/// Exit codes: 0, or 2 if they cannot be written, or would replace other files.
#[derive(Debug, Parser)]
pub(crate) struct Man {
    /// The folder to write them to; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Replace files of these names
    #[arg(long)]
    pub(crate) force: bool,
}

/// Be the agent: a drop-in for claude.
///
/// Its own flags (--scenario, --fault, --lenient, --dialect, --install DIR) are told by `duologue agent --help`.
///
/// Exit codes: those of claude: 0, or 1 if the turn failed or the command line is wrong.
#[derive(Debug, Parser)]
pub(crate) struct Agent {
    /// The flags of Claude Code; --help tells which are ours
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}

/// Be the model: what a scenario says, as a Messages API.
///
/// The real claude asks it as it asks the real one, without a network, a key or a bill.
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

    /// How long all of it may take: 30, 30s, 1m. Then the agent is killed
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub(crate) timeout: Duration,
}

/// Is every line understood?
///
/// Reads tapes and plain captures of stdout, and tells at a glance whether everything in them is
/// understood.
///
/// Exit codes: 0 if every type and subtype is known and nothing on stdout is malformed, 1 if not, or if
/// there is no line at all, 2 if a file could not be read. Unknown fields, broken rules and malformed lines of the host are
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

    /// The most bytes a line of the file may have (128 MiB unless set); longer ones are reported and
    /// passed over
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_line: Option<usize>,
}

/// What happened?
///
/// Reads a tape or a plain capture of stdout and tells what happened in it, each thing once: turns,
/// agents, texts, tool calls and their results, permissions and who decided, retries, tokens, money.
///
///   duologue inspect talk.tape
///   duologue inspect talk.tape --html talk.html
///
/// Exit codes: 0; 1 if a line of the agent is malformed, or there is no line at all; 2 if the file cannot
/// be read, or the page cannot be written.
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

    /// Write one HTML page to OUT, which needs no network; - for stdout. A file that exists is not replaced
    #[arg(long, value_name = "OUT", conflicts_with = "follow")]
    pub(crate) html: Option<PathBuf>,

    /// With --html: replace OUT if it exists. A tape is never replaced
    #[arg(long, requires = "html")]
    pub(crate) force: bool,

    /// Wait for more at the end of the file, until interrupted; also for a file that is still to come, and
    /// from its start if it is truncated or replaced
    #[arg(long)]
    pub(crate) follow: bool,

    /// Show everything in full, not just its beginning
    #[arg(long)]
    pub(crate) full: bool,

    /// The most bytes a line of the file may have (128 MiB unless set); longer ones are reported and
    /// passed over
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_line: Option<usize>,

    /// Which way the lines of a plain capture go
    #[arg(long, value_enum, default_value_t = Way::ToHost)]
    pub(crate) direction: Way,
}

/// Talk to an agent in the terminal.
///
/// What it may do is asked with menus: once, from now on, or no, with a reason. A menu shows the
/// beginning of a long command; Ctrl-O shows the rest. Ctrl-C interrupts a turn and stops its output,
/// a second one leaves, so does Ctrl-D. Tab completes /commands. Without a terminal, each line of stdin is a prompt,
/// and what nobody can be asked for is refused.
///
/// Exit codes: 0; 1 if the agent failed or, without a terminal, a turn did; 2 if the command line is
/// wrong; 5 if there is no agent or, without a terminal, the embedded agent answered without a model
/// and --embedded.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Chat {
    /// The first thing to say
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Show what the model thinks
    #[arg(long)]
    pub(crate) thinking: bool,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Print the JSON Schema of wire lines, events or scenario files.
///
/// A line validates if this version understands it; unknown fields are allowed. A scenario validates if
/// `duologue agent --scenario` and `duologue model serve` accept it; unknown fields are errors.
///
/// Exit codes: 0, or 2 if it cannot be written.
#[derive(Debug, Parser)]
pub(crate) struct Schema {
    /// Only the lines that go this way
    #[arg(long, value_enum, conflicts_with_all = ["events", "scenario"])]
    pub(crate) direction: Option<Way>,

    /// The events of `inspect --json` instead of the lines of the wire
    #[arg(long, conflicts_with = "scenario")]
    pub(crate) events: bool,

    /// Scenario files, in TOML or JSON, instead of the lines of the wire
    #[arg(long)]
    pub(crate) scenario: bool,
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
    fn every_command_has_a_long_help() {
        let args = Args::command();
        // The agent tells of its flags itself.
        let ours =
            |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "agent";
        for command in args.get_subcommands().filter(ours) {
            assert!(command.get_long_about().is_some(), "{}", command.get_name());
        }
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
