//! [`Task`]: runs one session. It alone decides and writes.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use duologue::event::{ToolResultEvent, TurnFinishedEvent, TurnStartedEvent};
use duologue::protocol::content::ContentBlock;
use duologue::protocol::control::{AgentRequest, CanUseTool};
use duologue::protocol::lines::Prompt as WirePrompt;
use duologue::protocol::tool::Answers;
use duologue::protocol::transcript::Transcript;
use duologue::protocol::{Direction, Line, RawJson, RawObject, ToHost, Wire as _};
use duologue::{Event, Messages, Session, TurnStatus};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::agents::Agents;
use super::lines::{Arrival, Arrivals};
use super::{By, HubLimits, PromptReceipt, Refusal, lock, recovery};
use crate::id::{AskId, PromptId, SessionId};
use crate::log::{AppendError, Batch, Entry, Key, Limits, Log, NewEntry, Receipt};
use crate::state::{
    About, AgentExited, AgentStarted, Answer, AskChange, AskOpened, AskRefusal, AskState,
    Conversation, PromptAccepted, PromptChange, PromptRefusal, PromptState, Record, SessionState,
    State, TurnEnd, TurnEnded, TurnStarted,
};

/// How long to wait before the log is tried again after a failure.
const AGAIN: Duration = Duration::from_millis(500);

/// How many bytes of lines are appended at once.
const APPEND: usize = 1 << 20;

