//! [`serve_stdio`]: an agent as a program, from its command line to its exit code.

use std::process::ExitCode;

use crate::agent::Agent;
use crate::embedded::flags::Flags;
use crate::embedded::launch::parse::{Format, formats};
use crate::embedded::launch::{Refused, complain, input, print, refused, say};
use crate::options::Options;
use crate::serve::{Exit, To, serve_process, stdin};

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

async fn start<A: Agent>(agent: &mut A, args: Vec<String>) -> Result<Exit, Refused> {
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
    let (input, output) = formats(&flags)?;
    resume(agent, &flags, &mut options, output)?;
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
) -> Result<(), Refused> {
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
        let mut refused = refused(format!("No conversation found with session ID: {id}"), id);
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
