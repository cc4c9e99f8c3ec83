//! [`Session`]: a conversation with an agent.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duologue_protocol::control::{ControlResponse, InitializeReply, Response};
use duologue_protocol::host_link::Answer;
use duologue_protocol::launch::CliVersion;
use duologue_protocol::{RawJson, RequestId, SessionId, Uuid};
use tokio::sync::Mutex as AsyncMutex;

use crate::dispatch::Filter;
use crate::error::Error;
use crate::handlers::Decision;
use crate::process::{ExitReport, Ladder};
use crate::prompt::{IntoPrompt, PromptError, validate};
use crate::timeouts::KILL_RUN_END;

use super::builder::SessionBuilder;
use super::closing;
use super::control::Control;
use super::inner::{Inner, Live, Stop, lock};
use super::interrupt::{self, InterruptReceipt};
use super::turn::{Events, Message, Messages, Turn};

/// A conversation with an agent.
///
/// It is a handle: clones share one conversation, from any task or thread. When the last clone is
/// dropped, the agent is killed with everything that it has started; [`close`](Self::close) lets it end
/// cleanly.
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
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
    /// The lines for [`receive`](Self::receive).
    received: Arc<AsyncMutex<Option<Messages>>>,
    _kill: Arc<KillOnDrop>,
}

/// Kills the agent when the last clone of a session is dropped. Turns and streams do not keep it alive.
#[derive(Debug)]
struct KillOnDrop(Arc<Inner>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}

// A handle may be shared and sent: a change that prevents it does not compile.
const _: () = {
    const fn is_shareable<T: Clone + Send + Sync + 'static>() {}
    const fn is_sendable<T: Send + 'static>() {}
    is_shareable::<Session>();
    is_sendable::<Turn>();
    is_sendable::<Events>();
    is_sendable::<Messages>();
};

