//! The conversation without a terminal: each line of stdin is a prompt. Answers go to stdout, everything else to stderr.
//! Requests of the agent are denied.

use std::io::BufRead as _;

use duologue::{Event, Events, Session};
use duologue_terminal::{Shown, ours, print, shown, summary};
use tokio::sync::mpsc;

use crate::End;
use crate::commands::{self, Typed};
use crate::describe;
use crate::dialog::{Reply, Topic};
use crate::render::{Piece, Renderer};
use crate::requests::Request;

const NO_TERMINAL: &str = "Permission cannot be requested: no terminal is attached.";

pub(super) async fn run(
    session: Session,
    mut requests: mpsc::Receiver<Request>,
    mut renderer: Renderer,
    first: Option<String>,
) -> anyhow::Result<End> {
    let mut events = session.events();
    let mut lines = read_lines();
    let mut end = End::Succeeded;
    let mut line = first;
    loop {
        let text = match line.take() {
            Some(line) => line,
            // Background work may end in the meantime, with output or requests.
            None => tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => line?,
                    None => break,
                },
                event = events.next() => match event? {
                    Some(event) => { show(&mut renderer, &event)?; continue }
                    None => break,
                },
                Some(ask) = requests.recv() => { refuse(ask); continue }
            },
        };
        match Typed::read(&text) {
            Typed::Nothing => {}
            Typed::Exit => break,
            Typed::Help => print_all(commands::help(session.handshake().as_ref())),
            Typed::Cost => print_all(vec![summary::dollars(renderer.spent)]),
            Typed::Model(None) => {
                print_all(commands::models(
                    session.handshake().as_ref(),
                    renderer.model.as_deref(),
                ));
            }
            Typed::Mode(None) => print_all(commands::modes(renderer.mode.as_ref())),
            Typed::Model(Some(name)) => {
                let model = commands::model(session.handshake().as_ref(), &name);
                session.control().set_model(model).await?;
            }
            Typed::Mode(Some(name)) => {
                session.control().set_permission_mode(name.as_str().into()).await?;
            }
            Typed::Prompt(prompt) => {
                if let Some(unknown) = commands::unknown(session.handshake().as_ref(), &text) {
                    let how = "It was not sent. Put a space before it to send it anyway.";
                    print::err(&shown!("✗ {} {}", unknown, how).yellow());
                    end = End::Failed;
                    continue;
                }
                renderer.prompted();
                if !turn(&session, &mut events, &mut requests, &mut renderer, prompt).await? {
                    end = End::Failed;
                }
            }
        }
    }
    let close = session.close();
    tokio::pin!(close);
    loop {
        tokio::select! {
            closed = &mut close => { closed?; break }
            Some(ask) = requests.recv() => refuse(ask),
        }
    }
    while let Some(event) = events.next().await? {
        show(&mut renderer, &event)?;
    }
    Ok(end)
}

/// Runs a turn. Returns whether it succeeded.
async fn turn(
    session: &Session,
    events: &mut Events,
    requests: &mut mpsc::Receiver<Request>,
    renderer: &mut Renderer,
    text: String,
) -> anyhow::Result<bool> {
    let mut turn = session.prompt(text).await?;
    let outcome = loop {
        tokio::select! {
            event = events.next() => if let Some(event) = event? {
                show(renderer, &event)?;
            },
            Some(ask) = requests.recv() => refuse(ask),
            outcome = turn.outcome() => break outcome?,
        }
    };
    // Show what is left of it.
    loop {
        tokio::select! {
            biased;
            event = events.next() => match event? {
                Some(event) => show(renderer, &event)?,
                None => break,
            },
            () = std::future::ready(()) => break,
        }
    }
    Ok(outcome.is_success())
}

fn show(renderer: &mut Renderer, event: &Event) -> anyhow::Result<()> {
    for piece in renderer.event(event) {
        match piece {
            Piece::Text(text) => {
                print::out().text(&text)?;
            }
            Piece::Line(line) if line.is_empty() => {}
            Piece::Line(line) => print::err(&line),
        }
    }
    Ok(())
}

fn print_all(lines: Vec<Shown>) {
    for line in lines {
        print::err(&line);
    }
}

/// Denies a request, and prints that.
fn refuse(ask: Request) {
    let (what, hint, reply) = match &ask.topic {
        Topic::Permission(request) => {
            let name = describe::tool_name(request.tool_name.as_str().unwrap_or("a tool"));
            let hint = "allow it with --allowed-tools or --permission-mode";
            (name, hint, Reply::Deny(NO_TERMINAL.to_owned()))
        }
        Topic::Questions(_) => {
            (ours("a question"), "the agent continues without an answer", Reply::Skip)
        }
        Topic::Plan(_) => (ours("a plan"), "use a terminal to decide", Reply::Reject),
        Topic::Form(_) => {
            (ours("a form of an MCP server"), "use a terminal to fill it in", Reply::Cancel)
        }
    };
    let line = shown!("✗ {} is refused: stdin is not a terminal; {}", what, hint);
    print::err(&line.yellow());
    ask.answer(reply);
}

/// The lines of stdin. Reading blocks, so a thread does it.
fn read_lines() -> mpsc::Receiver<std::io::Result<String>> {
    let (lines, received) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut whole = String::new();
        for line in std::io::stdin().lock().lines() {
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    let _ = lines.blocking_send(Err(error));
                    return;
                }
            };
            whole.push_str(&line);
            if whole.ends_with('\\') {
                whole.push('\n');
                continue;
            }
            if lines.blocking_send(Ok(std::mem::take(&mut whole))).is_err() {
                return;
            }
        }
        if !whole.is_empty() {
            let _ = lines.blocking_send(Ok(whole));
        }
    });
    received
}
