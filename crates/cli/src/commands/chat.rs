//! `duologue chat`.

mod asks;
mod complete;
mod dialog;
mod input;
mod local;
mod menu;
mod pipe;
mod render;
mod talk;
mod telling;
mod terminal;

use std::io::{IsTerminal as _, stdin, stdout};
use std::time::Duration;

use duologue::Session;
use owo_colors::OwoColorize as _;

use crate::agent::Agent;
use crate::args::Chat;
use crate::exit;
use crate::runtime;
use crate::visible::visible;

/// How long work in the background may hold up a person who leaves.
const LINGER: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &Chat) -> anyhow::Result<u8> {
    runtime::block_on(chat(args))
}

async fn chat(args: &Chat) -> anyhow::Result<u8> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = stdin().is_terminal() && stdout().is_terminal() && !dumb;
    let mut builder = args.session.builder()?.partial_messages(true);
    if terminal {
        builder = builder.linger(LINGER);
    }
    let (builder, asks) = asks::listen(builder);
    let session = builder.start().await?;
    let mut renderer = render::Renderer::new(args.thinking, talk::columns());
    if let Some(handshake) = session.handshake() {
        renderer.model = handshake.current_model.as_str().map(str::to_owned);
        renderer.mode = handshake.current_permission_mode.value().cloned();
    }
    for notice in session.notices() {
        anstream::eprintln!("{}", visible(&notice).yellow());
    }
    if !terminal {
        return pipe::hold(session, asks, renderer, args.prompt.clone()).await;
    }
    anstream::println!("{}", render::dim(&greeting(args, &session, &renderer)));
    let colours = anstream::AutoStream::choice(&stdout()) != anstream::ColorChoice::Never;
    let typing = complete::Typing::new(session.handshake().as_ref(), colours);
    let (person, above) = input::Person::listen(typing)?;
    let terminal = terminal::Terminal::new(stdout(), colours, talk::columns(), above);
    talk::Talk::new(session, asks, person, terminal, renderer).hold(args.prompt.clone()).await?;
    Ok(exit::OK)
}

/// Who is there.
fn greeting(args: &Chat, session: &Session, renderer: &render::Renderer) -> String {
    let mut parts = vec![match session.version() {
        Some(version) if Agent::is_embedded(&args.session.agent) => {
            format!("embedded agent (as {version})")
        }
        Some(version) => format!("Claude Code {version}"),
        None => "an agent".to_owned(),
    }];
    if let Some(model) = &renderer.model {
        parts.push(visible(model).into_owned());
    }
    if let Some(mode) = &renderer.mode {
        parts.push(format!("mode {}", visible(mode.as_str())));
    }
    parts.push("/help".to_owned());
    parts.join(" · ")
}
