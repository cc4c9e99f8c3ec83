//! `duologue chat`.

mod asks;
mod complete;
mod dialog;
mod fold;
mod input;
mod local;
mod menu;
mod pipe;
mod render;
mod talk;
mod telling;
mod terminal;

use std::io::{IsTerminal as _, stdin};
use std::time::Duration;

use duologue::Session;

use crate::agent::Agent;
use crate::args::Chat;
use crate::exit;
use crate::print;
use crate::runtime;
use crate::visible::{Foreign, Shown, block, line, ours, shown};

/// How long work in the background may hold up a person who leaves.
const LINGER: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &Chat) -> anyhow::Result<u8> {
    runtime::block_on(chat(args))
}

async fn chat(args: &Chat) -> anyhow::Result<u8> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = stdin().is_terminal() && print::out_is_terminal() && !dumb;
    let mut builder = args.session.builder()?.partial_messages(true);
    if terminal {
        builder = builder.linger(LINGER);
    }
    let (builder, asks) = asks::listen(builder);
    let session = builder.start().await?;
    let mut renderer = render::Renderer::new(args.thinking, talk::size().1);
    if let Some(handshake) = session.handshake() {
        renderer.model = handshake.current_model.as_str().map(str::to_owned);
        renderer.mode = handshake.current_permission_mode.value().cloned();
    }
    for notice in session.notices() {
        print::err(&block(&notice).yellow());
    }
    if !terminal {
        let code = pipe::hold(session, asks, renderer, args.prompt.clone()).await?;
        return Ok(if code == exit::OK { args.session.code_of_success() } else { code });
    }
    print::out().line(&greeting(args, &session, &renderer).dimmed())?;
    let colours = print::out_has_colours();
    let typing = complete::Typing::new(session.handshake().as_ref(), colours);
    let (person, above) = input::Person::listen(typing)?;
    let terminal = terminal::Terminal::new(print::screen(), colours, talk::size().1, above);
    talk::Talk::new(session, asks, person, terminal, renderer).hold(args.prompt.clone()).await?;
    Ok(exit::OK)
}

/// Whether the embedded agent was named.
fn is_ours(args: &Chat) -> bool {
    Agent::resolve(&args.session.agent).is_ok_and(|agent| agent.is_ours())
}

/// Who is there.
fn greeting(args: &Chat, session: &Session, renderer: &render::Renderer) -> Shown {
    let mut parts = vec![match session.version() {
        Some(version) if args.session.is_embedded() || is_ours(args) => {
            shown!("embedded agent (as {})", line(Foreign::of(&version)))
        }
        Some(version) => shown!("Claude Code {}", line(Foreign::of(&version))),
        None => ours("an agent"),
    }];
    if let Some(model) = &renderer.model {
        parts.push(line(model));
    }
    if let Some(mode) = &renderer.mode {
        parts.push(shown!("mode {}", line(mode.as_str())));
    }
    parts.push(ours("/help"));
    Shown::join(parts, " · ")
}
