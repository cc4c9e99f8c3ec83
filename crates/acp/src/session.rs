//! [`Session`]: one session of the client, and the agent behind it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate, Cost,
    CurrentModeUpdate, PromptResponse, SessionInfoUpdate, SessionUpdate, StopReason,
    UnstructuredCommandInput, Usage, UsageUpdate,
};
use duologue::event::TurnFinishedEvent;
use duologue::{Event, Events, SessionBuilder, Turn, TurnOutcome};
use duologue_protocol::RequestId;
use duologue_protocol::control::InitializeReply;
use duologue_protocol::lines::Prompt;
use duologue_protocol::message::ApiErrorKind;
use duologue_protocol::permission::PermissionMode;
use duologue_sessions::Sessions;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use crate::asks;
use crate::config::{self, Config};
use crate::error::{internal, invalid, of_host};
use crate::link::{Link, lock};
use crate::options::Options;
use crate::tool_calls::describe;
use crate::updates::Updates;

/// How many prompts of a session may be unanswered.
const MAX_PROMPTS: usize = 64;
/// How many other changes may wait.
const MAX_CHANGES: usize = 64;
/// How many finished turns are remembered, for prompts that wait for the updates of theirs.
const REMEMBERED_TURNS: usize = 32;
/// How long a prompt waits for the updates of its turn.
const UPDATES_WITHIN: Duration = Duration::from_secs(30);
/// How long to wait until a prompt that waits is taken back.
const TAKE_BACK_WITHIN: Duration = Duration::from_secs(5);
/// How long the agent may take to end in order when the client is gone.
const LINGER: Duration = Duration::from_millis(500);
/// How often an agent that dies is started again without a turn that ends.
const RESPAWNS: u32 = 2;

/// What the client asks of a session, in order.
enum Command {
    Prompt {
        prompt: Box<Prompt>,
        cancels: u64,
        reply: oneshot::Sender<Result<PromptResponse, Error>>,
        permit: OwnedSemaphorePermit,
    },
    Set {
        change: Change,
        reply: oneshot::Sender<Result<(), Error>>,
    },
}

/// The one answer to a prompt.
pub(crate) type PromptAnswer = oneshot::Receiver<Result<PromptResponse, Error>>;

/// A change of the configuration.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Mode(String),
    Model(String),
    Effort(String),
}

/// One session of the client.
pub(crate) struct Session {
    pub(crate) link: Arc<Link>,
    pub(crate) cwd: PathBuf,
    host: duologue::Session,
    stored: Option<Sessions>,
    updates: AsyncMutex<Updates>,
    config: Mutex<Config>,
    commands: mpsc::Sender<Command>,
    prompts: Arc<Semaphore>,
    /// The turns whose updates were sent.
    finished: watch::Sender<Vec<u64>>,
    /// Requests to the user.
    asks: Mutex<HashMap<RequestId, AbortHandle>>,
    /// The kind of the last error of the API.
    api_error: Mutex<Option<ApiErrorKind>>,
    title: Mutex<Option<String>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.link.id).finish_non_exhaustive()
    }
}

/// What has to be started once the client has the id of the session.
pub(crate) struct Work {
    events: Events,
    commands: mpsc::Receiver<Command>,
}

impl Session {
    /// Starts the agent.
    pub(crate) async fn start(
        builder: SessionBuilder,
        link: Arc<Link>,
        cwd: PathBuf,
        options: &Options,
    ) -> Result<(Arc<Self>, Work), Error> {
        let (stored, bypass) = (options.sessions.clone(), options.bypass);
        let on_line = options.on_agent_line.clone();
        let (asked, elicited, observed) = (Arc::clone(&link), Arc::clone(&link), Arc::clone(&link));
        let builder = builder
            .cwd(cwd.as_path())
            .partial_messages(true)
            .forward_subagent_text(true)
            .client_app(concat!("duologue-acp/", env!("CARGO_PKG_VERSION")))
            .linger(LINGER)
            .respawn(duologue::Respawn::up_to(RESPAWNS))
            .tap(move |direction, line| {
                observed.observe(direction, line);
                if let Some(on_line) = &on_line {
                    on_line(&observed.id.0, direction, line);
                }
            })
            // The request is answered when its event is read, after the updates that come before it.
            .on_permission(move |ask| {
                asked.keep_ask(ask.id().as_str(), ask.raw().clone());
                std::future::ready(duologue::handlers::Decision::later())
            })
            .on_elicitation(move |ask| {
                let link = Arc::clone(&elicited);
                async move { asks::elicit(&link, &ask).await }
            });
        let host = tokio::select! {
            host = builder.start() => host.map_err(|error| of_host(&error))?,
            () = link.closed() => return Err(internal("the client has closed the connection")),
        };
        let events = host.events();
        let config = Config::new(host.handshake().as_ref(), bypass);
        let (sender, commands) = mpsc::channel(MAX_PROMPTS + MAX_CHANGES);
        let session = Arc::new(Self {
            updates: AsyncMutex::new(Updates::new(link.client.clone(), cwd.clone())),
            link,
            cwd,
            host,
            stored,
            config: Mutex::new(config),
            commands: sender,
            prompts: Arc::new(Semaphore::new(MAX_PROMPTS)),
            finished: watch::Sender::new(Vec::new()),
            asks: Mutex::default(),
            api_error: Mutex::default(),
            title: Mutex::default(),
        });
        Ok((session, Work { events, commands }))
    }

