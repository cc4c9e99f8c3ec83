//! [`Link`]: a handle to the dispatcher of a run, and [`Asks`]: the requests of the agent.

use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::{AgentRequest, ControlRequest, HostRequest, Success};
use duologue_protocol::host_link::{Answer, Failure};
use duologue_protocol::lines::Prompt;
use duologue_protocol::{Fault, RawObject, RequestId};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::timeouts::COMMAND_SLACK;

use super::status::Status;

/// What handles ask of the dispatcher.
#[derive(Debug)]
pub(crate) enum Command {
    Prompt(Box<Prompt>, oneshot::Sender<()>),
    Request(Request, Option<Duration>, oneshot::Sender<Result<Box<Success>, Failure>>),
    /// An answer; if it is for one particular request, that one.
    Answer(RequestId, Option<Received>, Answer),
    /// The answer that is sent at a deadline if there is no other before.
    AnswerBy(RequestId, Received, Instant, Answer),
    LeaveUnanswered(RequestId),
    IsOpen(RequestId, oneshot::Sender<bool>),
    /// A caller no longer waits for the reply to its request.
    Abandoned,
    Close(Close),
    /// The agent is dead: read what it wrote, whatever subscribers do.
    ReadToEnd,
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

/// A handle to the dispatcher of a run. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) status: watch::Receiver<Status>,
    pub(super) stop: Arc<Notify>,
}

type Reply = oneshot::Receiver<Result<Box<Success>, Failure>>;

/// Why a request has no reply.
#[derive(Clone, Debug)]
pub(crate) enum RequestError {
    /// The agent refused, took too long, or is gone.
    Failed(Failure),
    /// The reply has a field of the wrong type.
    Malformed(Fault),
}

impl From<Failure> for RequestError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Fault> for RequestError {
    fn from(fault: Fault) -> Self {
        Self::Malformed(fault)
    }
}

impl Link {
    /// Sends a prompt, which needs a uuid. When this returns, the [status](Self::status) counts it.
    ///
    /// # Errors
    /// If the run has ended.
    pub(crate) async fn prompt(&self, prompt: Prompt) -> Result<(), RequestError> {
        let (counted, counts) = oneshot::channel();
        self.send(Command::Prompt(Box::new(prompt), counted)).await?;
        counts.await.map_err(|_| RequestError::Failed(Failure::Ended))
    }

    /// Sends a request to the agent and waits for the reply. If the future is dropped, the request is
    /// cancelled.
    ///
    /// # Errors
    /// If the agent refuses, takes longer than the timeout, or is gone.
    pub(crate) async fn request<R>(
        &self,
        request: R,
        timeout: Option<Duration>,
    ) -> Result<R::Reply, RequestError>
    where
        R: ControlRequest + Into<HostRequest>,
    {
        let request = Request::Typed(Box::new(request.into()));
        Ok(self.exchange(request, timeout).await?.read()?)
    }

