//! `duologue serve`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use duologue_hub::api::{Server, ServerOptions, Tokens};
use duologue_hub::hub::{Agents, Hub, HubLimits};
use duologue_hub::log::{SqliteLog, SqliteOptions};
use duologue_terminal::{line, ours, print, shown};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::agent::Agent;
use crate::{exit, runtime};

/// Run sessions behind an HTTP API.
///
/// Clients start sessions, send prompts, follow what happens and answer what agents ask, from several devices at once. Everything is
/// written to a log before it is sent. What was acknowledged is there after a crash.
///
/// The address and a pairing code are printed on stdout, as one line of JSON. A client exchanges the code for a token, once, within ten
/// minutes. SIGTERM and Ctrl-C end the agents in order; a second Ctrl-C ends them at once.
///
/// Agents run as the user who runs this command, in --dir. Whoever has a token with the scopes prompt and answer can run commands as that user.
///
/// Exit codes:
///   0    ended by SIGTERM or Ctrl-C
///   2    the command line is wrong, the address is in use, or the folder of --state cannot be used
///   5    there is no agent
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// The address and port to listen on; port 0 for any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7447")]
    pub(crate) listen: SocketAddr,

    /// The folder of the log and the tokens; created if it does not exist, for its owner only. Default: XDG_DATA_HOME/duologue/hub
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// The working directory of all sessions; the current one by default
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// A name under which clients reach this machine; may be repeated. Requests to other names are refused
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,

    /// Listen on an address that other machines can reach. There is no encryption: everyone in between can read and use the tokens
    #[arg(long)]
    pub(crate) insecure: bool,

    /// The agent to run, with its arguments; several flags or one text with quotes. By default Claude Code, or else the embedded agent
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(crate) agent: Vec<String>,

    /// Use the embedded agent, even if Claude Code is installed
    #[arg(long, conflicts_with = "agent")]
    pub(crate) embedded: bool,
}

pub(crate) fn run(args: &Serve) -> anyhow::Result<u8> {
    anyhow::ensure!(
        args.listen.ip().is_loopback() || args.insecure,
        "other machines can reach {}, and there is no encryption: listen on 127.0.0.1 behind a proxy with TLS, or add --insecure",
        args.listen
    );
    let agent =
        if args.embedded { Agent::embedded()? } else { Agent::resolve_or_embedded(&args.agent)? };
    let state = match &args.state {
        Some(state) => state.clone(),
        None => {
            default_state().context("there is no home directory: name a folder with --state")?
        }
    };
    let dir = match &args.dir {
        Some(dir) => std::path::absolute(dir)?,
        None => std::env::current_dir().context("the working directory cannot be found")?,
    };
    anyhow::ensure!(dir.is_dir(), "{} is not a directory", dir.display());
    let agents = Agents::new(dir).program(agent.program).args(agent.leading);
    runtime::block_on(serve(args, &state, agents))
}

fn default_state() -> Option<PathBuf> {
    let set = |value: &std::ffi::OsString| !value.is_empty();
    let data = std::env::var_os("XDG_DATA_HOME").filter(set).map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME").filter(set)?).join(".local/share"));
    Some(data.or_else(home)?.join("duologue/hub"))
}

async fn serve(args: &Serve, state: &Path, agents: Agents) -> anyhow::Result<u8> {
    // Before anything is started: a signal from now on ends it in order.
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupts = runtime::Interrupts::new();
    let log = SqliteLog::open(state, SqliteOptions::default())?;
    let tokens = Tokens::open(state)?;
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!("cannot listen on {}: choose another address with --listen", args.listen)
    })?;
    let hub = Hub::open(Arc::new(log), agents, HubLimits::default()).await?;
    let code = tokens.pairing_code(now())?;
    let mut options = ServerOptions::default();
    options.hosts.clone_from(&args.hosts);
    let server = Server::start(listener, hub.clone(), tokens, options)?;
    let ready = json!({ "url": server.url(), "pairing_code": code.as_str() });
    writeln!(print::data(), "{ready}")?;
    print::err(&shown!("The log is in {}. Ctrl-C ends the hub.", line(state)));
    tokio::select! {
        _ = terminated.recv() => {}
        () = interrupts.pressed(1) => {}
    }
    print::err(&ours("Ending the agents…"));
    let ending = async {
        server.shutdown().await;
        hub.shutdown().await;
    };
    tokio::select! {
        () = ending => {}
        // The agents are killed with this process.
        () = interrupts.pressed(2) => {}
    }
    Ok(exit::OK)
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