    /// Begins to send updates and to accept prompts.
    pub(crate) fn begin(self: &Arc<Self>, work: Work) {
        tokio::spawn(Arc::clone(self).pump(work.events));
        tokio::spawn(Arc::clone(self).obey(work.commands));
    }

    pub(crate) fn config(&self) -> Config {
        lock(&self.config).clone()
    }

    /// The slash commands.
    fn commands(reply: &InitializeReply) -> AvailableCommandsUpdate {
        let command = |command: &duologue_protocol::control::SlashCommand| {
            let name = command.name.as_str()?;
            let hint = command.argument_hint.as_str().filter(|hint| !hint.is_empty());
            let input = hint.map(|hint| {
                AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint))
            });
            Some(
                AvailableCommand::new(name, command.description.as_str().unwrap_or_default())
                    .input(input),
            )
        };
        AvailableCommandsUpdate::new(reply.commands.items().iter().filter_map(command).collect())
    }

    // --- events -----------------------------------------------------------------------------------------------

    /// Sends the updates of all events, of every turn and between turns.
    async fn pump(self: Arc<Self>, mut events: Events) {
        if let Some(reply) = self.host.handshake() {
            let commands = Self::commands(&reply);
            if !commands.available_commands.is_empty() {
                self.link.send(SessionUpdate::AvailableCommandsUpdate(commands)).await;
            }
        }
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = self.link.closed() => return,
            };
            match event {
                Ok(Some(event)) => {
                    if !self.event(&event).await {
                        return;
                    }
                }
                Ok(None) => return,
                Err(_) => {
                    // The agent is gone for good. Prompts report why.
                    let ended = duologue::event::RunEndedEvent::new().into();
                    self.event(&ended).await;
                    return;
                }
            }
        }
    }

    /// Sends the updates of an event. False if the connection has ended.
    async fn event(self: &Arc<Self>, event: &Event) -> bool {
        {
            // The lock keeps updates in order.
            let mut updates = self.updates.lock().await;
            if !self.link.send_all(updates.event(event)).await {
                return false;
            }
        }
        match event {
            Event::PermissionAsked(ask) => {
                let input = ask.input.to_value_lossy().unwrap_or_default();
                let id = ask.tool_use_id.as_ref().map(|id| id.as_str().to_owned());
                let agent = ask.agent.as_ref().map(|id| id.as_str().to_owned());
                self.asked(&ask.request_id, id, agent, ask.tool_name.as_str(), input).await;
            }
            Event::QuestionAsked(ask) => {
                let id = ask.tool_use_id.as_ref().map(|id| id.as_str().to_owned());
                self.asked(&ask.request_id, id, None, "AskUserQuestion", Value::Null).await;
            }
            Event::PlanProposed(ask) => {
                let id = ask.tool_use_id.as_ref().map(|id| id.as_str().to_owned());
                let plan = json!({ "plan": ask.plan.as_deref() });
                self.asked(&ask.request_id, id, None, "ExitPlanMode", plan).await;
            }
            Event::PermissionWithdrawn(withdrawn) => {
                self.link.forget_ask(withdrawn.request_id.as_str());
                if let Some(ask) = lock(&self.asks).remove(&withdrawn.request_id) {
                    ask.abort();
                }
            }
            Event::RunEnded(_) => {
                for (_, ask) in lock(&self.asks).drain() {
                    ask.abort();
                }
            }
            Event::Text(text) if text.agent.is_none() => {
                lock(&self.api_error).clone_from(&text.error);
            }
            Event::RunStarted(run) => {
                let is_new = {
                    let mut config = lock(&self.config);
                    let model = run.model.as_deref().is_some_and(|model| config.set_model(model));
                    let mode =
                        run.permission_mode.as_ref().is_some_and(|mode| config.set_mode(mode));
                    (mode, model)
                };
                return self.config_changed(is_new.0, is_new.1).await;
            }
            Event::ModeChanged(changed) => {
                let is_new = lock(&self.config).set_mode(&changed.mode);
                return self.config_changed(is_new, false).await;
            }
            Event::TurnFinished(turn) => {
                if !self.usage(turn).await {
                    return false;
                }
                if let Some(number) = turn.turn {
                    self.finished.send_modify(|turns| {
                        if turns.len() >= REMEMBERED_TURNS {
                            turns.remove(0);
                        }
                        turns.push(number);
                    });
                }
                tokio::spawn(Arc::clone(self).report_title());
            }
            _ => {}
        }
        true
    }

    async fn config_changed(&self, mode: bool, other: bool) -> bool {
        if !mode && !other {
            return true;
        }
        let config = self.config();
        if mode {
            let update = CurrentModeUpdate::new(config.mode.clone());
            if !self.link.send(SessionUpdate::CurrentModeUpdate(update)).await {
                return false;
            }
        }
        self.link
            .send(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(config.options())))
            .await
    }

    /// Reports tokens and cost after a turn.
    async fn usage(&self, turn: &TurnFinishedEvent) -> bool {
        let models = turn.models.as_ref();
        let windows = models
            .into_iter()
            .flat_map(|models| models.iter().map(|(_, usage)| usage.context_window.as_u64()));
        let size = windows.flatten().max().unwrap_or_default();
        let used = self.link.context();
        if size == 0 || used == 0 {
            return true;
        }
        let cost = Cost::new(self.host.spent_usd(), "USD");
        self.link
            .send(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(Some(cost))))
            .await
    }

    /// Reports the title of the session, if it has a new one.
    async fn report_title(self: Arc<Self>) {
        let Some(sessions) = self.stored.clone() else { return };
        let id = self.link.id.0.to_string();
        let read = tokio::task::spawn_blocking(move || {
            let info = sessions.get(&id).ok()?.info().ok()??;
            Some(info.title.unwrap_or(info.summary))
        });
        let Ok(Some(title)) = read.await else { return };
        if title.is_empty() || lock(&self.title).replace(title.clone()).as_deref() == Some(&title) {
            return;
        }
        let update = SessionInfoUpdate::new().title(title);
        self.link.send(SessionUpdate::SessionInfoUpdate(update)).await;
    }

    // --- requests of the agent --------------------------------------------------------------------------------

    /// The agent asks the user. The answer is awaited in a task of its own.
    async fn asked(
        self: &Arc<Self>,
        id: &RequestId,
        call: Option<String>,
        agent: Option<String>,
        tool: &str,
        input: Value,
    ) {
        if let Some(call) = &call
            && !matches!(tool, "AskUserQuestion" | "ExitPlanMode")
        {
            let mut updates = self.updates.lock().await;
            if !updates.has_call(call) {
                let shown = updates.call(agent.as_deref(), call, tool, input.clone());
                self.link.send_all(shown).await;
            }
        }
        let (session, request, cancels) = (Arc::clone(self), id.clone(), self.link.cancels());
        // It is in the map before it can end and be removed.
        let mut asks = lock(&self.asks);
        let task = tokio::spawn(async move {
            session.ask(&request, call, input, cancels).await;
            lock(&session.asks).remove(&request);
        });
        asks.insert(id.clone(), task.abort_handle());
    }

    async fn ask(&self, id: &RequestId, call: Option<String>, shown: Value, cancels: u64) {
        let ask = tokio::select! {
            ask = self.link.take_ask(id.as_str()) => ask,
            () = self.link.closed() => return,
        };
        let name = ask.tool_name.as_str().unwrap_or_default();
        let mut input =
            ask.input.value().and_then(|input| input.to_value_lossy().ok()).unwrap_or_default();
        if input.get("plan").is_none_or(Value::is_null)
            && let (Some(plan), Some(input)) = (shown.get("plan"), input.as_object_mut())
        {
            input.insert("plan".to_owned(), plan.clone());
        }
        let mut description = describe(name, &input, &self.cwd);
        if let Some(title) = ask.title.as_str().filter(|_| name.starts_with("mcp__")) {
            title.clone_into(&mut description.title);
        }
        let decision = asks::decide(&self.link, &ask, call.as_deref(), description, cancels).await;
        // It may have been withdrawn.
        let _ = self.host.respond(id.clone(), decision).await;
    }

    // --- requests of the client -------------------------------------------------------------------------------

    /// Queues a prompt. The receiver gets the one answer.
    pub(crate) fn prompt(&self, prompt: Prompt) -> Result<PromptAnswer, Error> {
        let busy = || {
            internal(format!(
                "{MAX_PROMPTS} prompts of this session wait already; wait for an answer"
            ))
        };
        let permit = Arc::clone(&self.prompts).try_acquire_owned().map_err(|_| busy())?;
        let (reply, answer) = oneshot::channel();
        let prompt = Box::new(prompt);
        let command = Command::Prompt { prompt, cancels: self.link.cancels(), reply, permit };
        self.commands.try_send(command).map_err(|_| busy())?;
        Ok(answer)
    }

    /// Queues a change of the configuration, behind the prompts before it.
    pub(crate) fn set(
        &self,
        change: Change,
    ) -> Result<oneshot::Receiver<Result<(), Error>>, Error> {
        {
            let config = lock(&self.config);
            let (what, value, is_known) = match &change {
                Change::Mode(id) => ("mode", id, config.has_mode(id)),
                Change::Model(id) => ("model", id, config.has_model(id)),
                Change::Effort(id) => {
                    ("effort", id, id == config::DEFAULT_EFFORT || config.efforts().contains(id))
                }
            };
            if !is_known {
                return Err(invalid(format!("there is no {what} {value} in this session")));
            }
        }
        let (reply, answer) = oneshot::channel();
        let busy = |_| internal("too many changes of this session wait already");
        self.commands.try_send(Command::Set { change, reply }).map_err(busy)?;
        Ok(answer)
    }

    /// Cancels all prompts, and what runs without one.
    pub(crate) fn cancel(self: &Arc<Self>) {
        let has_prompts = self.prompts.available_permits() < MAX_PROMPTS;
        self.link.cancel();
        if !has_prompts {
            let session = Arc::clone(self);
            tokio::spawn(async move {
                let _ = session.host.interrupt().await;
            });
        }
    }

    /// Carries out commands in order.
    async fn obey(self: Arc<Self>, mut commands: mpsc::Receiver<Command>) {
        loop {
            let command = tokio::select! {
                command = commands.recv() => command,
                () = self.link.closed() => None,
            };
            let Some(command) = command else { break };
            match command {
                Command::Prompt { prompt, cancels, reply, permit } => {
                    if let Some(turn) = self.send_prompt(*prompt, cancels, reply).await {
                        let (turn, reply) = turn;
                        let session = Arc::clone(&self);
                        tokio::spawn(async move {
                            let answer = session.finish(turn, cancels).await;
                            // The next prompt may be sent before the client reads this answer.
                            drop(permit);
                            let _ = reply.send(answer);
                        });
                    }
                }
                Command::Set { change, reply } => {
                    let _ = reply.send(self.apply(change).await);
                }
            }
        }
        // Whoever waits for an answer gets one.
        commands.close();
        while let Some(command) = commands.recv().await {
            match command {
                Command::Prompt { reply, .. } => {
                    let _ = reply.send(Ok(PromptResponse::new(StopReason::Cancelled)));
                }
                Command::Set { reply, .. } => {
                    let _ = reply.send(Err(internal("the session was closed")));
                }
            }
        }
    }

    async fn send_prompt(
        &self,
        prompt: Prompt,
        cancels: u64,
        reply: oneshot::Sender<Result<PromptResponse, Error>>,
    ) -> Option<(Turn, oneshot::Sender<Result<PromptResponse, Error>>)> {
        let sent = tokio::select! {
            biased;
            () = self.link.cancelled(cancels) => None,
            () = self.link.closed() => None,
            sent = self.host.prompt(prompt) => Some(sent),
        };
        match sent {
            None => {
                let _ = reply.send(Ok(PromptResponse::new(StopReason::Cancelled)));
                None
            }
            Some(Err(error)) => {
                let _ = reply.send(Err(of_host(&error)));
                None
            }
            Some(Ok(turn)) => Some((turn, reply)),
        }
    }

    /// Waits for the end of a turn, and makes the one answer to its prompt.
    async fn finish(&self, mut turn: Turn, cancels: u64) -> Result<PromptResponse, Error> {
        let cancelled = tokio::select! {
            outcome = turn.outcome() => Err(outcome),
            () = self.link.cancelled(cancels) => Ok(()),
            () = self.link.closed() => return Ok(PromptResponse::new(StopReason::Cancelled)),
        };
        let (outcome, is_cancelled) = match cancelled {
            Err(outcome) => (outcome, self.link.cancels() > cancels),
            Ok(()) => {
                // A prompt that waits is taken back. A turn that runs is interrupted; an agent that does not stop is killed.
                let taken_back = tokio::time::timeout(TAKE_BACK_WITHIN, turn.cancel()).await;
                if !matches!(taken_back, Ok(Ok(true))) {
                    let _ = turn.interrupt().await;
                }
                let outcome = tokio::select! {
                    outcome = turn.outcome() => outcome,
                    () = self.link.closed() => return Ok(PromptResponse::new(StopReason::Cancelled)),
                };
                (outcome, true)
            }
        };
        if let Ok(outcome) = &outcome {
            self.updates_sent(outcome).await;
        }
        if is_cancelled {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        }
        match outcome {
            Ok(outcome) => self.answer(&outcome),
            Err(_) if self.link.is_closed() => Ok(PromptResponse::new(StopReason::Cancelled)),
            Err(error) => Err(of_host(&error)),
        }
    }

    /// Waits until the updates of a turn were sent: the answer comes after them.
    async fn updates_sent(&self, outcome: &TurnOutcome) {
        let Some(number) = outcome.finished().turn else { return };
        let mut finished = self.finished.subscribe();
        let sent = finished.wait_for(|turns| turns.contains(&number));
        tokio::select! {
            _ = tokio::time::timeout(UPDATES_WITHIN, sent) => {}
            () = self.link.closed() => {}
        }
    }

    fn answer(&self, outcome: &TurnOutcome) -> Result<PromptResponse, Error> {
        let finished = outcome.finished();
        let reason = if outcome.is_interrupted() || outcome.is_cancelled() {
            StopReason::Cancelled
        } else if finished.subtype.as_deref() == Some("error_max_turns") {
            StopReason::MaxTurnRequests
        } else if let Some(error) = outcome.error() {
            let kind = lock(&self.api_error).take();
            return Err(match kind {
                Some(ApiErrorKind::AuthenticationFailed | ApiErrorKind::OauthOrgNotAllowed) => {
                    Error::auth_required().data(Value::from(error))
                }
                Some(ApiErrorKind::MaxOutputTokens) => {
                    return Ok(PromptResponse::new(StopReason::MaxTokens));
                }
                _ => internal(error).data(json!({ "reason": finished.terminal_reason.as_deref() })),
            });
        } else {
            match finished.terminal_reason.as_deref() {
                Some("refusal") => StopReason::Refusal,
                Some("max_tokens") => StopReason::MaxTokens,
                _ => StopReason::EndTurn,
            }
        };
        Ok(PromptResponse::new(reason).usage(outcome.usage().map(usage_of)))
    }

    async fn apply(&self, change: Change) -> Result<(), Error> {
        let control = self.host.control();
        let failed = |error: duologue::Error| of_host(&error);
        let (mode, other) = match change {
            Change::Mode(id) => {
                let mode = PermissionMode::from(id.as_str());
                control.set_permission_mode(mode.clone()).await.map_err(failed)?;
                (lock(&self.config).set_mode(&mode), false)
            }
            Change::Model(id) => {
                control.set_model(id.as_str()).await.map_err(failed)?;
                let mut config = lock(&self.config);
                let is_new = config.model != id;
                config.model = id;
                (false, is_new)
            }
            Change::Effort(id) => {
                let effort = (id != config::DEFAULT_EFFORT).then_some(id);
                let settings = json!({ "effortLevel": effort });
                let settings = duologue_protocol::RawObject::of(&settings)
                    .map_err(|fault| internal(fault.to_string()))?;
                control.apply_flag_settings(settings).await.map_err(failed)?;
                let mut config = lock(&self.config);
                let is_new = config.effort != effort;
                config.effort = effort;
                (false, is_new)
            }
        };
        self.config_changed(mode, other).await;
        Ok(())
    }

    /// Renames the session.
    pub(crate) async fn rename(&self, title: &str) -> Result<(), Error> {
        self.host.control().rename_session(title).await.map_err(|error| of_host(&error))?;
        Ok(())
    }

    /// Ends the session and everything that its agent has started.
    pub(crate) async fn close(&self) {
        self.link.close();
        for (_, ask) in lock(&self.asks).drain() {
            ask.abort();
        }
        if self.host.close().await.is_err() {
            self.host.kill().await;
        }
    }
}

fn usage_of(usage: &duologue_protocol::message::Usage) -> Usage {
    let of = |number: &duologue_protocol::Field<duologue_protocol::Number>| {
        number.as_u64().unwrap_or_default()
    };
    let (input, output) = (of(&usage.input_tokens), of(&usage.output_tokens));
    let (read, written) =
        (of(&usage.cache_read_input_tokens), of(&usage.cache_creation_input_tokens));
    Usage::new(input + output + read + written, input, output)
        .cached_read_tokens(Some(read))
        .cached_write_tokens(Some(written))
}
