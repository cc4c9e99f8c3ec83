//! `duologue acp`.

use std::process::Command;

use anyhow::Context as _;
use duologue::SessionBuilder;
use duologue_acp::{Login, Options, Sessions, serve};

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
    let agent = if args.embedded {
        agent::Agent::embedded()?
    } else {
        agent::Agent::resolve_or_embedded(&args.agent)?
    };
    let is_ours = agent.is_ours();
    let (program, leading) = (agent.program, agent.leading);
    let login = Login::new(program.clone(), leading.clone(), ["acp", "--login"]);
    let flags = args.extra.clone();
    // Fail now and not when the first session is opened.
    extra(duologue::Session::builder(), &flags)?;
    let builder = move || -> SessionBuilder {
        let builder =
            || duologue::Session::builder().program(&program).program_args(leading.clone());
        extra(builder(), &flags).unwrap_or_else(|_| builder())
    };
    let bypass = args.extra.iter().any(|flag| BYPASS.iter().any(|bypass| flag == bypass));
    let mut options = Options::new(builder).offer_bypass(bypass);
    if is_ours {
        // It keeps its conversations in a folder of its own.
        let cwd = std::env::current_dir().context("the working directory cannot be found")?;
        let folder = duologue_embedded::Setup::config_dir(cwd);
        options = options.sessions(Sessions::in_config_dir(folder));
    } else {
        options = options.login(login);
    }
    runtime::block_on(async {
        let serving = serve(options, tokio::io::stdin(), tokio::io::stdout());
        tokio::select! {
            served = serving => served.context("the editor cannot be served").map(|()| exit::OK),
            // Dropping the future ends the agents.
            () = terminated() => Ok(exit::OK),
        }
    })
    .or_else(|error| match error.downcast_ref::<duologue_acp::ServeError>() {
        Some(_) => {
            duologue_terminal::print::error(error.as_ref());
            Ok(exit::FAILED)
        }
        None => Err(error),
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
