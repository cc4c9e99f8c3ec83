//! [`Session`]: a conversation with an agent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duologue_protocol::control::{ControlResponse, InitializeReply, Response};
use duologue_protocol::host_link::Answer;
use duologue_protocol::launch::CliVersion;
use duologue_protocol::{RawJson, RequestId, SessionId, Uuid};
use tokio::sync::Mutex as AsyncMutex;

use crate::error::Error;
use crate::handlers::Decision;
use crate::process::{ExitReport, Ladder};
use crate::prompt::{IntoPrompt, PromptError, validate};

use super::builder::SessionBuilder;
use super::closing;
use super::control::Control;
use super::hub::Wants;
use super::inner::{Inner, Live, Stop, lock};
use super::interrupt::{self, InterruptReceipt};
use super::turn::{Events, Message, Messages, Turn};

/// A conversation with an agent.
///
/// Dropping it kills the agent and everything that the agent has started;
/// [`close`](Self::close) lets it end in peace.
///
/// ```no_run
/// # async fn example() -> Result<(), duologue::Error> {
/// use duologue::{Event, Session};
///
/// let session = Session::builder().model("sonnet").start().await?;
/// let mut turn = session.prompt("What does this project do?").await?;
/// while let Some(event) = turn.next().await? {
///     match event {
///         Event::Text(text) => println!("{}", text.text),
///         Event::ToolCall(call) => eprintln!("· {}", call.name),
///         _ => {}
///     }
/// }
/// let outcome = turn.outcome().await?;
/// eprintln!("${:.4}", outcome.cost_usd());
/// session.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
    /// For whoever receives without having asked for a stream.
    received: AsyncMutex<Option<Messages>>,
}

