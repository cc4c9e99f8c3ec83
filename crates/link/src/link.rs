//! [`Link`]: a handle to a conversation, and [`Asks`]: what the agent asks.

use std::time::Duration;

use duologue_protocol::control::{AgentRequest, ControlRequest, HostRequest, Success};
use duologue_protocol::host_link::{Answer, Failure};
use duologue_protocol::lines::Prompt;
use duologue_protocol::{Fault, RawObject, RequestId};
use tokio::sync::{mpsc, oneshot, watch};

use tokio::time::Instant;

use crate::standing::Standing;

/// What the handles tell the driver.
#[derive(Debug)]
pub(crate) enum Command {
    Prompt(Box<Prompt>, oneshot::Sender<()>),
    Request(Request, Option<Duration>, oneshot::Sender<Result<Box<Success>, Failure>>),
    /// An answer, to the request that was received then if that is said.
    Answer(RequestId, Option<Received>, Answer),
    /// The answer that is sent if there is no other until then.
    AnswerBy(RequestId, Received, Instant, Answer),
    LeaveUnanswered(RequestId),
    IsOpen(RequestId, oneshot::Sender<bool>),
    /// Whoever waited for the answer to a request waits no more.
    Abandoned,
    Close(Close),
    /// The agent is dead: what it wrote is read whatever the consumer does.
    ReadOn,
}

/// When the agent's stdin is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Now,
    WhenIdle,
}

#[derive(Debug)]
pub(crate) enum Request {
    Typed(Box<HostRequest>),
    Raw(RawObject),
}

/// A handle to a conversation. Cheap to clone; all clones speak to the same agent.
#[derive(Clone, Debug)]
pub struct Link {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) standing: watch::Receiver<Standing>,
}

type Reply = oneshot::Receiver<Result<Box<Success>, Failure>>;

/// How much longer than its limit a request may take that the driver has not seen.
const SLACK: Duration = Duration::from_secs(1);

/// Why a request has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The agent refused, took too long, or is gone.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The answer has a field of the wrong type.
    #[error("the answer is malformed: {0}")]
    Malformed(#[from] Fault),
}

impl Link {
    /// Sends a prompt. Give it a uuid, so that its turn can be told. When this returns, the
    /// [standing](Self::standing) counts it.
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn prompt(&self, prompt: Prompt) -> Result<(), RequestError> {
        let (counted, counts) = oneshot::channel();
        self.tell(Command::Prompt(Box::new(prompt), counted)).await?;
        counts.await.map_err(|_| RequestError::Failed(Failure::Ended))
    }

    /// Asks the agent for something and waits for the answer. It may be dropped while it waits: the
    /// request is then withdrawn.
    ///
    /// # Errors
    /// If the agent refuses, takes longer than the timeout, or is gone.
    pub async fn request<R>(
        &self,
        request: R,
        timeout: Option<Duration>,
    ) -> Result<R::Reply, RequestError>
    where
        R: ControlRequest + Into<HostRequest>,
    {
        let request = Request::Typed(Box::new(request.into()));
        Ok(self.ask(request, timeout).await?.read()?)
    }

