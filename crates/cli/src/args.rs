//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use duologue_protocol::Direction;

use crate::commands::{serve, sessions, usage};
use crate::session_args::SessionArgs;

/// Talk to Claude Code from the shell. Check, record, replay and test programs that use its stream-json protocol.
///
/// Programs talk to Claude Code over its stdin and stdout, one JSON object per line (stream-json,
/// "the wire"). A host is the program that sends prompts. An agent answers them: claude, or this program.
/// A tape is a recording of both directions.
#[derive(Debug, Parser)]
#[command(name = "duologue", version, help_expected = true, arg_required_else_help = true)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  duologue run \"read Cargo.toml\"      Send one prompt; without claude, the embedded agent answers
  duologue chat                       Start a conversation
  duologue acp                        Serve an editor: see docs/acp.md
  duologue doctor                     Find out why something does not work
  duologue COMMAND --help             Show the options and exit codes of a command";

// `about` as an attribute: a doc comment here would replace the long help of the command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(about = "Send one prompt: the answer on stdout, progress on stderr")]
    Run(Box<Run>),
    #[command(about = "Talk to an agent in the terminal")]
    Chat(Box<Chat>),
    #[command(
        about = "Run the embedded agent, a drop-in for claude with real tools, with or without a model",
        disable_help_flag = true,
        disable_version_flag = true
    )]
    Agent(Agent),
    #[command(
        about = "Serve an editor: an agent of the Agent Client Protocol (ACP) on stdin and stdout"
    )]
    Acp(Acp),
    #[command(about = "Serve a scripted Messages API for the real claude")]
    Model(Model),
    #[command(about = "Check the installation of Claude Code, and suggest fixes")]
    Doctor(Doctor),
    #[command(about = "Check that every line is understood: unknown, malformed, against the rules")]
    Check(Check),
    #[command(about = "Show what happened in a conversation: as text, JSON or a web page")]
    Inspect(Inspect),
    #[command(about = "Print the JSON Schema of wire lines, events or scenario files")]
    Schema(Schema),
    #[command(about = "Run an agent unchanged, and record the conversation to a tape")]
    Record(Record),
    #[command(about = "Replay a tape as the agent, or with --as-host as the host")]
    Replay(Replay),
    #[command(about = "Compare two tapes by meaning, or by types and fields")]
    Diff(Diff),
    #[command(about = "Remove keys, names and addresses from a tape, so that it can be shared")]
    Redact(Redact),
    #[command(about = "List, read, change and move stored conversations")]
    Sessions(Box<sessions::args::Sessions>),
    #[command(about = "Show what stored conversations cost, by day, model and project")]
    Usage(usage::Usage),
    #[command(about = "Run sessions behind an HTTP API, for several clients at once")]
    Serve(serve::Serve),
    #[command(about = "Print completions for a shell")]
    Completions(Completions),
    #[command(about = "Write the manual pages, one for each command")]
    Man(Man),
    /// Start a program that is killed when its parent dies; used by `record`
    #[command(hide = true)]
    Start(Start),
}

/// Send one prompt.
///
/// The answer goes to stdout as it is written. Tool calls, warnings and the cost go to stderr.
/// Permission requests are denied, unless --allowed-tools, --permission-mode or --yes allow them.
///
/// Ctrl-C interrupts the turn, stops printing and waits for the end of the turn. A second Ctrl-C kills
/// the agent.
///
/// Exit codes:
///   0    the turn succeeded, or the reader closed stdout
///   1    the agent failed, or the command took longer than --timeout
///   2    the command line is wrong
///   3    the turn failed because a tool was denied
///   4    the budget is used up
///   5    there is no agent; or there is no Claude Code, and the embedded agent answered without a
///        model, without --embedded and without a terminal
///   130  interrupted
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    /// The prompt; - for stdin, which is also read if there is no prompt and stdin is not a terminal
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Read the prompt from a file, or append the file to the prompt; - for stdin
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// What to print on stdout
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,

    /// The same as --output json
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,

    /// With stream-json: include texts while they are being written
    #[arg(long, alias = "include-partial-messages")]
    pub(crate) partial_messages: bool,

    /// Require an answer that fits this JSON Schema, and print the value
    #[arg(long, value_name = "FILE|JSON", alias = "json-schema")]
    pub(crate) schema: Option<String>,

    /// Time limit for the whole command, after which the agent is killed: 90, 90s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// Allow every permission request. Rules that deny something still apply
    #[arg(long, short, help_heading = "Permissions")]
    pub(crate) yes: bool,

    /// Print only warnings and errors on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

