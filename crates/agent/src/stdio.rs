//! [`serve_stdio`]: an agent as a program, from its command line to its exit code.

mod print;

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use duologue_protocol::lines::Prompt;
use duologue_protocol::{ToAgent, Wire as _, visible};

use crate::agent::Agent;
use crate::command_line::{CommandLine, Effect, Format, flags_help};
use crate::options::Options;
use crate::serve::{Exit, To, serve_process};

pub use crate::serve::stdin;

/// Why an agent does not start: a message for stderr, and maybe a result for stdout.
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
    /// A conversation cannot be resumed. This is written to stderr and as a result.
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
    // A program gets the bytes; a terminal must not interpret them.
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

An agent that takes the place of `claude -p`. Hosts drive it over stdin and stdout. In a shell it answers one prompt,
which is an argument, or stdin, or both.

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
                // The exit code reports the failure, even if this cannot be written.
                let _ = say(&format!("{result}\n"));
            }
            complain(&refused.message);
            ExitCode::FAILURE
        }
    }
}

async fn start<A: Agent>(agent: &mut A, args: Vec<String>) -> Result<Exit, StartError> {
    let line = CommandLine::parse_general(args)?;
    let mut options = line.options().with_environment()?;
    if line.version {
        say(&format!("{} (duologue-agent)\n", options.info.version))?;
        return Ok(Exit::success());
    }
    if line.help {
        let flags = flags_help(&[Effect::Agent, Effect::Own]);
        say(&format!(
            "{HELP}{flags}\nThe other flags of Claude Code are accepted and have no effect.\n"
        ))?;
        return Ok(Exit::success());
    }
    resume(agent, &line, &mut options)?;
    serve_command_line(agent, &line, options).await
}

/// Serves an agent on stdin and stdout, in the formats that the command line names: a host's lines, or one prompt.
///
/// # Errors
/// If there is no prompt, or the answer cannot be written.
pub async fn serve_command_line<A: Agent>(
    agent: &mut A,
    line: &CommandLine,
    options: Options,
) -> Result<Exit, StartError> {
    for warning in &line.warnings {
        complain(warning);
    }
    if line.input == Format::StreamJson {
        return Ok(serve_process(agent, stdin(), To::stdout(), options).await);
    }
    let prompt = prompt_line(&line.prompt)?;
    print::one(agent, prompt, line.output, line.verbose, options).await
}

/// Resumes the conversation that the command line names, if the agent knows it.
fn resume<A: Agent>(
    agent: &mut A,
    line: &CommandLine,
    options: &mut Options,
) -> Result<(), StartError> {
    if line.resume_newest {
        return Err("No conversation found to continue".into());
    }
    let Some(id) = &line.resume else { return Ok(()) };
    let Some(id) = id.as_deref().filter(|id| !id.is_empty()) else {
        return Err("Error: --resume requires a valid session ID when used with --print. \
                    Usage: claude -p --resume <session-id>"
            .into());
    };
    if !agent.resume(id) {
        let mut refused =
            StartError::resume(format!("No conversation found with session ID: {id}"), id);
        if line.output == Format::Text {
            refused.result = None;
        }
        return Err(refused);
    }
    if options.info.session_id.is_none() {
        options.info.session_id = Some(id.into());
    }
    Ok(())
}

/// The prompt of the command line and of stdin, as a line of the wire.
fn prompt_line(prompt: &str) -> Result<String, StartError> {
    let mut piped = String::new();
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        // Input that is not UTF-8 counts as no input.
        let _ = stdin.lock().read_to_string(&mut piped);
    }
    let parts: Vec<&str> =
        [prompt, piped.trim_end()].into_iter().filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() {
        return Err("Error: Input must be provided either through stdin or as a prompt argument when using --print".into());
    }
    let line = ToAgent::from(Box::new(Prompt::text(parts.join("\n"))));
    Ok(line.to_json())
}
