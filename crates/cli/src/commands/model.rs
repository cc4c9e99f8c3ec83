//! `duologue model`.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::Context as _;
use duologue_model::{Scenario, Server, StartError};
use duologue_terminal::print;
use serde_json::json;

use crate::args::{Model, ModelCommand, ModelServe};
use crate::{exit, runtime};

pub(crate) fn run(args: &Model) -> anyhow::Result<u8> {
    match &args.command {
        ModelCommand::Serve(serve) => runtime::block_on(async { self::serve(serve).await }),
    }
}

async fn serve(args: &ModelServe) -> anyhow::Result<u8> {
    let scenario = Scenario::read(&args.scenario)
        .with_context(|| format!("{} cannot be used", args.scenario.display()))?;
    let server = match Server::start_on(SocketAddr::new(args.host, args.port), scenario).await {
        Err(StartError::Listen { address, source, .. })
            if source.kind() == std::io::ErrorKind::AddrInUse =>
        {
            anyhow::bail!(
                "port {} is in use on {}: choose another, or --port 0 for a free one",
                address.port(),
                address.ip()
            )
        }
        started => started?,
    };
    writeln!(print::data(), "{}", json!({ "base_url": server.base_url() }))?;
    let mut logged = 0;
    let mut interrupts = runtime::Interrupts::new();
    loop {
        let (exchanges, all) = tokio::select! {
            () = interrupts.pressed(1) => break,
            asked = server.requests_after(logged) => asked,
        };
        logged = all;
        for exchange in exchanges.iter().filter(|_| args.log) {
            let line = json!({
                "purpose": exchange.purpose.as_str(),
                "agent": exchange.agent,
                "reply": exchange.reply,
                "request": exchange.request.body(),
            });
            writeln!(print::foreign_stderr(), "{line}")?;
        }
    }
    server.shutdown().await;
    Ok(exit::OK)
}
