//! [`serve_stdio`]: an agent as a program, from its command line to its exit code.

mod input;
mod print;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use duologue_protocol::visible;

use crate::agent::Agent;
use crate::command_line::{Flags, Format, formats};
use crate::options::Options;
use crate::serve::{Exit, To, serve_process};

pub use crate::serve::stdin;

/// Why an agent does not start: what is said on stderr, and what else on stdout.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartError {
    /// For stderr.
    pub message: String,
    /// A result in place of a conversation.
    pub result: Option<String>,
    /// A host is about to write its first line to stdin.
    pub host_writes: bool,
}

impl<T: Into<String>> From<T> for StartError {
    fn from(message: T) -> Self {
        Self { message: message.into(), result: None, host_writes: false }
    }
}

impl StartError {
    /// Why a conversation cannot be resumed, said on stderr and as a result.
    pub fn resume(message: String, session: &str) -> Self {
        let result = serde_json::json!({
            "type": "result", "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0,
            "is_error": true, "num_turns": 0, "stop_reason": null,
            "session_id": session, "total_cost_usd": 0,
            "usage": { "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0 },
            "modelUsage": {}, "permission_denials": [], "uuid": uuid::Uuid::new_v4().to_string(),
            "errors": [message],
        });
        Self { message, result: Some(result.to_string()), host_writes: false }
    }
}

/// Writes to stdout. A reader that closed its end is not an error.
///
/// # Errors
/// If it cannot be written.
pub fn say(text: &str) -> Result<(), StartError> {
    let mut out = std::io::stdout();
    // Programs get what was said; on a terminal it must not be obeyed.
    let shown = if out.is_terminal() { visible::block(text) } else { text.into() };
    let text = shown.as_ref();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("Error: the answer could not be written to stdout: {error}").into())
        }
        _ => Ok(()),
    }
}

/// Writes a line to stderr.
pub fn complain(message: &str) {
    // It may quote a scenario or the command line.
    let message = visible::block(message);
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}

const HELP: &str = "\
Usage: PROGRAM [flags] [prompt]

An agent that takes the place of `claude -p`. Hosts drive it over stdin and stdout; in a shell it answers one prompt,
which is an argument, or stdin, or both.

  -p, --print              answer one prompt and exit; there is no other mode
  --output-format FORMAT   text (the default), json, or stream-json (with --verbose)
  --input-format FORMAT    text (the default) or stream-json
  -v, --version            print the version
  -h, --help               print this help

The other flags of Claude Code are accepted. Those that mean nothing to this agent have no effect.
";

/// Serves an agent as a program: on stdin and stdout, with the flags of the command line.
///
/// The program does what `claude -p` does. With `--input-format stream-json` a host drives it.
/// Otherwise it answers one prompt, from its arguments or from stdin, and prints the answer as text
/// or, with `--output-format json`, as a result. An unknown flag, a prompt that is missing and a
/// conversation that it does not know are errors: exit code 1, with the words of the CLI on stderr.
///
/// SIGINT ends the turn and then the process, as it does with the real CLI; a lenient agent only ends
/// the turn.
///
/// ```no_run
/// use duologue_agent::{Agent, Turn, TurnResult, serve_stdio};
///
/// struct Parrot;
/// impl Agent for Parrot {
///     async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
///         turn.say(turn.text()).await
///     }
/// }
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> std::process::ExitCode {
///     serve_stdio(Parrot).await
/// }
/// ```
pub async fn serve_stdio<A: Agent>(agent: A) -> ExitCode {
    let mut args = Vec::new();
    for arg in std::env::args_os().skip(1) {
        match arg.into_string() {
            Ok(arg) => args.push(arg),
            Err(arg) => {
                complain(&format!("error: the argument {arg:?} is not UTF-8"));
                return ExitCode::FAILURE;
            }
        }
    }
    serve_args(agent, args).await
}

/// Like [`serve_stdio`], with these arguments. A program that has flags of its own takes them out of
/// the command line first.
///
/// ```no_run
/// # use duologue_agent::{Agent, Turn, TurnResult, serve_args};
/// # struct Parrot { loud: bool }
/// # impl Agent for Parrot {
/// #     async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult { turn.say(turn.text()).await }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::process::ExitCode {
/// let (loud, args): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg == "--loud");
/// serve_args(Parrot { loud: !loud.is_empty() }, args).await
/// # }
/// ```
pub async fn serve_args<A: Agent>(
    mut agent: A,
    args: impl IntoIterator<Item = String>,
) -> ExitCode {
    match start(&mut agent, args.into_iter().collect()).await {
        Ok(exit) => {
            if let Some(message) = exit.message {
                complain(&message);
            }
            ExitCode::from(exit.code)
        }
        Err(refused) => {
            if let Some(result) = refused.result {
                // The exit code says that it failed, whether or not this can be written.
                let _ = say(&format!("{result}\n"));
            }
            complain(&refused.message);
            ExitCode::FAILURE
        }
    }
}

async fn start<A: Agent>(agent: &mut A, args: Vec<String>) -> Result<Exit, StartError> {
    let flags = Flags::parse(args.iter().cloned())?;
    let done = Exit { code: 0, message: None };
    let mut options = Options::from_args(args);
    if flags.has("--version") {
        say(&format!("{} (duologue-agent)\n", options.info.version))?;
        return Ok(done);
    }
    if flags.has("--help") {
        say(HELP)?;
        return Ok(done);
    }
    // A flag of the embedded agent alone.
    if flags.has("--scenario") {
        return Err("error: unknown option '--scenario'".into());
    }
    let (_, output) = formats(&flags)?;
    resume(agent, &flags, &mut options, output)?;
    serve_flags(agent, &flags, options).await
}

/// Serves an agent on stdin and stdout, in the formats that the flags name: a host's lines, or one prompt.
///
/// # Errors
/// If the flags contradict each other, there is no prompt, or the answer cannot be written.
pub async fn serve_flags<A: Agent>(
    agent: &mut A,
    flags: &Flags,
    options: Options,
) -> Result<Exit, StartError> {
    let (input, output) = formats(flags)?;
    if input == Format::StreamJson {
        return Ok(serve_process(agent, stdin(), To::stdout(), options).await);
    }
    let line = input::prompt_line(&flags.rest.join(" "))?;
    print::one(agent, line, output, flags.has("--verbose"), options).await
}

/// Resumes the conversation that the flags name, if the agent knows it.
fn resume<A: Agent>(
    agent: &mut A,
    flags: &Flags,
    options: &mut Options,
    output: Format,
) -> Result<(), StartError> {
    if flags.has("--continue") {
        return Err("No conversation found to continue".into());
    }
    if !flags.has("--resume") {
        return Ok(());
    }
    let Some(id) = flags.value("--resume").filter(|id| !id.is_empty()) else {
        return Err("Error: --resume requires a valid session ID when used with --print. \
                    Usage: claude -p --resume <session-id>"
            .into());
    };
    if !agent.resume(id) {
        let mut refused =
            StartError::resume(format!("No conversation found with session ID: {id}"), id);
        if output == Format::Text {
            refused.result = None;
        }
        return Err(refused);
    }
    if options.info.session_id.is_none() {
        options.info.session_id = Some(id.into());
    }
    Ok(())
}
