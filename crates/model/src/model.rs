//! What answers: the trait, and the answer that comes piece by piece.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::error::ModelError;
use crate::message::Event;
use crate::request::Request;
use crate::retry::Retry;

/// What answers an agent.
///
/// There are three: [`ScriptedModel`](crate::ScriptedModel), [`OfflineModel`](crate::OfflineModel) and
/// [`MessagesModel`](crate::MessagesModel). Each asks once; [`Retrying`](crate::Retrying) around it asks again where the
/// real CLI does. One of your own needs a single method:
///
/// ```
/// use duologue_model::{Answering, Event, Model, Request};
///
/// #[derive(Debug)]
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn ask(&self, request: Request) -> Answering {
///         Answering::new(async move |teller| {
///             for event in Event::of_text(request.model(), &request.prompt()) {
///                 teller.event(event).await;
///             }
///             Ok(())
///         })
///     }
/// }
/// ```
pub trait Model: fmt::Debug + Send + Sync {
    /// Asks it. Nothing happens until the answer is read, and nothing more when it is dropped.
    fn ask(&self, request: Request) -> Answering;

    /// What people should know before they take its answers for something else, in one sentence.
    fn notice(&self) -> Option<String> {
        None
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn ask(&self, request: Request) -> Answering {
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
    /// An event of the message, as the API sent it. An `error` event does not come here: it ends the answer.
    Event(Event),
    /// It failed, and is asked again after a while. The message begins anew.
    Retry(Retry),
    /// What the API calls the request that it answers from here on.
    RequestId(String),
    /// A line that the agent writes as it stands. Only scenarios have them.
    Line(String),
}

/// An answer that is being given: a stream of its parts. It ends after an error.
///
/// Drop it, and the model is no longer asked. [`Answering::next`] may be dropped, too: nothing is lost by that.
///
/// ```
/// use duologue_model::{Folded, Model, Part, Reply, Request, Scenario, ScriptedModel};
/// use serde_json::json;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new(Scenario::new().reply(Reply::text("Hello.")))?;
/// let request = json!({ "model": "any", "messages": [{ "role": "user", "content": "hi" }] });
/// let mut answer = model.ask(Request::new(request)?);
/// let mut folded = Folded::new();
/// while let Some(part) = answer.next().await {
///     if let Part::Event(event) = part? {
///         folded.add(&event);
///     }
/// }
/// assert_eq!(folded.text(), "Hello.");
/// # Ok(())
/// # }
/// ```
pub struct Answering {
    parts: mpsc::Receiver<Part>,
    work: Option<Work>,
    failure: Option<ModelError>,
}

type Work = Pin<Box<dyn Future<Output = Result<(), ModelError>> + Send>>;

/// Tells the parts of an answer.
#[derive(Debug)]
pub struct Teller(mpsc::Sender<Part>);

impl Answering {
    /// An answer that this tells. It is told as it is read, on the reader's own task.
    pub fn new<F, W>(tell: F) -> Self
    where
        F: FnOnce(Teller) -> W,
        W: Future<Output = Result<(), ModelError>> + Send + 'static,
    {
        let (sender, parts) = mpsc::channel(1);
        Self { parts, work: Some(Box::pin(tell(Teller(sender)))), failure: None }
    }

    /// An answer that fails at once.
    #[must_use]
    pub fn failed(error: ModelError) -> Self {
        Self::new(async move |_| Err(error))
    }

    /// The next part. None at the end.
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
                    // It may have told something before it had to wait.
                    return match self.parts.poll_recv(context) {
                        Poll::Ready(Some(part)) => Poll::Ready(Some(Ok(part))),
                        // One who gave the teller away is still at work.
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

impl Stream for Answering {
    type Item = Result<Part, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Answering").field("ended", &self.work.is_none()).finish()
    }
}

impl Teller {
    /// Tells a part, when the one before was taken.
    pub async fn tell(&self, part: Part) {
        // Nobody is there to be told, if this fails.
        drop(self.0.send(part).await);
    }

    /// Tells an event.
    pub async fn event(&self, event: Event) {
        self.tell(Part::Event(event)).await;
    }
}
