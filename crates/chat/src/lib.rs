//! The interactive chat of the `duologue` command: a conversation with an agent in a terminal, or line by line over
//! a pipe.
//!
//! [`chat`] starts a session and runs the conversation to its end. On a terminal, the answer is printed as it is
//! written, permissions, questions and forms are menus, and what is typed during a turn is kept for the next prompt. Otherwise
//! each line of stdin is a prompt, and requests of the agent are denied.
//!
//! ```no_run
//! use duologue::Session;
//! use duologue_chat::{Options, chat};
//!
//! # async fn run() -> anyhow::Result<()> {
//! let end = chat(Session::builder(), Options::new()).await?;
//! # let _ = end;
//! # Ok(())
//! # }
//! ```

mod commands;
mod complete;
mod conversation;
mod describe;
mod dialog;
mod form;
mod input;
mod menu;
mod pipe;
mod render;
mod requests;
mod screen;
mod subject;

use std::io::{IsTerminal as _, stdin};
use std::time::Duration;

use duologue::{Error, Session, SessionBuilder};
use duologue_terminal::{Foreign, Shown, block, line, ours, print, shown};

/// How long background work may delay the end of a chat in a terminal.
const LINGER: Duration = Duration::from_secs(2);

/// How a chat behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The first prompt. The chat starts with it instead of waiting for input.
    pub prompt: Option<String>,
    /// Whether to show the reasoning of the model.
    pub thinking: bool,
    /// Whether the agent is the embedded one, for the greeting.
    pub is_embedded: bool,
    /// What to show above the greeting: the end of a conversation that is resumed.
    pub earlier: Vec<Shown>,
    /// The command that resumes the conversation, without its id. It is shown when the user leaves.
    pub resume_command: Option<String>,
    /// Describes an error of the session. The default is its `Display`.
    pub describe_error: fn(&Error) -> String,
}

impl Options {
    /// No first prompt, no reasoning.
    pub fn new() -> Self {
        Self {
            prompt: None,
            thinking: false,
            is_embedded: false,
            earlier: Vec::new(),
            resume_command: None,
            describe_error: ToString::to_string,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// How a chat ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The user left the terminal.
    Left,
    /// Stdin of a chat without a terminal ended, and every turn succeeded.
    Succeeded,
    /// Stdin of a chat without a terminal ended, and a turn failed.
    Failed,
}

/// Starts a session and runs a chat with it until the user leaves or stdin ends.
///
/// # Errors
/// If the agent cannot be started or fails, or if the terminal cannot be used.
pub async fn chat(builder: SessionBuilder, options: Options) -> anyhow::Result<End> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = stdin().is_terminal() && print::out_is_terminal() && !dumb;
    let mut builder = builder.partial_messages(true);
    if terminal {
        builder = builder.linger(LINGER);
    }
    let (builder, requests) = requests::listen(builder);
    let session = builder.start().await?;
    let mut renderer = render::Renderer::new(options.thinking, conversation::size().1);
    if let Some(handshake) = session.handshake() {
        renderer.model = handshake.current_model.as_str().map(str::to_owned);
        renderer.mode = handshake.current_permission_mode.value().cloned();
    }
    for notice in session.notices() {
        print::err(&block(&notice).yellow());
    }
    if !terminal {
        return pipe::run(session, requests, renderer, options.prompt).await;
    }
    for earlier in &options.earlier {
        print::out().line(earlier)?;
    }
    print::out().line(&greeting(&options, &session, &renderer).dimmed())?;
    let colours = print::out_has_colours();
    let helper = complete::LineHelper::new(session.handshake().as_ref(), colours);
    let (input, above) = input::UserInput::start(helper)?;
    let screen = screen::Screen::new(print::screen(), colours, conversation::size(), above);
    let describe_error = options.describe_error;
    let talk = session.clone();
    let chat =
        conversation::Conversation::new(session, requests, input, screen, renderer, describe_error);
    chat.run(options.prompt).await?;
    if let (Some(command), Some(id)) = (&options.resume_command, talk.session_id()) {
        print::err(&shown!("To resume: {} {}", line(command), line(id.as_str())).dimmed());
    }
    Ok(End::Left)
}

/// The agent, its model and its permission mode.
fn greeting(options: &Options, session: &Session, renderer: &render::Renderer) -> Shown {
    let mut parts = vec![match session.version() {
        Some(version) if options.is_embedded => {
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

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
