//! `duologue acp`.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use duologue::SessionBuilder;
use duologue_acp::{LineDirection, Login, Options, Sessions, serve};
use duologue_protocol::Direction;
use duologue_tape::{Header, Recorder};
use duologue_terminal::print;

use crate::agent;
use crate::args::Acp;
use crate::session_args::extra;
use crate::{exit, runtime};

/// The flags of the agent that allow the mode `bypassPermissions`.
const BYPASS: [&str; 2] =
    ["--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"];

pub(crate) fn run(args: &Acp) -> anyhow::Result<u8> {
    if args.login {
        return log_in(args);
    }
    anyhow::ensure!(
        !print::out_is_terminal(),
        "an editor starts this command, and talks to it over stdin and stdout: docs/acp.md shows the \
         settings of each editor"
    );
    let agent = if args.embedded {
        agent::Agent::embedded()?
    } else {
        agent::Agent::resolve_or_embedded(&args.agent)?
    };
    let is_ours = agent.is_ours();
    let (program, leading, config) = (agent.program, agent.leading, agent.config);
    let login = Login::new(program.clone(), leading.clone(), ["acp", "--login"]);
    let flags = args.extra.clone();
    let sessions_folder = config.clone();
    // Fail now and not when the first session is opened.
    extra(duologue::Session::builder(), &flags)?;
    let builder = move || -> SessionBuilder {
        let builder = || {
            let builder = duologue::Session::builder().program(&program);
            let builder = builder.program_args(leading.clone());
            match &config {
                Some(folder) => builder.config_dir(folder),
                None => builder,
            }
        };
        extra(builder(), &flags).unwrap_or_else(|_| builder())
    };
    let bypass = args.extra.iter().any(|flag| BYPASS.iter().any(|bypass| flag == bypass));
    let mut options = Options::new(builder).offer_bypass(bypass);
    if let Some(folder) = sessions_folder {
        options = options.sessions(Sessions::in_config_dir(folder));
    }
    if !is_ours {
        options = options.login(login);
    }
    let recorder = match &args.record {
        Some(path) => {
            let argv = std::env::args().collect::<Vec<_>>();
            let header = Header::new("duologue acp", argv);
            let recorder = Recorder::options().create_new(path, &header);
            let recorder =
                recorder.with_context(|| format!("{} cannot be created", path.display()))?;
            options = recorded(options, &recorder);
            Some(recorder)
        }
        None => None,
    };
    let served = runtime::block_on(async {
        let serving = serve(options, tokio::io::stdin(), print::async_stdout());
        tokio::select! {
            served = serving => served.context("the editor cannot be served").map(|()| exit::OK),
            // Dropping the future ends the agents.
            () = terminated() => Ok(exit::OK),
        }
    });
    if let Some(Err(stopped)) = recorder.map(|recorder| recorder.finish(PATIENCE)) {
        let text = format!("the tape is not complete: {stopped}");
        print::titled("warning:", text.as_str().into());
    }
    served.or_else(|error| match error.downcast_ref::<duologue_acp::ServeError>() {
        Some(_) => {
            print::error(error.as_ref());
            Ok(exit::FAILED)
        }
        None => Err(error),
    })
}

/// How long a disk may take for the rest of the tape.
const PATIENCE: Duration = Duration::from_secs(10);

/// Records both protocols. The agent of the first session is the agent of the tape; everything else is a note.
fn recorded(options: Options, recorder: &Recorder) -> Options {
    let (editor, agents) = (recorder.tap(), recorder.tap());
    let first = OnceLock::<String>::new();
    options
        .on_line(move |direction, line| {
            let arrow = match direction {
                LineDirection::FromClient => "acp <",
                LineDirection::ToClient => "acp >",
            };
            editor.note(format!("{arrow} {line}"));
        })
        .on_agent_line(move |session, direction, line| {
            if first.get_or_init(|| session.to_owned()) == session {
                return agents.line(direction, line);
            }
            let arrow = match direction {
                Direction::ToAgent => "<",
                Direction::ToHost => ">",
            };
            agents.note(format!("{session} {arrow} {}", String::from_utf8_lossy(line.raw())));
        })
}

/// Waits for a signal to end.
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = signals.map(signal) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// Runs the login of the agent in this terminal.
fn log_in(args: &Acp) -> anyhow::Result<u8> {
    let agent = agent::Agent::resolve(&args.agent)?;
    let status = Command::new(&agent.program)
        .args(&agent.leading)
        .args(["auth", "login"])
        .status()
        .with_context(|| format!("{} could not be started", agent.program.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::FAILED))
}
