//! The embedded agent: a model, real tools behind real permissions, and conversations on disk, served as the CLI
//! serves them.
//!
//! [`run`] is a whole command line, the drop-in for `claude`. [`Embedded`] is the same as an [`Agent`], for a test that
//! has no other process:
//!
//! ```
//! use duologue_agent::embedded::{Embedded, Setup};
//! use duologue_agent::serve;
//! use duologue_model::OfflineModel;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), String> {
//! let agent = Embedded::new(Setup::new("."), OfflineModel::new())?;
//! let options = agent.options();
//! let stdin: &[u8] = br#"{"type":"user","message":{"role":"user","content":"say hello"}}"#;
//! let exit = serve(agent, stdin, tokio::io::sink(), options).await;
//! assert_eq!(exit.code, 0);
//! # Ok(())
//! # }
//! ```

mod answer;
mod background;
mod calls;
mod choose;
mod commands;
mod conversation;
mod delegate;
mod failure;
pub(crate) mod flags;
pub(crate) mod launch;
mod persona;
mod requests;
mod servers;
mod setup;
mod shared;
mod tally;
mod thinker;
mod thought;

use std::sync::Arc;

use duologue_model::Model;
use duologue_protocol::content::Content;
use duologue_protocol::hook::SessionStart;
use duologue_protocol::{RawJson, Text};
use serde_json::{Value, json};

use crate::agent::{Agent, RequestHandler, TurnError, TurnResult};
use crate::options::Options;
use crate::session::Session;
use crate::spent::Spent;
use crate::turn::Turn;
use commands::Summarised;
use conversation::Conversation;
use shared::Shared;
use thinker::{Thinker, reminder};

pub use flags::{flags, text_prompt};
pub use launch::run;
pub use setup::{Setup, Start};
pub use thought::{Thinking, Thought};

/// The embedded agent.
#[derive(Debug)]
pub struct Embedded {
    shared: Arc<Shared>,
    options: Options,
    has_begun: bool,
    /// The summary that a turn goes on from, made before it was introduced.
    summary: Option<Summarised>,
}

impl Embedded {
    /// An agent that this model thinks for.
    ///
    /// # Errors
    /// If something of the setup cannot be used, such as an old conversation to go on with, in words for people.
    pub fn new(setup: Setup, model: impl Model + 'static) -> Result<Self, String> {
        if setup.start != Start::New {
            return Err("only a process of its own can go on with an old conversation".to_owned());
        }
        Self::with_conversation(setup, Arc::new(model), Conversation::default())
    }

    fn with_conversation(
        mut setup: Setup,
        model: Arc<dyn Model>,
        conversation: Conversation,
    ) -> Result<Self, String> {
        let settings = shared::settings(&setup);
        let info = &mut setup.options.info;
        info.cwd = Text::from(setup.cwd.to_string_lossy().into_owned());
        let kind = setup.agent.as_ref().and_then(|kind| setup.agents.get(kind));
        let kind = kind.and_then(|kind| kind["model"].as_str()).filter(|model| *model != "inherit");
        let kind = kind.map(str::to_owned);
        if let Some(model) = setup.model.as_ref().or(kind.as_ref()).or(settings.model.as_ref()) {
            info.model = Text::from(choose::full_name(model));
        }
        if let Some(mode) = setup.mode.clone().or_else(|| settings.default_mode.clone()) {
            info.permission_mode = mode;
        }
        if setup.mirrors {
            conversation.mirror();
        }
        let shared = Shared::new(setup, model, &settings, conversation)?;
        let mut options = shared.setup.options.clone();
        options.info.tools = shared.tool_names();
        options.info.commands = commands::listed();
        options.info.agents = shared.kinds();
        options.commands = settings.hooks;
        options.hook_events = shared.setup.hook_events;
        Ok(Self { shared: Arc::new(shared), options, has_begun: false, summary: None })
    }

    /// Stops what runs in the background.
    async fn end(&mut self) {
        self.shared.context.tasks().stop_all();
        // What was stopped is killed by its own task: that has to run once more.
        tokio::task::yield_now().await;
    }

    /// How it is to be served.
    pub fn options(&self) -> Options {
        self.options.clone()
    }
}

impl Agent for Embedded {
    async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
        let (session, before) = (turn.session().clone(), turn.session().cost_usd());
        let outcome = self.go(turn).await;
        if session.cost_usd() > before {
            let cost = session.core.with(|state| state.spent.kept());
            self.shared.conversation.cost(&cost);
        }
        self.shared.show_mirrored(&session).await;
        outcome
    }

    async fn before_turn(&mut self, session: &Session) {
        self.shared.connect(session).await;
        if !std::mem::replace(&mut self.has_begun, true) {
            let run = session.hook(Box::new(SessionStart::new().source("startup"))).await;
            for text in run.context() {
                self.shared.conversation.note(&reminder(&text));
            }
        }
    }

    async fn opening(&mut self, turn: &mut Turn<'_>) {
        if turn.origin().is_none() {
            self.prepare(turn).await;
        }
    }

    fn start(&mut self, session: &Session) {
        if let Some(cost) = self.shared.conversation.take_cost_before() {
            session.core.with(|state| state.spent = Spent::restored(&cost));
        }
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(Shared::watch_commands(shared, session.clone()));
    }

    fn requests(&self) -> Option<RequestHandler> {
        Some(requests::handler(&self.shared))
    }
}

impl Embedded {
    async fn go(&mut self, turn: &mut Turn<'_>) -> TurnResult {
        let thinker = Thinker::main(&self.shared, turn.voice());
        if !turn.is_continued()
            && turn.origin().is_none()
            && let Some(done) = self.command(turn).await
        {
            return done;
        }
        if turn.is_continued() {
            self.shared.conversation.note(&turn.text());
        } else {
            let uuid = turn.prompts().last().and_then(|prompt| prompt.uuid.as_str());
            self.shared.conversation.prompt(&content(turn.prompt()), uuid);
        }
        for text in turn.take_context() {
            self.shared.conversation.note(&reminder(&text));
        }
        let outcome = thinker.work().await;
        match &outcome {
            Err(TurnError::Interrupted) => self.shared.conversation.interrupted(),
            _ => self.shared.conversation.mend(),
        }
        if let Some(value) = thinker.shaped() {
            turn.structured_output(value);
        }
        outcome
    }
}

/// A content as the Messages API takes it. One that says nothing is said so, as the CLI does.
fn content(content: &Content) -> Value {
    match content {
        Content::Text(text) if text.is_empty() => json!("(no content)"),
        content => {
            let value = RawJson::from_wire(content).to_value_lossy();
            value.unwrap_or_else(|_| json!("(no content)"))
        }
    }
}