impl Run {
    /// What to print on stdout.
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

/// Talk to an agent in the terminal.
///
/// Permission requests are menus: allow once, allow always, or deny with a reason. A long command is
/// cut; Ctrl-O shows the rest. Ctrl-C interrupts a turn and stops its output. A second Ctrl-C, or
/// Ctrl-D, exits. Tab completes /commands.
///
/// Without a terminal, each line of stdin is a prompt, and permission requests are denied.
///
/// Exit codes: 0; 1 if the agent failed or, without a terminal, a turn failed; 2 if the command line is
/// wrong; 5 if there is no agent or, without a terminal, the embedded agent answered without a model
/// and without --embedded.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Chat {
    /// The first prompt
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Show the reasoning of the model
    #[arg(long)]
    pub(crate) thinking: bool,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Run the embedded agent, a drop-in for claude.
///
/// `duologue agent --help` shows its own flags: --scenario, --fault, --lenient, --dialect, --install DIR.
///
/// Exit codes, as those of claude: 0, or 1 if the turn failed or the command line is wrong.
#[derive(Debug, Parser)]
pub(crate) struct Agent {
    /// The flags of Claude Code, and some of our own: see --help
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}

/// Serve an editor over the Agent Client Protocol (ACP), version 1, on stdin and stdout.
///
/// Editors start this command: Zed, JetBrains IDEs, Neovim, Emacs and others. Each session of the
/// editor is an agent of its own, which ends with the session and with this command.
///
/// Exit codes: 0 if the editor closed the connection; 1 if the connection failed; 2 if the command line
/// is wrong or the tape exists; 5 if --agent names no program. With --login: the exit code of the login.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Acp {
    /// The agent's program and its first arguments: "node cli.js", or one flag per word. The default is
    /// Claude Code, on the PATH or in its usual places, or else the embedded agent
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(crate) agent: Vec<String>,

    /// Use the embedded agent, even if Claude Code is installed
    #[arg(long, conflicts_with = "agent")]
    pub(crate) embedded: bool,

    /// Record both protocols to a new tape: the lines of the first session's agent, and as notes those
    /// of the editor (acp) and of other agents. `duologue inspect` shows it
    #[arg(long, value_name = "TAPE", conflicts_with = "login")]
    pub(crate) record: Option<PathBuf>,

    /// Log in to Claude Code in this terminal, and exit. Editors run this
    #[arg(long, conflicts_with = "embedded")]
    pub(crate) login: bool,

    /// More flags for the agent, passed unchanged
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) extra: Vec<OsString>,
}

/// Serve a scenario as a Messages API.
///
/// The real claude uses it like the real API, without a network, a key or costs.
#[derive(Debug, Parser)]
pub(crate) struct Model {
    #[command(subcommand)]
    pub(crate) command: ModelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    #[command(about = "Serve a scenario as a Messages API on this machine")]
    Serve(ModelServe),
}

/// Serve a scenario as a Messages API, until Ctrl-C.
///
/// When it is ready, it prints one line of JSON with its base_url. Start claude with that as
/// ANTHROPIC_BASE_URL, and with any ANTHROPIC_API_KEY.
#[derive(Debug, Parser)]
pub(crate) struct ModelServe {
    /// The scenario, a TOML or JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: PathBuf,

    /// The port; 0 for any free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,

    /// The address to listen on. There is no authentication: keep it on loopback
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,

    /// Log each request on stderr, as a line of JSON
    #[arg(long)]
    pub(crate) log: bool,
}

/// Check the installation of Claude Code.
///
/// Starts the agent, completes the handshake and stops it again. Sends no prompt, and keeps the agent from using
/// the network.
///
/// Exit codes: 0 if there is no problem, 1 if something is broken, 2 if the command line is wrong, 5 if
/// there is no agent.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Doctor {
    /// The agent's program and its first arguments: "node cli.js", or one flag per word. The default is
    /// Claude Code, on the PATH or in its usual places
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(crate) agent: Vec<String>,

    /// Print one JSON object instead of a report
    #[arg(long)]
    pub(crate) json: bool,

    /// Time limit for the whole command, after which the agent is killed: 30, 30s, 1m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub(crate) timeout: Duration,
}

/// Check that every line is understood.
///
/// Reads tapes and plain captures of stdout. Unknown fields, broken rules and malformed lines of the host
/// are warnings.
///
/// Exit codes: 0 if every type and subtype is known and no line of the agent is malformed; 1 if not, or if
/// there are no lines; 2 if a file cannot be read. With --strict, warnings count too.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Check {
    /// Tapes or captures [default: - for stdin]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object instead of a report
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with 1 for warnings too
    #[arg(long)]
    pub(crate) strict: bool,

    /// The direction of a plain capture
    #[arg(long, value_enum, default_value_t = Way::ToHost)]
    pub(crate) direction: Way,

    /// The longest line to read (default: 128 MiB). Longer lines are reported and skipped
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_line: Option<usize>,
}