    /// Sends a request that has no type here. The object needs its own `subtype`.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub(crate) async fn request_raw(
        &self,
        request: RawObject,
        timeout: Option<Duration>,
    ) -> Result<Success, RequestError> {
        Ok(*self.exchange(Request::Raw(request), timeout).await?)
    }

    /// Answers a request of the agent. If it was withdrawn meanwhile, nothing is sent.
    ///
    /// # Errors
    /// If the run has ended.
    pub(crate) async fn answer(&self, id: RequestId, answer: Answer) -> Result<(), RequestError> {
        self.send(Command::Answer(id, None, answer)).await
    }

    /// Answers one particular request of the agent. If it was withdrawn or answered meanwhile, nothing
    /// is sent, also if the agent has used the same id again.
    ///
    /// # Errors
    /// If the run has ended.
    pub(crate) async fn answer_received(
        &self,
        id: RequestId,
        received: Received,
        answer: Answer,
    ) -> Result<(), RequestError> {
        self.send(Command::Answer(id, Some(received), answer)).await
    }

    /// Sets the deadline of a request of the agent. If the request is still open at that time, this
    /// answer is sent and [`Asks`] reports the request as withdrawn. The dispatcher compares the clock when
    /// an answer is sent: an answer after the deadline is never sent, however busy the runtime was.
    ///
    /// # Errors
    /// If the run has ended.
    pub(crate) async fn answer_by(
        &self,
        id: RequestId,
        received: Received,
        deadline: Instant,
        answer: Answer,
    ) -> Result<(), RequestError> {
        self.send(Command::AnswerBy(id, received, deadline, answer)).await
    }

    /// Leaves a request of the agent unanswered, as some must be.
    ///
    /// # Errors
    /// If the run has ended.
    pub(crate) async fn leave_unanswered(&self, id: RequestId) -> Result<(), RequestError> {
        self.send(Command::LeaveUnanswered(id)).await
    }

    /// Whether the agent waits for the answer to this request.
    pub(crate) async fn is_open(&self, id: RequestId) -> bool {
        let (reply, replied) = oneshot::channel();
        self.send(Command::IsOpen(id, reply)).await.is_ok() && replied.await.unwrap_or(false)
    }

    /// Closes the agent's stdin after everything that was sent before, if the dispatcher can take the
    /// command at once. False if it cannot: the agent does not read, or the run has ended.
    pub(crate) fn close_now(&self) -> bool {
        self.commands.try_send(Command::Close(Close::Now)).is_ok()
    }

    /// Closes the agent's stdin as soon as nothing runs, waits, is asked, or works in the background.
    ///
    /// # Errors
    /// If the run has ended.
    pub(crate) async fn close_when_idle(&self) -> Result<(), RequestError> {
        self.send(Command::Close(Close::WhenIdle)).await
    }

    /// Reports that the agent is dead. What it wrote is read to its end from now on, whatever subscribers
    /// do: that is no more than a pipe holds.
    ///
    /// # Errors
    /// If the run has ended.
    pub(crate) async fn read_to_end(&self) -> Result<(), RequestError> {
        self.send(Command::ReadToEnd).await
    }

    /// Ends the dispatcher as if the agent's stdout had ended. Needs no runtime.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// The state of the run, and its changes.
    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    async fn exchange(
        &self,
        request: Request,
        timeout: Option<Duration>,
    ) -> Result<Box<Success>, RequestError> {
        let (reply, replied) = oneshot::channel();
        let exchange = async {
            self.send(Command::Request(request, timeout, reply)).await?;
            self.replied(replied).await
        };
        match timeout {
            None => exchange.await,
            // The dispatcher keeps the time, unless an agent that does not read blocks its commands.
            Some(timeout) => {
                let limit = timeout.saturating_add(COMMAND_SLACK);
                match tokio::time::timeout(limit, exchange).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(Failure::TimedOut.into()),
                }
            }
        }
    }

    async fn replied(&self, replied: Reply) -> Result<Box<Success>, RequestError> {
        let mut waiting = Waiting { commands: &self.commands, replied: Some(replied) };
        let Some(replied) = &mut waiting.replied else { return Err(Failure::Ended.into()) };
        let outcome = replied.await;
        waiting.replied = None;
        Ok(outcome.unwrap_or(Err(Failure::Ended))?)
    }

    async fn send(&self, command: Command) -> Result<(), RequestError> {
        self.commands.send(command).await.map_err(|_| RequestError::Failed(Failure::Ended))
    }
}

/// Reports to the dispatcher if the caller stops waiting.
struct Waiting<'l> {
    commands: &'l mpsc::Sender<Command>,
    replied: Option<Reply>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.replied.take().is_some() {
            // If there is no room, the next caller that stops waiting reports for both.
            let _ = self.commands.try_send(Command::Abandoned);
        }
    }
}

/// A request of the agent, or that it is no longer open.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// The agent asks. Answer it once, through the [`Link`].
    Asked {
        /// The request.
        id: RequestId,
        /// What is asked.
        request: Box<AgentRequest>,
        /// Which request it is: the agent may use an id again.
        received: Received,
    },
    /// The agent has withdrawn the request, or its [deadline](Link::answer_by) has passed: stop working
    /// on it and do not answer.
    Withdrawn {
        /// The request.
        id: RequestId,
    },
}

/// A request of the agent, as it was received: distinguishes requests with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Received {
    pub(super) at: Instant,
    pub(super) serial: u64,
}

impl Received {
    /// When the request was read.
    pub(crate) const fn at(&self) -> Instant {
        self.at
    }
}

/// The requests of the agent.
#[derive(Debug)]
pub(crate) struct Asks {
    pub(super) asks: mpsc::Receiver<Ask>,
}

impl Asks {
    /// The next request, or `None` when the run has ended. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Ask> {
        self.asks.recv().await
    }
}
