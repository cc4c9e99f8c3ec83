//! The command line of what has to do with tapes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Run an agent unchanged, and write a tape.
///
/// Stands in for the agent: its stdin, stdout and stderr pass through byte for byte, signals reach it,
/// its exit code is ours. If the tape cannot be written any more, that is said on stderr, and the
/// conversation goes on.
///
///   duologue record -o talk.tape -- claude --input-format stream-json ...
///   duologue record --install bin     then let your program start bin/claude
///
/// Exit codes: the agent's, or its signal. 125 if nothing was started, because the tape cannot be
/// made or the command line is wrong; 126 if the agent cannot be run, 127 if it is not there.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Record {
    /// The tape, packed if its name ends in .zst; or a folder, for a tape with a new name
    #[arg(short, long, value_name = "TAPE", required_unless_present = "install")]
    pub(crate) output: Option<PathBuf>,

    /// Replace a file of that name
    #[arg(long)]
    pub(crate) force: bool,

    /// If there is a talk.tape, record to talk-2.tape; what an installed `claude` does
    #[arg(long, conflicts_with = "force")]
    pub(crate) number: bool,

    /// Leave out what should not be shared: see `duologue redact`
    #[arg(long)]
    pub(crate) redact: bool,

    /// Also leave out what stands at this path of a line: message.content[].text
    #[arg(long = "path", value_name = "PATH", requires = "redact", value_parser = path_of_a_line)]
    pub(crate) paths: Vec<String>,

    /// How many MiB may wait for a slow disk before recording stops
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub(crate) queue: usize,

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
///   duologue replay --install bin     then let your program start bin/claude, with DUOLOGUE_TAPE
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
    #[arg(long, value_name = "SPEED", default_value = "instant", allow_negative_numbers = true)]
    pub(crate) speed: Speed,

    /// Put a `claude` into this folder that replays
    #[arg(long, value_name = "DIR", conflicts_with = "as_host")]
    pub(crate) install: Option<PathBuf>,

    /// Be the host instead, for the agent after --, and compare what it says
    #[arg(long)]
    pub(crate) as_host: bool,

    /// How many seconds to wait: with --as-host, for whatever the agent should do (60 unless set); else for a
    /// signal that is on the tape, once the host's input has ended (5 more than it took then, unless set)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) patience: Option<u64>,

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
/// Exit codes: 0 if they are equal, 1 if not, 2 if one cannot be read or both are empty.
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
/// Replaces keys, tokens and passwords, home folders and user names, e-mail addresses and account fields. The
/// same thing is replaced by the same words all over the tape, so that it still replays. A plain capture of
/// stdout stays a capture. What was replaced is counted on stderr. Look at a tape before you share it: a secret
/// without a known form, and without a name that gives it away, is not found.
///
/// Exit codes: 0, or 2 if the tape cannot be read, or the new one not written.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Redact {
    /// The tape or capture; - for stdin
    #[arg(value_name = "TAPE")]
    pub(crate) tape: PathBuf,

    /// Where the new tape goes, packed if its name ends in .zst; stdout if not given
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace OUT if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// Also replace what stands at this path of a line, and under it: message.content[].text
    #[arg(long = "path", value_name = "PATH", value_parser = path_of_a_line)]
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

/// Names, with a dot between two, each with `[]` for every list that it is: a typo must not look as if all were
/// well.
fn path_of_a_line(path: &str) -> Result<String, String> {
    let is_name = |part: &str| {
        let name = part.trim_end_matches("[]");
        !name.is_empty() && !name.contains(['[', ']']) && !name.starts_with(char::is_whitespace)
    };
    match path.split('.').all(is_name) {
        true => Ok(path.to_owned()),
        false => Err("names and dots, with [] after a list: message.content[].text".to_owned()),
    }
}