impl Session {
    /// Configures a session.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::new()
    }

    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        let kill = Arc::new(KillOnDrop(Arc::clone(&inner)));
        Self { inner, received: Arc::default(), _kill: kill }
    }

    /// Sends a prompt: a text, blocks, or a [`Prompt`](duologue_protocol::lines::Prompt). It may be sent
    /// while others are in flight.
    ///
    /// Not cancel safe. If the future is dropped, the prompt may be sent or not; its uuid counts as used.
    ///
    /// # Errors
    /// If it is empty, contains an image that the API would refuse, or was sent before; if the budget is
    /// used up; if the agent is gone.
    pub async fn prompt(&self, prompt: impl IntoPrompt) -> Result<Turn, Error> {
        let inner = &self.inner;
        let mut prompt = prompt.into_prompt();
        validate(&prompt, inner.config.max_image_pixels)?;
        self.within_budget()?;
        let uuid = match prompt.uuid.value() {
            Some(uuid) => uuid.clone(),
            None => Uuid::from(uuid::Uuid::new_v4().to_string()),
        };
        if !inner.remember_uuid(&uuid) {
            return Err(PromptError::SentBefore(uuid.as_str().to_owned()).into());
        }
        prompt = prompt.uuid(uuid.clone());
        if inner.verbatim && prompt.client_composed.value().is_none() {
            prompt = prompt.client_composed(true);
        }
        let _not_recycled = inner.prompts.read().await;
        let live = inner.live().await?;
        let subscriber = inner.subscribe(Filter::Turn(uuid.clone()), live.number);
        inner.keep(&prompt);
        if live.link.prompt(prompt).await.is_err() {
            return Err(inner.why_ended(live.number).await);
        }
        Ok(Turn::new(subscriber, uuid))
    }

    fn within_budget(&self) -> Result<(), Error> {
        let Some(limit_usd) = self.inner.config.launch.budget() else { return Ok(()) };
        let spent_usd = self.spent_usd();
        if spent_usd > limit_usd {
            return Err(Error::OverBudget { spent_usd, limit_usd });
        }
        Ok(())
    }

    /// Subscribes to all events from now on, of every turn and between turns.
    ///
    /// What happened before the call is not delivered. What happens after it is, whenever it is read.
    pub fn events(&self) -> Events {
        Events::new(self.inner.subscribe(Filter::Events, 0))
    }

    /// Subscribes to all lines of the agent from now on.
    pub fn messages(&self) -> Messages {
        Messages::new(self.inner.subscribe(Filter::Lines, 0))
    }

    /// Sends control requests to the agent.
    pub fn control(&self) -> Control {
        Control { inner: Arc::clone(&self.inner), timeout: self.inner.config.timeout }
    }

    /// Interrupts the turn that runs now. The receipt comes at once; the turn ends soon after, as
    /// [interrupted](crate::TurnOutcome::is_interrupted), and the next prompt works. An agent that does
    /// not stop within [`settle_within`](SessionBuilder::settle_within) is killed.
    ///
    /// Between turns, and a second time, it has no effect. Right after a prompt, the prompt's turn is
    /// interrupted before it asks the model anything. Open requests of the agent are withdrawn.
    ///
    /// Not cancel safe. If the future is dropped, the turn may be interrupted or not.
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
    /// Not cancel safe. If the future is dropped, the signal may be sent or not.
    ///
    /// # Errors
    /// If the agent cannot be started again, or the session has no process.
    pub async fn abort_by_signal(&self) -> Result<(), Error> {
        interrupt::abort_by_signal(&self.inner).await
    }

    /// Answers a request for permission that was left open: its id comes with
    /// [`PermissionAskedEvent`](duologue_protocol::transcript::PermissionAskedEvent).
    ///
    /// Not cancel safe. If the future is dropped, the answer may be sent or not.
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

    /// Answers any request of the agent that was left open, with a payload.
    ///
    /// Not cancel safe. If the future is dropped, the answer may be sent or not.
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

    /// Sends a prompt whose answer is read with [`receive`](Self::receive). Returns its uuid.
    ///
    /// Not cancel safe, as [`prompt`](Self::prompt).
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

    /// The next line of the agent; `None` when the session was closed. Cancel safe. The first call, or
    /// the first [`query`](Self::query), subscribes; all clones share that subscription.
    ///
    /// # Errors
    /// If the agent goes away, or unread lines could not be kept.
    pub async fn receive(&self) -> Result<Option<Message>, Error> {
        let mut received = self.received.lock().await;
        received.get_or_insert_with(|| self.messages()).next().await
    }

    /// Sends a control request by subtype. The same as [`Control::request`].
    ///
    /// Not cancel safe. If the future is dropped, the request is withdrawn, but may have taken effect.
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
    /// Not cancel safe. If the future is dropped, the answer may be sent or not.
    ///
    /// # Errors
    /// If the request is not open, or the agent is gone.
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

    /// The agent's reply to the handshake; `None` if there was no handshake.
    pub fn handshake(&self) -> Option<InitializeReply> {
        lock(&self.inner.handshake).clone()
    }

    /// The conversation's id, once a turn has begun. It may change: `/clear` begins another one. Always
    /// current, whether anything is read or not.
    pub fn session_id(&self) -> Option<SessionId> {
        lock(&self.inner.router).session_id().cloned()
    }

    /// What all turns have cost so far, in USD, also before the agent was started again. Always current,
    /// whether anything is read or not.
    pub fn spent_usd(&self) -> f64 {
        lock(&self.inner.router).spent_usd()
    }

    /// The id of the agent's process; `None` if the session has no process, or it is gone.
    pub fn pid(&self) -> Option<u32> {
        self.inner.live_now()?.remote.process().map(|process| process.pid())
    }

    /// The version of Claude Code, if it is known.
    pub fn version(&self) -> Option<CliVersion> {
        let handshake = lock(&self.inner.handshake);
        let version = handshake.as_ref().and_then(|reply| reply.claude_code_version.as_str());
        version.and_then(CliVersion::parse).or(self.inner.version)
    }

    /// What the user should know: an untested version, options without effect…
    pub fn notices(&self) -> Vec<String> {
        lock(&self.inner.notices).clone()
    }

    /// The end of what the agent wrote to stderr.
    pub fn stderr(&self) -> String {
        let live = self.inner.live_now();
        let process = live.as_ref().and_then(|live| live.remote.process());
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
    /// It waits at most five seconds for an agent that does not read its stdin, or that is silent after a
    /// line that could not be decoded: what seems open may have ended with that line.
    ///
    /// Not cancel safe. If the future is dropped before it is ready, the agent is killed.
    ///
    /// Any clone can close the session. The others then get [`Error::Closed`]; closing again returns the
    /// same report.
    ///
    /// # Errors
    /// If the agent had gone before.
    pub async fn close(&self) -> Result<ExitReport, Error> {
        closing::close(&self.inner).await
    }

    /// Ends the agent at once, and everything that it has started.
    ///
    /// Not cancel safe. If the future is dropped, the agent may survive until the last handle is dropped.
    pub async fn kill(&self) {
        *lock(&self.inner.stop) = Some(Stop::Close);
        self.inner.closing.store(true, Ordering::Relaxed);
        self.inner.kill_starting();
        let Some(live) = self.inner.live_now() else { return };
        live.remote.end(Ladder::at_once(), std::future::pending()).await;
        let gone = self.inner.why_ended(live.number);
        let _ = tokio::time::timeout(KILL_RUN_END, gone).await;
    }
}