/// Show what happened in a conversation.
///
/// Reads a tape or a plain capture of stdout, and prints a timeline: turns, agents, texts, tool calls and
/// their results, permissions and who decided, retries, tokens, costs.
///
///   duologue inspect talk.tape
///   duologue inspect talk.tape --html talk.html
///
/// Exit codes: 0; 1 if a line of the agent is malformed, or there are no lines; 2 if the file cannot be
/// read or the page cannot be written.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Inspect {
    /// A tape or a capture; - for stdin
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) file: PathBuf,

    /// Print the events, one JSON object per line
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,

    /// Include texts, reasoning and tool inputs as they were streamed
    #[arg(long)]
    pub(crate) deltas: bool,

    /// Write one HTML page to OUT; - for stdout. The page needs no network. An existing file is not replaced
    #[arg(long, value_name = "OUT", conflicts_with = "follow")]
    pub(crate) html: Option<PathBuf>,

    /// With --html: replace OUT if it exists. A tape is never replaced
    #[arg(long, requires = "html")]
    pub(crate) force: bool,

    /// Wait for more at the end of the file, until interrupted. The file need not exist yet; if it is
    /// truncated or replaced, it is read from its start
    #[arg(long)]
    pub(crate) follow: bool,

    /// Print long texts in full
    #[arg(long)]
    pub(crate) full: bool,

    /// The longest line to read (default: 128 MiB). Longer lines are reported and skipped
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_line: Option<usize>,

    /// The direction of a plain capture
    #[arg(long, value_enum, default_value_t = Way::ToHost)]
    pub(crate) direction: Way,
}

/// Print the JSON Schema of wire lines, events or scenario files.
///
/// A line validates if this version understands it; unknown fields are allowed. A scenario validates if
/// `duologue agent --scenario` and `duologue model serve` accept it; unknown fields are errors.
///
/// Exit codes: 0, or 2 if it cannot be written.
#[derive(Debug, Parser)]
pub(crate) struct Schema {
    /// Only the lines of one direction
    #[arg(long, value_enum, conflicts_with_all = ["events", "scenario"])]
    pub(crate) direction: Option<Way>,

    /// The events of `inspect --json` instead of wire lines
    #[arg(long, conflicts_with = "scenario")]
    pub(crate) events: bool,

    /// Scenario files, in TOML or JSON, instead of wire lines
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

/// Run an agent unchanged, and record the conversation to a tape.
///
/// Takes the place of the agent: stdin, stdout and stderr are passed through byte for byte, signals are
/// forwarded, and the exit code is the agent's. If the tape can no longer be written, a message on stderr
/// says so, and the conversation continues.
///
///   duologue record -o talk.tape -- claude --input-format stream-json ...
///   duologue record --install bin     then let your program start bin/claude
///
/// Exit codes: the agent's, or its signal. 125 if nothing was started, because the tape cannot be
/// created or the command line is wrong; 126 if the agent cannot be run, 127 if it does not exist.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Record {
    /// The tape, compressed if its name ends in .zst; or a folder, for a tape with a new name
    #[arg(short, long, value_name = "TAPE", required_unless_present = "install")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the tape if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// If talk.tape exists, record to talk-2.tape. An installed `claude` does this
    #[arg(long, conflicts_with = "force")]
    pub(crate) number: bool,

    /// Redact the tape while it is recorded: see `duologue redact`
    #[arg(long)]
    pub(crate) redact: bool,

    /// Redact the value at this path of a line too: message.content[].text
    #[arg(long = "path", value_name = "PATH", requires = "redact", value_parser = path_of_a_line)]
    pub(crate) paths: Vec<String>,

    /// The most MiB to buffer for a slow disk before recording stops
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub(crate) queue: usize,

    /// Write an executable named `claude` to this folder that records. Tapes go to DUOLOGUE_TAPE, or to
    /// --output, or to the folder `tapes` in it
    #[arg(long, value_name = "DIR")]
    pub(crate) install: Option<PathBuf>,

    /// The agent and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "install")]
    pub(crate) command: Vec<OsString>,
}