impl Session {
    /// Says how the agent is started.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::new()
    }

    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { inner, received: AsyncMutex::new(None) }
    }

    /// Sends a prompt: a text, blocks, or a [`Prompt`](duologue_protocol::lines::Prompt) made by hand.
    /// It may be sent while others are in flight.
    ///
    /// # Errors
    /// If it is empty, holds a picture that the API would refuse, or was sent before; if the budget is
    /// used up; if the agent is gone, or its lines could not be kept.
    pub async fn prompt(&self, prompt: impl IntoPrompt) -> Result<Turn, Error> {
        let inner = &self.inner;
        let mut prompt = prompt.into_prompt();
        validate(&prompt, inner.config.max_image_pixels)?;
        self.within_budget()?;
        let uuid = match prompt.uuid.value() {
            Some(uuid) => uuid.clone(),
            None => Uuid::from(uuid::Uuid::new_v4().to_string()),
        };
        if !inner.name_is_new(&uuid) {
            return Err(PromptError::SentBefore(uuid.as_str().to_owned()).into());
        }
        prompt = prompt.uuid(uuid.clone());
        if inner.verbatim && prompt.client_composed.value().is_none() {
            prompt = prompt.client_composed(true);
        }
        let live = inner.live().await?;
        inner.can_be_followed(&live)?;
        let seat = inner.sit(Wants::Turn(uuid.clone()), live.number);
        inner.keep(&prompt);
        if live.link.prompt(prompt).await.is_err() {
            return Err(inner.why_ended(live.number).await);
        }
        Ok(Turn { seat, uuid, over: None })
    }

    fn within_budget(&self) -> Result<(), Error> {
        let Some(limit_usd) = self.inner.config.launch.budget() else { return Ok(()) };
        // Nobody may have read the end of the last turn yet.
        self.inner.catch_up();
        let spent_usd = self.spent_usd();
        if spent_usd > limit_usd {
            return Err(Error::OverBudget { spent_usd, limit_usd });
        }
        Ok(())
    }

    /// All events, of every turn and between them: also what nobody asked for. They begin with the first
    /// line that nobody has read yet.
    pub fn events(&self) -> Events {
        Events { seat: self.inner.sit(Wants::Events, 0) }
    }

    /// All lines of the agent, as they are, from the first on that nobody has read yet.
    pub fn messages(&self) -> Messages {
        Messages { seat: self.inner.sit(Wants::Lines, 0) }
    }

    /// Asks the agent for things.
    pub fn control(&self) -> Control {
        Control { inner: Arc::clone(&self.inner), timeout: self.inner.config.timeout }
    }

    /// Interrupts what the agent does now. The receipt comes at once; the turn ends soon after, as
    /// [interrupted](crate::TurnOutcome::is_interrupted), and the next prompt works. An agent that does
    /// not stop within [`settle_within`](SessionBuilder::settle_within) is killed.
    ///
    /// Between turns, and a second time, it has no effect. Right after a prompt, the prompt's turn is
    /// interrupted before it asks the model anything. Open requests of the agent are withdrawn.
    ///
    /// # Errors
    /// If the agent does not answer.
    pub async fn interrupt(&self) -> Result<InterruptReceipt, Error> {
        let live = self.inner.live().await?;
        interrupt::interrupt(&self.inner, &live, None).await
    }

    /// Aborts the turn by SIGINT, to the agent alone. Today's CLI exits then: it is started again and
    /// resumes its conversation. The turn is interrupted. Prefer [`interrupt`](Self::interrupt).
    ///
    /// # Errors
    /// If the agent cannot be started again, or is no process of ours.
    pub async fn abort_by_signal(&self) -> Result<(), Error> {
        interrupt::abort_by_signal(&self.inner).await
    }

    /// Answers a request for permission that was left open: its id comes with
    /// [`PermissionAsked`](duologue_protocol::transcript::PermissionAsked).
    ///
    /// # Errors
    /// If it is not open.
    pub async fn respond(&self, id: impl Into<RequestId>, decision: Decision) -> Result<(), Error> {
        let id = id.into();
        let not_open = || Error::NotOpen { id: id.as_str().to_owned() };
        let live = self.inner.live().await?;
        let ask = self.inner.left_open.wait_for(&live.link, &id).await.ok_or_else(not_open)?;
        match decision.answer(&ask) {
            Some(answer) => self.answer(&live, id, answer).await,
            None => Ok(()),
        }
    }

    /// Answers any request of the agent that was left open, with a payload of its own.
    ///
    /// # Errors
    /// If it is not open, or the agent is gone.
    pub async fn respond_with(
        &self,
        id: impl Into<RequestId>,
        payload: RawJson,
    ) -> Result<(), Error> {
        self.answer_open(id.into(), Answer::Success(payload)).await
    }

    async fn answer_open(&self, id: RequestId, answer: Answer) -> Result<(), Error> {
        let live = self.inner.live().await?;
        if !live.link.is_open(id.clone()).await {
            return Err(Error::NotOpen { id: id.as_str().to_owned() });
        }
        self.inner.left_open.take(&id);
        self.answer(&live, id, answer).await
    }

    async fn answer(&self, live: &Live, id: RequestId, answer: Answer) -> Result<(), Error> {
        if live.link.answer(id, answer).await.is_err() {
            return Err(self.inner.why_ended(live.number).await);
        }
        Ok(())
    }

    /// Sends a prompt, for whoever reads with [`receive`](Self::receive). Gives its name.
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt).
    pub async fn query(&self, prompt: impl IntoPrompt + Send) -> Result<Uuid, Error> {
        let mut received = self.received.lock().await;
        if received.is_none() {
            *received = Some(self.messages());
        }
        drop(received);
        Ok(self.prompt(prompt).await?.uuid)
    }

    /// The next line of the agent; `None` when the session was closed. It may be dropped while it
    /// waits. The first call, or the first [`query`](Self::query), begins to keep lines.
    ///
    /// # Errors
    /// If the agent goes away, or its lines cannot be kept.
    pub async fn receive(&self) -> Result<Option<Message>, Error> {
        let mut received = self.received.lock().await;
        received.get_or_insert_with(|| self.messages()).next().await
    }

    /// Asks the agent for something by subtype. The same as [`Control::request`].
    ///
    /// # Errors
    /// If the agent refuses, does not answer in time, or is gone.
    pub async fn control_request(
        &self,
        subtype: &str,
        fields: &serde_json::Value,
    ) -> Result<Option<RawJson>, Error> {
        self.control().request(subtype, fields).await
    }

    /// Answers a request of the agent with a whole `control_response`.
    ///
    /// # Errors
    /// If that is not open, or the agent is gone.
    pub async fn control_response(&self, response: &ControlResponse) -> Result<(), Error> {
        let Some(id) = response.request_id().cloned() else {
            return Err(Error::NotOpen { id: String::new() });
        };
        let answer = match response.response.value() {
            Some(Response::Success(success)) => match success.response.value() {
                Some(payload) => Answer::Success(payload.clone()),
                None => Answer::Ack,
            },
            Some(Response::Error(failure)) => {
                Answer::Error(failure.error.as_str().unwrap_or("refused").into())
            }
            _ => Answer::Ack,
        };
        self.answer_open(id, answer).await
    }

    /// What the agent said in the handshake; `None` if there was none.
    pub fn handshake(&self) -> Option<InitializeReply> {
        lock(&self.inner.handshake).clone()
    }

    /// The conversation's id, once a turn has begun. It may change: `/clear` begins another one.
    pub fn session_id(&self) -> Option<SessionId> {
        let live = self.inner.live_now();
        let told = live.and_then(|live| live.link.standing().borrow().session_id.clone());
        told.or_else(|| lock(&self.inner.hub).session_id.clone())
    }

    /// What was spent so far, in USD, by turns whose end was read; also before the agent was started
    /// again.
    pub fn spent_usd(&self) -> f64 {
        lock(&self.inner.hub).spent_usd
    }

    /// The agent's process; `None` if it is none of ours, or is gone.
    pub fn pid(&self) -> Option<u32> {
        self.inner.live_now()?.process.map(|process| process.pid())
    }

    /// The version of Claude Code, as far as it is known.
    pub fn version(&self) -> Option<CliVersion> {
        let said = lock(&self.inner.handshake);
        let said = said.as_ref().and_then(|reply| reply.claude_code_version.as_str());
        said.and_then(CliVersion::parse).or(self.inner.version)
    }

    /// What the person should know: an untested version, options without effect…
    pub fn notices(&self) -> Vec<String> {
        lock(&self.inner.notices).clone()
    }

    /// The end of what the agent wrote to stderr.
    pub fn stderr(&self) -> String {
        let process = self.inner.live_now().and_then(|live| live.process);
        process.map(|process| process.stderr()).unwrap_or_default()
    }

    /// Ends the conversation in order: waits until nothing runs, waits, is asked or works in the
    /// background, closes the agent's stdin, and makes sure that the agent ends.
    ///
    /// It always returns, whatever the agent does: at most [`linger`](SessionBuilder::linger) (ten
    /// minutes by default) plus the three steps of the [`ladder`](SessionBuilder::ladder) (2 + 5 + 2
    /// seconds) plus one second after it was called. What has not ended by then is killed. To wait
    /// longer for a turn, await its [outcome](Turn::outcome) first, or raise `linger`.
    ///
    /// It does not wait so long for an agent that takes nothing off its stdin for five seconds, or that is
    /// silent for five seconds after a line that could not be read: what seems open may have ended with
    /// that line.
    ///
    /// # Errors
    /// If the agent had gone before.
    pub async fn close(self) -> Result<ExitReport, Error> {
        closing::close(&self.inner).await
    }

    /// Ends the agent at once, and everything that it has started.
    pub async fn kill(self) {
        *lock(&self.inner.stop) = Some(Stop::Close);
        self.inner.closing.store(true, Ordering::Relaxed);
        self.inner.kill_starting();
        let Some(live) = self.inner.live_now() else { return };
        match &live.process {
            Some(process) => {
                process.end(Ladder::at_once()).await;
            }
            None => live.kill(),
        }
        // Nobody is left to hold it up; but a driver that was never polled never ends.
        let gone = self.inner.why_ended(live.number);
        let _ = tokio::time::timeout(Duration::from_secs(2), gone).await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.inner.kill();
    }
}
