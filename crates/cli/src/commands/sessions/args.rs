//! The command line of `duologue sessions`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// List, read, change and move stored conversations.
///
/// Claude Code keeps every conversation in a file below its config directory. Without a subcommand, this
/// lists them, newest first. An ID may be shortened to its first characters, at least four.
///
///   duologue sessions
///   duologue sessions show 3f2a
///   duologue sessions export 3f2a -o talk.html
///
/// Exit codes: 0; 1 if there is no such session, if it is in use, or if `rm` was not confirmed; 2 if the
/// command line is wrong, or a file cannot be read or written.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,

    #[command(flatten)]
    pub(crate) list: List,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    #[command(about = "List sessions, newest first")]
    List(List),
    #[command(about = "Show a session: what it is, and the conversation")]
    Show(Show),
    #[command(about = "Give a session a title")]
    Rename(Rename),
    #[command(about = "Give a session a tag, or remove it")]
    Tag(Tag),
    #[command(about = "Archive a session. A new prompt takes it out again")]
    Archive(One),
    #[command(about = "Take a session out of the archive")]
    Unarchive(One),
    #[command(about = "Copy a session under a new id, and print the id")]
    Fork(Fork),
    #[command(about = "Delete sessions with their sub-agents")]
    Rm(Rm),
    #[command(about = "Export a session: a tape, a web page, or a file that `import` reads")]
    Export(Export),
    #[command(about = "Import a session that `export` wrote")]
    Import(Import),
}

/// Which sessions are meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Where {
    /// Only sessions of this directory and of other worktrees of its repository
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,

    /// The config directory [default: CLAUDE_CONFIG_DIR, or ~/.claude]
    #[arg(long, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
}

/// List sessions, newest first.
///
/// The title is that of the user, or of the model, or a prompt. Turns and cost are read from the whole
/// session; --brief leaves them out and reads only both ends of each file. Costs are estimates from list
/// prices. A file that is damaged is listed with what is wrong.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct List {
    /// Print one JSON object per session
    #[arg(long)]
    pub(crate) json: bool,

    /// The most sessions to list; 0 for all
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Leave out this many of the newest sessions
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) offset: usize,

    /// Leave out turns and cost
    #[arg(long)]
    pub(crate) brief: bool,

    /// Leave out sessions that programs started: SDKs and daemons
    #[arg(long)]
    pub(crate) no_programs: bool,

    /// Only sessions with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,

    /// Include archived sessions
    #[arg(long)]
    pub(crate) archived: bool,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// Show a session: what it is, and the conversation.
///
/// The conversation is shown as `duologue inspect` shows a tape.
#[derive(Debug, Parser)]
pub(crate) struct Show {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Print one JSON object: what the list shows, and the messages
    #[arg(long)]
    pub(crate) json: bool,

    /// Print long texts in full
    #[arg(long)]
    pub(crate) full: bool,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// Give a session a title.
#[derive(Debug, Parser)]
pub(crate) struct Rename {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The title
    #[arg(value_name = "TITLE")]
    pub(crate) title: String,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// Give a session a tag, or remove it.
#[derive(Debug, Parser)]
pub(crate) struct Tag {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The tag
    #[arg(value_name = "TAG", required_unless_present = "remove", conflicts_with = "remove")]
    pub(crate) tag: Option<String>,

    /// Remove the tag
    #[arg(long)]
    pub(crate) remove: bool,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// A command for one session.
#[derive(Debug, Parser)]
pub(crate) struct One {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// Copy a session under a new id, and print the id.
///
/// The original is only read: it may be in use.
#[derive(Debug, Parser)]
pub(crate) struct Fork {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The title of the copy [default: that of the original, with (fork)]
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,

    /// The last message to copy; `show --json` prints the ids of messages
    #[arg(long, value_name = "UUID")]
    pub(crate) up_to: Option<String>,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// Delete sessions with their sub-agents.
///
/// Asks for confirmation on a terminal. A session that is in use is not deleted.
#[derive(Debug, Parser)]
pub(crate) struct Rm {
    /// The sessions
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// Export a session.
///
/// The name of the file decides the format: .tape and .tape.zst are tapes, .html is a web page, .session
/// is a copy of all files of the session, byte for byte, which `import` reads. A tape has the lines that a
/// host would have seen. Lines that a transcript does not hold (the handshake, init, result) are
/// synthesised, and a note on the tape marks each of them.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Export {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The file; - for stdout. An existing file is not replaced
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The format, if the name of the file does not show it
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,

    /// Replace FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) place: Where,
}

/// A format of `export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A tape
    Tape,
    /// A web page
    Html,
    /// All files of the session, for `import`
    Session,
}

/// Import a session that `export` wrote as a .session file.
///
/// The session keeps its id, which is printed. With --project it becomes a session of that directory.
#[derive(Debug, Parser)]
pub(crate) struct Import {
    /// The file; - for stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) place: Where,
}
