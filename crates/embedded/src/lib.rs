//! The embedded agent: a model, real tools behind real permissions, and conversations on disk, served as the CLI
//! serves them.
//!
//! [`run`] is a whole command line, the drop-in for `claude`. [`Embedded`] is the same as an [`Agent`], for a test that
//! has no other process:
//!
//! ```
//! use duologue_embedded::{Embedded, Setup};
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

pub mod permission;
pub mod session_store;
pub mod settings;
pub mod tools;

mod agent_kinds;
mod agent_loop;
mod answer;
mod api_failures;
mod background;
mod checkpoints;
mod command_hooks;
mod conversation;
mod custom;
mod debug_log;
mod mcp;
mod mcp_config;
mod models;
mod path;
mod reasoning;
mod requests;
mod run;
mod setup;
mod setup_from_args;
mod shared;
mod skills;
mod slash_commands;
mod subagent_stats;
mod subagents;
mod tool_calls;
mod web;

use std::sync::Arc;

use duologue_agent::{
    Agent, LocalHooks, Options, RequestHandler, Session, Turn, TurnError, TurnResult, UsageTotals,
};
use duologue_model::Model;
use duologue_protocol::content::Content;
use duologue_protocol::hook::SessionStart;
use duologue_protocol::system::System;
use duologue_protocol::{RawJson, Text};
use serde_json::{Value, json};

use agent_loop::{AgentLoop, reminder};
use conversation::Conversation;
use settings::Settings;
use shared::Shared;
use slash_commands::Summarised;

pub use reasoning::{Reasoning, Thinking};
pub use run::run;
pub use setup::{Debug, Setup, Start};

/// The embedded agent.
#[derive(Debug)]
pub struct Embedded {
    shared: Arc<Shared>,
    options: Options,
    has_begun: bool,
    /// The summary that a turn continues from, made before its `init`.
    summary: Option<Summarised>,
}

impl Embedded {
    /// Creates an agent backed by this model.
    ///
    /// # Errors
    /// If the setup is not valid, or resumes a conversation: only a process can do that.
    pub fn new(setup: Setup, model: impl Model + 'static) -> Result<Self, String> {
        if setup.start != Start::New {
            return Err("only a separate process can resume a conversation".to_owned());
        }
        let settings = setup.load_settings();
        Self::with_conversation(setup, &settings, Arc::new(model), Conversation::default())
    }

    fn with_conversation(
        mut setup: Setup,
        settings: &Settings,
        model: Arc<dyn Model>,
        conversation: Conversation,
    ) -> Result<Self, String> {
        let info = &mut setup.options.info;
        info.cwd = Text::from(setup.cwd.to_string_lossy().into_owned());
        let kind = setup.agent.as_ref().and_then(|kind| setup.agents.get(kind));
        let kind = kind.and_then(|kind| kind["model"].as_str()).filter(|model| *model != "inherit");
        let kind = kind.map(str::to_owned);
        if let Some(model) = setup.model.as_ref().or(kind.as_ref()).or(settings.model.as_ref()) {
            info.model = Text::from(models::full_name(model));
        }
        if let Some(mode) = setup.mode.clone().or_else(|| settings.default_mode.clone()) {
            info.permission_mode = mode;
        }
        if setup.mirrors {
            conversation.mirror();
        }
        let shared = Shared::new(setup, model, settings, conversation)?;
        let mut options = shared.setup.options.clone();
        options.info.tools = shared.tool_names();
        let listing = shared.listing();
        options.info.commands = listing.commands;
        options.info.agents = listing.agents;
        options.info.output_style = listing.output_style;
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
        let outcome = self.answer(turn).await;
        if session.cost_usd() > before {
            let cost = session.usage().to_transcript();
            self.shared.conversation.cost(&cost);
        }
        self.shared.show_mirrored(&session).await;
        outcome
    }

    async fn before_turn(&mut self, session: &Session) {
        self.shared.connect(session).await;
        if !std::mem::replace(&mut self.has_begun, true) {
            if let Some(name) = &self.shared.setup.name {
                session.say_line(System::from(Box::new(requests::titled(session, name)))).await;
            }
            let source = if self.shared.setup.start == Start::New { "startup" } else { "resume" };
            let run = session.hook(Box::new(SessionStart::new().source(source))).await;
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
        session.set_listing(self.shared.listing());
        if let Some(name) = &self.shared.setup.name {
            self.shared.conversation.set_title(name);
        }
        if let Some(cost) = self.shared.conversation.take_cost_before() {
            session.set_usage(UsageTotals::from_transcript(&cost));
        }
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(Shared::watch_commands(shared, session.clone()));
    }

    fn local_hooks(&self) -> Option<Arc<dyn LocalHooks>> {
        Some(self.shared.hooks.clone())
    }

    fn requests(&self) -> Option<RequestHandler> {
        Some(requests::handler(&self.shared))
    }
}

impl Embedded {
    async fn answer(&mut self, turn: &mut Turn<'_>) -> TurnResult {
        let agent_loop = AgentLoop::main(&self.shared, turn.emitter());
        let is_typed = !turn.is_continued() && turn.origin().is_none();
        if is_typed
            && self.shared.setup.checkpoints
            && let Some(uuid) = turn.prompt_uuid()
        {
            self.shared.checkpoints.begin(&uuid);
        }
        if is_typed && let Some(done) = self.command(turn).await {
            return done;
        }
        if is_typed && let Some(expanded) = self.expand(turn).await {
            let outcome = match expanded {
                Ok(()) => self.work(turn, &agent_loop).await,
                Err(text) => turn.say_locally(&text).await,
            };
            self.shared.end_command();
            return outcome;
        }
        if turn.is_continued() {
            self.shared.conversation.note(&turn.text());
        } else {
            let uuid = turn.prompt_uuid();
            self.shared.conversation.prompt(&content(turn.prompt()), uuid.as_deref());
        }
        let outcome = self.work(turn, &agent_loop).await;
        self.shared.end_command();
        outcome
    }

    async fn work(&self, turn: &mut Turn<'_>, agent_loop: &AgentLoop) -> TurnResult {
        for text in turn.take_context() {
            self.shared.conversation.note(&reminder(&text));
        }
        let outcome = agent_loop.work().await;
        match &outcome {
            Err(TurnError::Interrupted) => self.shared.conversation.interrupted(),
            _ => self.shared.conversation.close_open_calls(),
        }
        if let Some(value) = agent_loop.shaped() {
            turn.structured_output(value);
        }
        outcome
    }
}

/// A content as the Messages API takes it. An empty one becomes a placeholder, as in the CLI.
fn content(content: &Content) -> Value {
    match content {
        Content::Text(text) if text.is_empty() => json!("(no content)"),
        content => {
            let value = RawJson::from_wire(content).to_value_lossy();
            value.unwrap_or_else(|_| json!("(no content)"))
        }
    }
}

// The example of the crate's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
