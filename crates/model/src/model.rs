//! [`Model`], and its answer as a stream.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::error::ModelError;
use crate::render::Event;
use crate::request::Request;
use crate::retry::Retry;

/// A model that answers an agent.
///
/// There are three: [`ScriptedModel`](crate::ScriptedModel), [`OfflineModel`](crate::OfflineModel) and
/// [`MessagesModel`](crate::MessagesModel). Each tries once; wrap it in [`Retrying`](crate::Retrying) to retry as
/// the real CLI does. To write your own, implement one method:
///
/// ```
/// use duologue_model::{AnswerStream, Event, Model, Request};
///
/// #[derive(Debug)]
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn ask(&self, request: Request) -> AnswerStream {
///         AnswerStream::new(async move |sender| {
///             for event in Event::of_text(request.model(), &request.prompt()) {
///                 sender.send_event(event).await;
///             }
///             Ok(())
///         })
///     }
/// }
/// ```
pub trait Model: fmt::Debug + Send + Sync {
    /// Sends a request. Nothing happens until the answer is read. Dropping the answer cancels the request.
    fn ask(&self, request: Request) -> AnswerStream;

    /// A warning for users about the answers of this model, in one sentence.
    fn notice(&self) -> Option<String> {
        None
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn ask(&self, request: Request) -> AnswerStream {
        (**self).ask(request)
    }

    fn notice(&self) -> Option<String> {
        (**self).notice()
    }
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// An event of the message, as the API sent it. An `error` event is not passed on: it ends the answer.
    Event(Event),
    /// The request failed and is retried after a delay. The message starts again.
    Retry(Retry),
    /// The id of the request at the API, for the following events.
    RequestId(String),
    /// A line that the agent writes unchanged. Only scenarios have them.
    Line(String),
}

/// An answer as a stream of its parts. It ends after an error.
///
/// Dropping it cancels the request.
///
/// ```
/// use duologue_model::{StreamedMessage, Model, Part, Reply, Request, Scenario, ScriptedModel};
/// use serde_json::json;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new(Scenario::new().reply(Reply::text("Hello.")))?;
/// let request = json!({ "model": "any", "messages": [{ "role": "user", "content": "hi" }] });
/// let mut answer = model.ask(Request::new(request)?);
/// let mut folded = StreamedMessage::new();
/// while let Some(part) = answer.next().await {
///     if let Part::Event(event) = part? {
///         folded.add(&event);
///     }
/// }
/// assert_eq!(folded.text(), "Hello.");
/// # Ok(())
/// # }
/// ```
pub struct AnswerStream {
    parts: mpsc::Receiver<Part>,
    work: Option<Work>,
    failure: Option<ModelError>,
}

type Work = Pin<Box<dyn Future<Output = Result<(), ModelError>> + Send>>;

/// Sends the parts of an answer.
#[derive(Debug)]
pub struct AnswerSender(mpsc::Sender<Part>);

impl AnswerStream {
    /// Creates an answer from a function that sends its parts. It runs on the task of the reader, while it reads.
    pub fn new<F, W>(send: F) -> Self
    where
        F: FnOnce(AnswerSender) -> W,
        W: Future<Output = Result<(), ModelError>> + Send + 'static,
    {
        let (sender, parts) = mpsc::channel(1);
        Self { parts, work: Some(Box::pin(send(AnswerSender(sender)))), failure: None }
    }

    /// Creates an answer that fails at once.
    #[must_use]
    pub fn failed(error: ModelError) -> Self {
        Self::new(async move |_| Err(error))
    }

    /// The next part, or `None` at the end. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<Part, ModelError>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Part, ModelError>>> {
        if let Some(work) = &mut self.work {
            if let Poll::Ready(Some(part)) = self.parts.poll_recv(context) {
                return Poll::Ready(Some(Ok(part)));
            }
            match work.as_mut().poll(context) {
                Poll::Pending => {
                    // It may have sent a part before it had to wait.
                    return match self.parts.poll_recv(context) {
                        Poll::Ready(Some(part)) => Poll::Ready(Some(Ok(part))),
                        // The sender was moved to another task, which still runs.
                        Poll::Ready(None) | Poll::Pending => Poll::Pending,
                    };
                }
                Poll::Ready(end) => {
                    self.work = None;
                    self.failure = end.err();
                }
            }
        }
        let rest = self.parts.try_recv().ok().map(Ok);
        Poll::Ready(rest.or_else(|| self.failure.take().map(Err)))
    }
}

impl Stream for AnswerStream {
    type Item = Result<Part, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

impl fmt::Debug for AnswerStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AnswerStream").field("ended", &self.work.is_none()).finish()
    }
}

impl AnswerSender {
    /// Sends a part, after the previous one was read.
    pub async fn send(&self, part: Part) {
        // If this fails, the answer was dropped.
        drop(self.0.send(part).await);
    }

    /// Sends an event.
    pub async fn send_event(&self, event: Event) {
        self.send(Part::Event(event)).await;
    }
}
