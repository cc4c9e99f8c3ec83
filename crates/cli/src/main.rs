//! The `duologue` command. Only composition: what it does lives in the libraries.

mod agent;
mod args;
mod commands;
mod errors;
mod exit;
mod input;
mod install;
mod limit;
mod output_file;
mod resume;
mod runtime;
mod session_args;
mod signal;
mod stored;
mod table;

use std::io;
use std::process::ExitCode;

use clap::Parser as _;
use duologue_terminal::{Shown, block, line, ours, print, shown};

use args::{Args, Command};

fn main() -> ExitCode {
    print::escape_panics();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            usage(&error);
            let records = std::env::args_os().nth(1).is_some_and(|command| command == "record");
            return ExitCode::from(match (error.use_stderr(), records) {
                (false, _) => exit::OK,
                (true, false) => exit::UNREADABLE,
                (true, true) => exit::NOT_RECORDED,
            });
        }
    };
    let result = commands::run(&args.command);
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::OK),
        Err(error) => {
            let code = exit::of(&error);
            let hint = hint(&args.command, &error);
            report(&named(error));
            hint.iter().for_each(print::err);
            let records = matches!(&args.command, Command::Record(_));
            ExitCode::from(if records { exit::NOT_RECORDED } else { code })
        }
    }
}

/// Whether the reader of our output closed it. That is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Adds what is missing in an error: flags instead of names of the library, and that stdout could not be written.
fn named(error: anyhow::Error) -> anyhow::Error {
    if let Some(ours) = error.downcast_ref::<duologue::Error>()
        && matches!(ours, duologue::Error::Launch(_) | duologue::Error::OverBudget { .. })
    {
        return anyhow::Error::msg(errors::spelled(ours));
    }
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::StorageFull) if error.chain().count() == 1 => {
            error.context("the output could not be written")
        }
        _ => error,
    }
}

/// Whether the output was read. If the reader closed it, the command still has to return its exit code.
fn is_read(printed: anyhow::Result<()>) -> anyhow::Result<bool> {
    match printed {
        Err(error) if is_broken_pipe(&error) => Ok(false),
        other => other.map(|()| true),
    }
}

fn report(error: &anyhow::Error) {
    print::error(error.as_ref());
}

/// Prints help to stdout, and errors of the command line, which quote it, to stderr.
fn usage(error: &clap::Error) {
    let plain = error.render().to_string();
    if !error.use_stderr() || block(&plain).as_str() == plain {
        // A closed stdout is not an error.
        let _ = error.print();
    } else {
        print::err(&block(plain.trim_end()));
    }
}

/// What to try next if an agent exited without an error message.
fn hint(command: &Command, error: &anyhow::Error) -> Option<Shown> {
    let Some(duologue::Error::Gone(gone)) = error.downcast_ref() else { return None };
    if !gone.stderr.trim().is_empty() || gone.reason.is_some() {
        return None;
    }
    let agent = match command {
        Command::Run(run) => &run.session.agent,
        Command::Chat(chat) => &chat.session.agent,
        _ => return None,
    };
    let doctor = match agent.as_slice() {
        [] => ours("duologue doctor"),
        words => shown!("duologue doctor --agent {}", line(shell_words::join(words))),
    };
    Some(shown!(
        "It wrote nothing to stderr. Does it speak stream-json? Run `{}` to find out.",
        doctor
    ))
}