    /// Asks for something that has no type here. The object needs its own `subtype`.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn request_raw(
        &self,
        request: RawObject,
        timeout: Option<Duration>,
    ) -> Result<Success, RequestError> {
        Ok(*self.ask(Request::Raw(request), timeout).await?)
    }

    /// Answers a request of the agent. If it was withdrawn meanwhile, nothing is sent.
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn answer(&self, id: RequestId, answer: Answer) -> Result<(), RequestError> {
        self.tell(Command::Answer(id, None, answer)).await
    }

    /// Answers the request of the agent that was received then. If it was withdrawn or answered
    /// meanwhile, nothing is sent, also if the agent has used the same id again.
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn answer_received(
        &self,
        id: RequestId,
        received: Received,
        answer: Answer,
    ) -> Result<(), RequestError> {
        self.tell(Command::Answer(id, Some(received), answer)).await
    }

    /// Sets the deadline of a request of the agent. If it is still open at that time, this answer is
    /// sent, and [`Asks`] tells that the request is withdrawn. The clock decides when an answer is
    /// sent: one that comes after the deadline is never sent, however busy the runtime was.
    ///
    /// ```no_run
    /// # async fn example(link: duologue_link::Link, mut asks: duologue_link::Asks)
    /// # -> Result<(), duologue_link::RequestError> {
    /// use std::time::Duration;
    /// use duologue_link::Ask;
    /// use duologue_protocol::host_link::Answer;
    ///
    /// while let Some(ask) = asks.next().await {
    ///     if let Ask::Asked { id, received, .. } = ask {
    ///         let deadline = received.at() + Duration::from_secs(30);
    ///         let too_late = Answer::Error("no decision in time".into());
    ///         link.answer_by(id, received, deadline, too_late).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn answer_by(
        &self,
        id: RequestId,
        received: Received,
        deadline: Instant,
        answer: Answer,
    ) -> Result<(), RequestError> {
        self.tell(Command::AnswerBy(id, received, deadline, answer)).await
    }

    /// Leaves a request of the agent unanswered, as some must be.
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn leave_unanswered(&self, id: RequestId) -> Result<(), RequestError> {
        self.tell(Command::LeaveUnanswered(id)).await
    }

    /// Whether the agent waits for the answer to this request.
    pub async fn is_open(&self, id: RequestId) -> bool {
        let (tell, told) = oneshot::channel();
        self.tell(Command::IsOpen(id, tell)).await.is_ok() && told.await.unwrap_or(false)
    }

    /// Closes the agent's stdin, after everything that was sent before.
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn close(&self) -> Result<(), RequestError> {
        self.tell(Command::Close(Close::Now)).await
    }

    /// Closes the agent's stdin as [`close`](Self::close) does, if the driver can be told at once. False if
    /// it cannot: an agent that reads nothing holds it up, or the conversation has ended.
    pub fn close_now(&self) -> bool {
        self.commands.try_send(Command::Close(Close::Now)).is_ok()
    }

    /// Closes the agent's stdin as soon as nothing runs, waits, is asked, or works in the background.
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn close_when_idle(&self) -> Result<(), RequestError> {
        self.tell(Command::Close(Close::WhenIdle)).await
    }

    /// Says that the agent is dead. What it wrote is read to the end from now on, also where the
    /// consumer is waited for otherwise: it is no more than a pipe holds.
    ///
    /// # Errors
    /// If the conversation has ended.
    pub async fn read_on(&self) -> Result<(), RequestError> {
        self.tell(Command::ReadOn).await
    }

    /// How the conversation stands, and word when it changes.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    async fn ask(
        &self,
        request: Request,
        timeout: Option<Duration>,
    ) -> Result<Box<Success>, RequestError> {
        let (reply, replied) = oneshot::channel();
        let exchange = async {
            self.tell(Command::Request(request, timeout, reply)).await?;
            self.replied(replied).await
        };
        match timeout {
            None => exchange.await,
            // The driver sees to the limit, unless an agent that does not read holds it up.
            Some(most) => match tokio::time::timeout(most.saturating_add(SLACK), exchange).await {
                Ok(outcome) => outcome,
                Err(_) => Err(Failure::TimedOut.into()),
            },
        }
    }

    async fn replied(&self, replied: Reply) -> Result<Box<Success>, RequestError> {
        let mut waiting = Waiting { commands: &self.commands, replied: Some(replied) };
        let Some(replied) = &mut waiting.replied else { return Err(Failure::Ended.into()) };
        let outcome = replied.await;
        waiting.replied = None;
        Ok(outcome.unwrap_or(Err(Failure::Ended))?)
    }

    async fn tell(&self, command: Command) -> Result<(), RequestError> {
        self.commands.send(command).await.map_err(|_| RequestError::Failed(Failure::Ended))
    }
}

/// Tells the driver if nobody waits any more.
struct Waiting<'l> {
    commands: &'l mpsc::Sender<Command>,
    replied: Option<Reply>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.replied.take().is_some() {
            // If there is no room, the next one that gives up tells for both.
            let _ = self.commands.try_send(Command::Abandoned);
        }
    }
}

/// Something the agent asks, or takes back.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request is made, or is no longer open")]
pub enum Ask {
    /// The agent asks. Answer it once, through the [`Link`].
    Asked {
        /// The request.
        id: RequestId,
        /// What is asked.
        request: Box<AgentRequest>,
        /// Which request it is: the agent may use an id again.
        received: Received,
    },
    /// The agent no longer asks, or the [deadline](Link::answer_by) has passed: stop working on it and
    /// answer nothing.
    Withdrawn {
        /// The request.
        id: RequestId,
    },
}

/// A request of the agent, as it was received: tells requests with the same id apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Received {
    pub(crate) at: Instant,
    pub(crate) serial: u64,
}

impl Received {
    /// When the request was read from the agent.
    pub const fn at(&self) -> Instant {
        self.at
    }
}

/// What the agent asks of the host.
#[derive(Debug)]
pub struct Asks {
    pub(crate) asks: mpsc::Receiver<Ask>,
}

impl Asks {
    /// The next thing the agent asks, or `None` when the conversation has ended. It may be dropped
    /// while it waits: nothing is lost by that.
    pub async fn next(&mut self) -> Option<Ask> {
        self.asks.recv().await
    }
}