/// Replay a tape as the agent, for any host.
///
/// Waits for each line that the host wrote, and answers as the recorded agent did. Lines are matched by
/// meaning: ids may differ, requests may come in another order, fields may be added. The arguments of the
/// host are ignored. With --as-host, replays the host instead, for the agent after --.
///
///   duologue replay talk.tape
///   duologue replay --install bin     then let your program start bin/claude, with DUOLOGUE_TAPE
///   duologue replay --as-host talk.tape -- claude ...
///
/// Exit codes: the recorded agent's; 3 if the other side differs from the tape; 2 if the tape cannot be
/// read.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Replay {
    /// The tape [default: DUOLOGUE_TAPE]
    #[arg(value_name = "TAPE")]
    pub(crate) tape: Option<PathBuf>,

    /// How strictly to compare prompts and answers
    #[arg(long = "match", value_enum, default_value_t = Alike::Exact)]
    pub(crate) alike: Alike,

    /// What to do when the other side differs from the tape
    #[arg(long, value_enum, default_value_t = OnMismatch::Fail)]
    pub(crate) on_mismatch: OnMismatch,

    /// The speed: instant, real, or a factor (2 is twice as fast)
    #[arg(long, value_name = "SPEED", default_value = "instant", allow_negative_numbers = true)]
    pub(crate) speed: Speed,

    /// Write an executable named `claude` to this folder that replays
    #[arg(long, value_name = "DIR", conflicts_with = "as_host")]
    pub(crate) install: Option<PathBuf>,

    /// Replay the host instead, for the agent after --, and compare the agent's lines
    #[arg(long)]
    pub(crate) as_host: bool,

    /// Timeout: with --as-host, for each line of the agent (default: 60); otherwise for a signal that is on
    /// the tape, after the end of the host's input (default: 5 more than it took)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) patience: Option<u64>,

    /// The arguments of the host, which are ignored; with --as-host, the agent and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Alike {
    /// Prompts are equal, answers contain the recorded ones
    Exact,
    /// Ignore white space and case in prompts, compare only the decision in answers
    Loose,
    /// Accept any prompt and any answer
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnMismatch {
    /// Report the difference and exit with 3
    Fail,
    /// Report the difference and continue as far as possible
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
                _ => Err("expected instant, real, or a number above 0".to_owned()),
            },
        }
    }
}

/// Compare two tapes by meaning.
///
/// Compares the events of both turn by turn: missing, extra, different. Ids, times, costs and tokens are
/// ignored.
///
/// Exit codes: 0 if they are equal, 1 if not, 2 if one cannot be read or both are empty.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Diff {
    /// The first tape or capture
    pub(crate) a: PathBuf,

    /// The second tape or capture
    pub(crate) b: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Compare only types and fields: which were added, which were removed
    #[arg(long)]
    pub(crate) schema: bool,
}

/// Remove secrets and personal data from a tape, so that it can be shared.
///
/// Replaces keys, tokens and passwords, home folders and user names, e-mail addresses and account fields.
/// Equal values get equal replacements in the whole tape, so that it still replays. A plain capture of
/// stdout stays a capture. Counts the replacements on stderr.
///
/// Review a tape before you share it: a secret without a known form and without a name such as
/// `password` is not found.
///
/// Exit codes: 0, or 2 if the tape cannot be read or the new one cannot be written.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Redact {
    /// The tape or capture; - for stdin
    #[arg(value_name = "TAPE")]
    pub(crate) tape: PathBuf,

    /// The new tape, compressed if its name ends in .zst [default: stdout]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace OUT if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// Also replace the value at this path of a line, and everything under it: message.content[].text
    #[arg(long = "path", value_name = "PATH", value_parser = path_of_a_line)]
    pub(crate) paths: Vec<String>,
}

/// Print completions for a shell.
///
/// For bash: duologue completions bash > ~/.local/share/bash-completion/completions/duologue
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
/// Exit codes: 0, or 2 if they cannot be written or would replace other files.
#[derive(Debug, Parser)]
pub(crate) struct Man {
    /// The folder to write to; it is created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Replace existing files of these names
    #[arg(long)]
    pub(crate) force: bool,
}

/// Start a program that is killed when its parent dies.
#[derive(Debug, Parser)]
pub(crate) struct Start {
    /// The parent's process id
    pub(crate) parent: u32,

    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// A number of seconds, or a number with a unit.
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
    let number: f64 = number.trim().parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

/// Names joined by dots, with `[]` after a list. A typo must not go unnoticed: it would leave a secret in the tape.
fn path_of_a_line(path: &str) -> Result<String, String> {
    let is_name = |part: &str| {
        let name = part.trim_end_matches("[]");
        !name.is_empty() && !name.contains(['[', ']']) && !name.starts_with(char::is_whitespace)
    };
    match path.split('.').all(is_name) {
        true => Ok(path.to_owned()),
        false => {
            Err("expected names and dots, with [] after a list: message.content[].text".to_owned())
        }
    }
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
        // The agent prints its own help.
        let ours =
            |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "agent";
        for command in args.get_subcommands().filter(ours) {
            assert!(command.get_long_about().is_some(), "{}", command.get_name());
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "m", "-1", "1d", "nan", "1e300h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