/// What clients ask a session to do.
pub(super) enum Command {
    Prompt {
        id: PromptId,
        content: Box<RawValue>,
        by: By,
        reply: oneshot::Sender<Result<PromptReceipt, Refusal>>,
    },
    Withdraw {
        id: PromptId,
        by: By,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    Answer {
        ask: AskId,
        answer: Answer,
        by: By,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    Interrupt {
        turn: u64,
        by: By,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    Publish {
        entry: NewEntry,
        reply: oneshot::Sender<Result<Receipt, Refusal>>,
    },
    Close {
        by: By,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// Ends the agent and the task. The session stays as it is.
    Stop,
}

/// An agent that runs.
struct Running {
    session: Session,
    /// Read as fast as the log takes the lines. That slows the agent down.
    messages: Messages,
    arrivals: Arc<Arrivals>,
    transcript: Transcript,
}

/// What happened.
enum Happened {
    Command(Option<Command>),
    Lines,
    /// The agent is gone.
    Ended(String),
}

/// Why the task ends.
enum Stop {
    /// Another hub owns the session.
    Fenced,
    /// The log does not fit the state. It is not written any further.
    Inconsistent(String),
}

pub(super) struct Task {
    id: SessionId,
    log: Arc<dyn Log>,
    agents: Arc<Agents>,
    limits: HubLimits,
    state: Arc<Mutex<SessionState>>,
    commands: mpsc::Receiver<Command>,
    agent: Option<Running>,
}

impl Task {
    pub(super) const fn new(
        id: SessionId,
        log: Arc<dyn Log>,
        agents: Arc<Agents>,
        limits: HubLimits,
        state: Arc<Mutex<SessionState>>,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        Self { id, log, agents, limits, state, commands, agent: None }
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    /// Runs until the hub stops.
    pub(super) async fn run(mut self) {
        // A task that cannot write kills its agent: nothing may happen that is not written down.
        let Err(stop) = self.serve().await else { return };
        self.state().give_up(match stop {
            Stop::Fenced => "another hub runs this session".to_owned(),
            Stop::Inconsistent(reason) => reason,
        });
        if let Some(agent) = self.agent.take() {
            agent.session.kill().await;
        }
    }

    async fn serve(&mut self) -> Result<(), Stop> {
        loop {
            self.proceed().await?;
            match self.next().await {
                Happened::Command(Some(Command::Stop) | None) => return self.end_agent().await,
                Happened::Command(Some(command)) => self.handle(command).await?,
                Happened::Lines => self.write_arrivals().await?,
                Happened::Ended(reason) => self.agent_ended(reason).await?,
            }
        }
    }

    async fn next(&mut self) -> Happened {
        let Some(agent) = &mut self.agent else {
            return Happened::Command(self.commands.recv().await);
        };
        tokio::select! {
            command = self.commands.recv() => Happened::Command(command),
            message = agent.messages.next() => match message {
                Ok(Some(_)) => Happened::Lines,
                Ok(None) => Happened::Ended("the agent was ended".to_owned()),
                Err(error) => Happened::Ended(error.to_string()),
            },
            () = agent.arrivals.changed.notified() => Happened::Lines,
        }
    }

    // ---- Writing

    /// Appends entries and applies them.
    async fn append(
        &self,
        entries: Vec<NewEntry>,
        key: Option<Key>,
    ) -> Result<Result<Receipt, AppendError>, Stop> {
        let generation = self.state().generation();
        let mut batch = Batch::new(self.id, generation, entries.clone());
        batch.key = key;
        match self.log.append(batch).await {
            Ok(receipt) if receipt.repeated => Ok(Ok(receipt)),
            Ok(receipt) => {
                let mut state = self.state();
                for (seq, entry) in (receipt.first..).zip(entries) {
                    let entry = Entry::new(self.id, generation, seq, 0, entry);
                    state.apply(&entry).map_err(|error| Stop::Inconsistent(error.to_string()))?;
                }
                Ok(Ok(receipt))
            }
            Err(AppendError::Fenced { .. }) => Err(Stop::Fenced),
            Err(AppendError::Unknown(reason)) => self.look_up(entries.len(), reason).await,
            Err(error) => Ok(Err(error)),
        }
    }

    /// Reads whether a batch was appended. This task is the only writer, so that all new entries are its own.
    async fn look_up(
        &self,
        expected: usize,
        reason: String,
    ) -> Result<Result<Receipt, AppendError>, Stop> {
        loop {
            let head = self.state().head();
            let all = Limits::new(usize::MAX, usize::MAX);
            let Ok(page) = self.log.read(self.id, head, all).await else {
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            let mut state = self.state();
            for entry in &page.entries {
                state.apply(entry).map_err(|error| Stop::Inconsistent(error.to_string()))?;
            }
            if page.entries.len() == expected {
                return Ok(Ok(Receipt::new(head + 1, head + expected as u64)));
            }
            return Ok(Err(AppendError::Storage(reason)));
        }
    }

    /// Appends records of the hub or the agent. If the log fails, waits until it works again; the agent is not read meanwhile.
    async fn write(&self, records: &[Record], by: &By) -> Result<(), Stop> {
        if records.is_empty() {
            return Ok(());
        }
        let entries = entries(records, by)?;
        while self.append(entries.clone(), None).await?.is_err() {
            tokio::time::sleep(AGAIN).await;
        }
        Ok(())
    }

    /// Appends records that a client wants. If the log fails, the client gets the error.
    async fn try_write(&self, records: &[Record], by: &By) -> Result<Result<(), Refusal>, Stop> {
        let entries = entries(records, by)?;
        Ok(self.append(entries, None).await?.map(drop).map_err(Refusal::from))
    }

    // ---- Commands

    async fn handle(&mut self, command: Command) -> Result<(), Stop> {
        // A client that does not wait for its reply is its own affair.
        match command {
            Command::Prompt { id, content, by, reply } => {
                let _ = reply.send(self.accept(id, content, by).await?);
            }
            Command::Withdraw { id, by, reply } => {
                let decided = self.state().prompts().withdraw(id);
                let result = match decided {
                    Ok(Some(record)) => self.try_write(&[record], &by).await?,
                    Ok(None) => Ok(()),
                    Err(PromptRefusal::Missing) => Err(Refusal::Missing("prompt")),
                    Err(PromptRefusal::Started(state)) => Err(Refusal::PromptStarted(state)),
                };
                let _ = reply.send(result);
            }
            Command::Answer { ask, answer, by, reply } => {
                let decided = self.decide(ask, answer);
                let result = match decided {
                    Ok(record) => self.try_write(&[record], &by).await?,
                    Err(refusal) => Err(refusal),
                };
                let _ = reply.send(result);
            }
            Command::Interrupt { turn, by, reply } => {
                let _ = reply.send(self.interrupt(turn, &by).await?);
            }
            Command::Publish { entry, reply } => {
                let result = if self.state().state() == State::Closed {
                    Err(Refusal::Closed)
                } else {
                    self.append(vec![entry], None).await?.map_err(Refusal::from)
                };
                let _ = reply.send(result);
            }
            Command::Close { by, reply } => {
                let _ = reply.send(self.close(&by).await?);
            }
            Command::Stop => {}
        }
        Ok(())
    }

    async fn accept(
        &self,
        id: PromptId,
        content: Box<RawValue>,
        by: By,
    ) -> Result<Result<PromptReceipt, Refusal>, Stop> {
        if let Err(reason) = wire_prompt(id, &content) {
            return Ok(Err(Refusal::Invalid(reason)));
        }
        let known = self.state().prompts().get(id).is_some();
        if !known {
            let (state, open) = {
                let state = self.state();
                (state.state(), state.prompts().open_count())
            };
            // A prompt that ended long ago gets its receipt from the log.
            if state == State::Closed {
                return Ok(Err(Refusal::Closed));
            }
            if open >= self.limits.prompts {
                let limit = self.limits.prompts;
                return Ok(Err(Refusal::Limit { what: "prompts in the queue", limit }));
            }
        }
        let key = Key::new(format!("prompt/{id}"), content.get().as_bytes());
        let record = Record::PromptAccepted(PromptAccepted::new(id, content));
        let entries = entries(&[record], &by)?;
        Ok(match self.append(entries, Some(key)).await? {
            Ok(receipt) => Ok(PromptReceipt {
                seq: receipt.first,
                repeated: receipt.repeated,
                state: self.state().prompts().get(id).map(|prompt| prompt.state),
            }),
            Err(AppendError::KeyReused { seq, .. }) => Err(Refusal::OtherRequest { seq }),
            Err(error) => Err(error.into()),
        })
    }

    fn decide(&self, ask: AskId, answer: Answer) -> Result<Record, Refusal> {
        let state = self.state();
        match state.asks().answer(ask, answer) {
            Ok(record) => Ok(record),
            Err(AskRefusal::Missing) => Err(Refusal::Missing("ask")),
            Err(AskRefusal::Invalid(error)) => Err(Refusal::Invalid(error.to_string())),
            Err(AskRefusal::NotOpen(outcome)) => {
                let ask = state.asks().get(ask);
                let answer = ask.and_then(|ask| ask.answer.as_ref());
                let answer = answer.and_then(|answer| serde_json::to_value(answer).ok());
                Err(Refusal::NotOpen {
                    state: outcome,
                    answer,
                    by: ask.and_then(|ask| ask.by.clone()),
                })
            }
        }
    }

    async fn interrupt(&self, turn: u64, by: &By) -> Result<Result<(), Refusal>, Stop> {
        let running = self.state().turn();
        let Some(agent) = self.agent.as_ref().filter(|_| running == Some(turn)) else {
            return Ok(Err(Refusal::NotRunning { turn: running }));
        };
        let record = Record::Interrupting(TurnStarted::new(turn, Vec::new()));
        if let Err(refusal) = self.try_write(&[record], by).await? {
            return Ok(Err(refusal));
        }
        // The lines that say how it went must be read meanwhile.
        let session = agent.session.clone();
        tokio::spawn(async move {
            // An agent that does not stop is killed by the library.
            drop(session.interrupt().await);
        });
        Ok(Ok(()))
    }

    async fn close(&mut self, by: &By) -> Result<Result<(), Refusal>, Stop> {
        if self.state().state() == State::Closed {
            return Ok(Ok(()));
        }
        let mut records = self.state().close();
        let closed = records.pop();
        if let Err(refusal) =
            self.try_write(&records, by).await.map(|done| match records.len() {
                0 => Ok(()),
                _ => done,
            })?
        {
            return Ok(Err(refusal));
        }
        if let (Some(agent), Some(_)) = (&self.agent, self.state().turn()) {
            let session = agent.session.clone();
            tokio::spawn(async move { drop(session.interrupt().await) });
        }
        self.end_agent().await?;
        let closed: Vec<Record> = closed.into_iter().collect();
        self.write(&closed, by).await?;
        Ok(Ok(()))
    }

    // ---- The agent

    /// Does what is to be done now: answers, then a prompt, if the session is idle.
    async fn proceed(&mut self) -> Result<(), Stop> {
        self.deliver_answers().await?;
        loop {
            let Some(id) = self.state().next_prompt() else { return Ok(()) };
            let ready = match &self.agent {
                // A turn that no prompt of ours has started, such as the report of a background task.
                Some(agent) => agent.transcript.turn_state().is_between_turns(),
                None => self.start(id).await?,
            };
            // Without an agent, the prompt has failed, and the next one is tried.
            if self.agent.is_some() {
                if ready {
                    self.deliver(id).await?;
                }
                return Ok(());
            }
        }
    }

    /// Starts the agent. If it cannot be started, the prompt fails.
    async fn start(&mut self, prompt: PromptId) -> Result<bool, Stop> {
        let arrivals = Arc::new(Arrivals::default());
        let builder = self.agents.builder(self.id, &self.state(), &arrivals);
        let started = match builder {
            Ok(builder) => builder.start().await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match started {
            Ok(session) => {
                let record = Record::AgentStarted(AgentStarted {
                    pid: session.pid(),
                    version: session.version().map(|version| version.to_string()),
                });
                // The lines of the start mean nothing for the session: the agent may have been started twice, since the first
                // one did not have the conversation, and its last line is the result of a turn.
                let mut records = vec![record];
                records.extend(arrivals.take().iter().map(Arrival::record));
                let messages = session.messages();
                let transcript = Transcript::new();
                self.agent = Some(Running { session, messages, arrivals, transcript });
                self.write(&records, &None).await?;
                Ok(true)
            }
            Err(reason) => {
                let mut records: Vec<Record> =
                    arrivals.take().iter().map(Arrival::record).collect();
                records.push(Record::AgentExited(AgentExited { reason: reason.clone() }));
                let change = PromptChange::new(prompt).reason(reason);
                records.push(Record::Prompt(PromptState::Failed, change));
                self.write(&records, &None).await?;
                Ok(false)
            }
        }
    }

    async fn deliver(&mut self, id: PromptId) -> Result<(), Stop> {
        let content = self.state().prompts().get(id).and_then(|prompt| prompt.content.clone());
        let prompt = content
            .as_deref()
            .map_or(Err("it is gone".to_owned()), |content| wire_prompt(id, content));
        self.write(&[Record::Prompt(PromptState::Delivering, PromptChange::new(id))], &None)
            .await?;
        let Some(agent) = &self.agent else { return Ok(()) };
        let sent = match prompt {
            Ok(prompt) => agent.session.prompt(prompt).await,
            Err(reason) => {
                let change = PromptChange::new(id).reason(reason);
                return self.write(&[Record::Prompt(PromptState::Failed, change)], &None).await;
            }
        };
        match sent {
            Ok(_turn) => Ok(()),
            // Whether the agent got it is found out when its end is handled.
            Err(duologue::Error::Gone(_) | duologue::Error::Closed) => Ok(()),
            Err(error) => {
                let change = PromptChange::new(id).reason(error.to_string());
                self.write(&[Record::Prompt(PromptState::Failed, change)], &None).await
            }
        }
    }

    async fn deliver_answers(&self) -> Result<(), Stop> {
        let Some(agent) = &self.agent else { return Ok(()) };
        loop {
            let next = {
                let state = self.state();
                let mut asks = state.asks().unfinished();
                asks.find(|(_, ask)| ask.wants_delivery()).map(|(id, ask)| (id, ask.clone()))
            };
            let Some((id, ask)) = next else { return Ok(()) };
            self.write(&[Record::AskDelivering(AskChange::new(id))], &None).await?;
            let payload = match (&ask.answer, &ask.content) {
                (Some(answer), Some(content)) => payload(answer, content),
                _ => None,
            };
            let Some(payload) = payload else {
                let reason = AskChange::new(id).reason("the answer cannot be written");
                self.write(&[Record::AskEnded(AskState::Lost, reason)], &None).await?;
                continue;
            };
            let sent = agent.session.respond_with(ask.request.clone(), payload).await;
            match sent {
                Ok(()) if ask.tool_use.is_none() => {
                    self.write(&[Record::AskDelivered(AskChange::new(id))], &None).await?;
                }
                // The result of the call shows that the agent has the answer.
                Ok(()) => {}
                Err(duologue::Error::NotOpen { .. }) => {
                    let reason = AskChange::new(id).reason("the agent did not wait for the answer");
                    self.write(&[Record::AskEnded(AskState::Withdrawn, reason)], &None).await?;
                }
                // The end of the agent decides.
                Err(_) => return Ok(()),
            }
        }
    }

    /// Ends the agent in order, and writes its last lines.
    async fn end_agent(&mut self) -> Result<(), Stop> {
        let Some(agent) = &self.agent else { return Ok(()) };
        let session = agent.session.clone();
        let closing = tokio::spawn(async move {
            match session.close().await {
                Ok(report) => report.to_string(),
                Err(error) => error.to_string(),
            }
        });
        // Its lines must be read until it is gone.
        while let Some(agent) = &mut self.agent {
            let more = tokio::select! {
                message = agent.messages.next() => matches!(message, Ok(Some(_))),
                () = agent.arrivals.changed.notified() => true,
            };
            self.write_arrivals().await?;
            if !more {
                break;
            }
        }
        let reason = closing.await.unwrap_or_else(|_| "the agent was ended".to_owned());
        self.agent_ended(reason).await
    }

    async fn agent_ended(&mut self, reason: String) -> Result<(), Stop> {
        self.write_arrivals().await?;
        let Some(agent) = self.agent.take() else { return Ok(()) };
        drop(agent);
        self.write(&[Record::AgentExited(AgentExited { reason })], &None).await?;
        loop {
            let state = self.state().clone();
            match recovery::after_death(&*self.log, self.id, &state).await {
                Ok(records) => return self.write(&records, &None).await,
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    // ---- Lines

    /// Writes what has arrived, and what it means.
    async fn write_arrivals(&mut self) -> Result<(), Stop> {
        let Some(agent) = &self.agent else { return Ok(()) };
        let (mut records, mut bytes) = (Vec::new(), 0);
        for arrival in agent.arrivals.take() {
            records.push(arrival.record());
            let Arrival::Line(direction, line) = arrival else { continue };
            bytes += line.raw().len();
            let meanings = self.read(direction, &line);
            if !meanings.is_empty() || bytes > APPEND {
                self.write(&std::mem::take(&mut records), &None).await?;
                bytes = 0;
            }
            for meaning in meanings {
                let more = self.records_of(meaning);
                self.write(&more, &None).await?;
            }
        }
        self.write(&records, &None).await
    }

    /// What a line means for the session.
    fn read(&mut self, direction: Direction, line: &Line) -> Vec<Meaning> {
        let mut meanings = Vec::new();
        let Some(agent) = &mut self.agent else { return meanings };
        if direction == Direction::ToHost {
            let decoded = line.to_host();
            match decoded.message() {
                Some(ToHost::ControlRequest(request)) => {
                    if let (Some(id), Some(content)) =
                        (request.request_id.value(), request.request.value())
                    {
                        meanings.extend(opened(id.as_str(), content));
                    }
                }
                Some(ToHost::ControlCancelRequest(cancel)) => {
                    if let Some(id) = cancel.request_id.value() {
                        meanings.push(Meaning::Withdrawn(id.as_str().to_owned()));
                    }
                }
                _ => {}
            }
            agent.transcript.handle_to_host(&decoded, line);
        } else {
            agent.transcript.handle_line(direction, line);
        }
        while let Some(event) = agent.transcript.poll_event() {
            meanings.extend(match event {
                Event::TurnStarted(event) => Some(Meaning::TurnStarted(event)),
                Event::TurnFinished(event) => Some(Meaning::TurnFinished(event)),
                Event::ToolResult(event) => Some(Meaning::Result(event)),
                Event::RunStarted(event) => {
                    event.session_id.map(|id| Meaning::Conversation(id.as_str().to_owned()))
                }
                _ => None,
            });
        }
        meanings
    }

    /// The records of what a line means, as the state is now.
    fn records_of(&self, meaning: Meaning) -> Vec<Record> {
        let state = self.state();
        match meaning {
            Meaning::Conversation(id) => {
                if state.conversation() == Some(&id) {
                    return Vec::new();
                }
                vec![Record::Conversation(Conversation { id })]
            }
            Meaning::Opened { about, request, tool_use, content } => {
                if state.asks().unfinished().count() >= self.limits.asks {
                    self.refuse(request, about, &content);
                    return Vec::new();
                }
                let opened = AskOpened::new(AskId::random(), about, request, content);
                vec![Record::AskOpened(opened.tool_use(tool_use))]
            }
            Meaning::Withdrawn(request) => {
                let ask = state.asks().of_request(&request);
                ask.map(|ask| withdrawn(ask, "the agent withdrew it")).into_iter().collect()
            }
            Meaning::Result(result) => {
                let call = result.tool_use_id.as_str();
                let asks = state.asks().unfinished();
                let answered = asks.filter(|(_, ask)| {
                    ask.tool_use.as_deref() == Some(call) && ask.is_delivering()
                });
                answered.map(|(id, _)| Record::AskDelivered(AskChange::new(id))).collect()
            }
            Meaning::TurnStarted(event) => turn_started(&state, &event),
            Meaning::TurnFinished(event) => turn_finished(&state, &event),
        }
    }

    /// Denies what the agent asks beyond the limit.
    fn refuse(&self, request: String, about: About, content: &RawValue) {
        let message = "denied: too many requests wait for an answer".to_owned();
        let answer = match about {
            About::Elicitation => Answer::Decline,
            _ => Answer::Deny { message, interrupt: false },
        };
        let (Some(agent), Some(payload)) = (&self.agent, payload(&answer, content)) else { return };
        let session = agent.session.clone();
        tokio::spawn(async move {
            // If it is not open any more, no answer is wanted.
            drop(session.respond_with(request, payload).await);
        });
    }
}

fn entries(records: &[Record], by: &By) -> Result<Vec<NewEntry>, Stop> {
    let entry = |record: &Record| match record.entry() {
        Ok(entry) => Ok(entry.by(by.clone())),
        Err(error) => Err(Stop::Inconsistent(error.to_string())),
    };
    records.iter().map(entry).collect()
}

/// What a line means for the session.
enum Meaning {
    Conversation(String),
    Opened { about: About, request: String, tool_use: Option<String>, content: Box<RawValue> },
    Withdrawn(String),
    Result(Box<ToolResultEvent>),
    TurnStarted(Box<TurnStartedEvent>),
    TurnFinished(Box<TurnFinishedEvent>),
}

/// The ask that a request of the agent opens, if it is one for a user.
fn opened(request: &str, content: &AgentRequest) -> Option<Meaning> {
    let (about, tool_use) = match content {
        AgentRequest::CanUseTool(ask) => {
            let about = match ask.tool_name.as_str().unwrap_or_default() {
                "AskUserQuestion" => About::Question,
                "ExitPlanMode" => About::Plan,
                _ => About::Permission,
            };
            (about, ask.tool_use_id.value().map(|id| id.as_str().to_owned()))
        }
        AgentRequest::Elicitation(_) => (About::Elicitation, None),
        _ => return None,
    };
    let content = RawValue::from_string(content.to_json()).ok()?;
    Some(Meaning::Opened { about, request: request.to_owned(), tool_use, content })
}

fn withdrawn(ask: AskId, reason: &str) -> Record {
    Record::AskEnded(AskState::Withdrawn, AskChange::new(ask).reason(reason))
}

fn prompts_of(uuids: &[duologue::protocol::Uuid]) -> Vec<PromptId> {
    uuids.iter().filter_map(|uuid| uuid.as_str().parse().ok()).collect()
}

fn turn_started(state: &SessionState, event: &TurnStartedEvent) -> Vec<Record> {
    let mut records = Vec::new();
    if let Some(turn) = state.turn() {
        let mut ended = TurnEnded::new(turn);
        ended.reason = Some("it has no result".to_owned());
        records.push(Record::TurnEnded(TurnEnd::Failed, ended));
    }
    let prompts = prompts_of(&event.prompts);
    let delivered = state.prompts().open().filter(|(id, prompt)| {
        prompt.state == PromptState::Delivering && (prompts.is_empty() || prompts.contains(id))
    });
    let delivered: Vec<PromptId> = delivered.map(|(id, _)| id).collect();
    records.push(Record::TurnStarted(TurnStarted::new(state.next_turn(), prompts)));
    let running = |id| Record::Prompt(PromptState::Running, PromptChange::new(id));
    records.extend(delivered.into_iter().map(running));
    records
}

fn turn_finished(state: &SessionState, event: &TurnFinishedEvent) -> Vec<Record> {
    let mut records = Vec::new();
    let (end, becomes) = match event.outcome {
        TurnStatus::Success => (TurnEnd::Completed, PromptState::Finished),
        TurnStatus::Interrupted | TurnStatus::Cancelled => {
            (TurnEnd::Cancelled, PromptState::Interrupted)
        }
        _ => (TurnEnd::Failed, PromptState::Failed),
    };
    let reason = event.error.as_ref().map(|error| error.as_str().to_owned());
    for (id, ask) in state.asks().unfinished() {
        if ask.is_delivering() {
            records.push(Record::AskDelivered(AskChange::new(id)));
        } else if end == TurnEnd::Cancelled {
            records.push(withdrawn(id, "the turn was interrupted"));
        }
    }
    let answered = prompts_of(&event.prompts);
    for (id, prompt) in state.prompts().open() {
        let is_of_turn = match prompt.state {
            PromptState::Running => true,
            PromptState::Delivering => answered.contains(&id),
            _ => false,
        };
        if is_of_turn {
            let change = PromptChange { prompt: id, reason: reason.clone() };
            records.push(Record::Prompt(becomes, change));
        }
    }
    let mut turn = state.turn();
    if turn.is_none() {
        // A result without anything before it.
        let prompts = prompts_of(&event.prompts);
        records.insert(0, Record::TurnStarted(TurnStarted::new(state.next_turn(), prompts)));
        turn = Some(state.next_turn());
    }
    if let Some(turn) = turn {
        let ended = TurnEnded { turn, reason, cost_usd: event.cost_usd };
        records.push(Record::TurnEnded(end, ended));
    }
    records
}

/// A prompt for the agent.
fn wire_prompt(id: PromptId, content: &RawValue) -> Result<WirePrompt, String> {
    let expected = "a prompt is a text that is not empty, or a list of content blocks";
    let json = RawJson::parse(content.get()).map_err(|error| error.to_string())?;
    let prompt = match json.as_str() {
        Some(text) if !text.as_str().trim().is_empty() => WirePrompt::text(text),
        Some(_) => return Err(expected.to_owned()),
        None => {
            let blocks: Vec<ContentBlock> =
                json.read().map_err(|error| format!("{expected}: {error}"))?;
            if blocks.is_empty() {
                return Err(expected.to_owned());
            }
            WirePrompt::blocks(blocks)
        }
    };
    Ok(prompt.uuid(id.to_string()))
}

/// The payload of an answer on the wire.
fn payload(answer: &Answer, content: &RawValue) -> Option<RawJson> {
    let request = || RawJson::parse(content.get()).ok()?.read::<CanUseTool>().ok();
    let result = match answer {
        Answer::Accept { content } => {
            let accepted = serde_json::json!({ "action": "accept", "content": content });
            return RawJson::of(&accepted).ok();
        }
        Answer::Decline => return RawJson::of(&serde_json::json!({ "action": "decline" })).ok(),
        Answer::Allow { input: Some(input), .. } => {
            request()?.allow_with(RawObject::of(input).ok()?)
        }
        Answer::Allow { always: true, .. } => request()?.allow_always(),
        Answer::Allow { .. } => request()?.allow(),
        Answer::Deny { message, interrupt } => {
            let text = if message.is_empty() { "denied by the user" } else { message };
            if *interrupt { request()?.deny_and_interrupt(text) } else { request()?.deny(text) }
        }
        Answer::Answers { answers } => {
            let choose = |chosen: Answers, (question, answer): (&String, &String)| {
                chosen.choose(question.as_str(), answer.as_str())
            };
            let answers = answers.iter().fold(Answers::new(), choose);
            request()?.answer_question(&answers)
        }
    };
    Some(RawJson::from_wire(&result))
}
