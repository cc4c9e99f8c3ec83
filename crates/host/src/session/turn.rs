//! [`Turn`]: one prompt and its events; [`Events`] and [`Messages`]: the streams of a whole conversation.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use duologue_protocol::control::CancelAsyncMessage;
use duologue_protocol::transcript::Event;
use duologue_protocol::{Decoded, Line, ToHost, Uuid};
use futures_core::Stream;

use crate::dispatch::{Delivery, End};
use crate::error::Error;
use crate::outcome::TurnOutcome;

use super::inner::Subscriber;
use super::interrupt::{InterruptReceipt, interrupt};

/// A prompt that was sent, and the events of the turn that answers it.
///
/// Several turns may be open at once. The agent may answer several prompts in one turn: then each of
/// their `Turn`s gets all of its events. If a `Turn` is dropped, the agent continues with it.
///
/// It is a [`Stream`] of events. It ends with an error if the agent goes away.
pub struct Turn {
    pub(crate) subscriber: Subscriber,
    pub(crate) uuid: Uuid,
    pub(crate) end: Option<Result<TurnOutcome, Error>>,
    /// The stream has returned its last item.
    pub(crate) finished: bool,
}

impl Turn {
    pub(crate) const fn new(subscriber: Subscriber, uuid: Uuid) -> Self {
        Self { subscriber, uuid, end: None, finished: false }
    }

    /// The uuid of the prompt.
    pub const fn uuid(&self) -> &Uuid {
        &self.uuid
    }

    /// The next event of this turn; `None` when the turn has ended. Cancel safe.
    ///
    /// # Errors
    /// If the agent goes away, or unread events could not be kept.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        loop {
            if let Some(end) = &self.end {
                return Poll::Ready(end.as_ref().map(|_| None).map_err(Clone::clone));
            }
            match ready!(self.subscriber.reader.poll_next(context)) {
                Ok(Delivery::Event(event)) => return Poll::Ready(Ok(Some(event))),
                Ok(Delivery::Line(..)) => {}
                Err(end) => self.end = Some(end.and_then(|outcome| outcome.ok_or(Error::Closed))),
            }
        }
    }

    /// The next event, if it can be had without waiting or locking.
    pub(crate) fn next_in_batch(&mut self) -> Option<Event> {
        loop {
            match self.subscriber.reader.next_in_batch()? {
                Delivery::Event(event) => return Some(event),
                Delivery::Line(..) => {}
            }
        }
    }

    /// Waits for the end of the turn, and skips the events that were not read. Cancel safe.
    ///
    /// # Errors
    /// As [`next`](Self::next). A turn that failed is not an error here: see
    /// [`TurnOutcome::error`].
    pub async fn outcome(&mut self) -> Result<TurnOutcome, Error> {
        while self.next().await?.is_some() {}
        match &self.end {
            Some(end) => end.clone(),
            None => Err(Error::Closed),
        }
    }

    /// Waits until the agent has accepted the prompt. False if the prompt was cancelled before. Cancel safe.
    ///
    /// # Errors
    /// If the agent goes away before.
    pub async fn accepted(&mut self) -> Result<bool, Error> {
        if self.subscriber.reader.accepted().await {
            return Ok(true);
        }
        let outcome = self.outcome().await?;
        Ok(!outcome.is_cancelled())
    }

    /// Cancels the prompt if it still waits. False if the agent has accepted it before.
    ///
    /// Not cancel safe. If the future is dropped, the prompt may be cancelled or not.
    ///
    /// # Errors
    /// If the agent does not answer, or does not support it: versions before 2.1 do not.
    pub async fn cancel(&self) -> Result<bool, Error> {
        let inner = &self.subscriber.inner;
        let request = CancelAsyncMessage::new().message_uuid(self.uuid.clone());
        let reply = inner.request(request, inner.config.timeout).await?;
        Ok(reply.cancelled.is_true())
    }

    /// Interrupts the turn that runs now. See [`Session::interrupt`](crate::Session::interrupt).
    ///
    /// Not cancel safe. If the future is dropped, the turn may be interrupted or not.
    ///
    /// # Errors
    /// If the agent does not answer.
    pub async fn interrupt(&self) -> Result<InterruptReceipt, Error> {
        let inner = &self.subscriber.inner;
        let live = inner.live().await?;
        interrupt(inner, &live, None).await
    }
}

impl Stream for Turn {
    type Item = Result<Event, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.finished {
            return Poll::Ready(None);
        }
        let item = ready!(this.poll_event(context)).transpose();
        this.finished = !matches!(item, Some(Ok(_)));
        Poll::Ready(item)
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("uuid", &self.uuid).finish_non_exhaustive()
    }
}

/// All events of a conversation, of every turn and between turns.
///
/// It is a [`Stream`]. It ends when the session is closed, and with an error if the agent goes away.
pub struct Events {
    subscriber: Subscriber,
    finished: bool,
}

impl Events {
    pub(crate) const fn new(subscriber: Subscriber) -> Self {
        Self { subscriber, finished: false }
    }

    /// The next event; `None` when the session was closed. Cancel safe.
    ///
    /// # Errors
    /// If the agent goes away, or unread events could not be kept.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        loop {
            match ready!(self.subscriber.reader.poll_next(context)) {
                Ok(Delivery::Event(event)) => return Poll::Ready(Ok(Some(event))),
                Ok(Delivery::Line(..)) => {}
                Err(end) => return Poll::Ready(ended(end)),
            }
        }
    }
}

impl Stream for Events {
    type Item = Result<Event, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.finished {
            return Poll::Ready(None);
        }
        let item = ready!(this.poll_event(context)).transpose();
        this.finished = !matches!(item, Some(Ok(_)));
        Poll::Ready(item)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// A line of the agent, and what it says.
#[derive(Debug)]
#[non_exhaustive]
pub struct Message {
    /// The line, byte for byte.
    pub line: Line,
    /// What it says.
    pub decoded: Decoded<ToHost>,
}

impl Message {
    /// What the line says, if this version of the library knows its type.
    pub fn known(&self) -> Option<&ToHost> {
        match &self.decoded {
            Decoded::Known(message) => Some(message),
            _ => None,
        }
    }
}

/// All lines of the agent.
///
/// It is a [`Stream`]. It ends when the session is closed, and with an error if the agent goes away.
pub struct Messages {
    subscriber: Subscriber,
    finished: bool,
}

impl Messages {
    pub(crate) const fn new(subscriber: Subscriber) -> Self {
        Self { subscriber, finished: false }
    }

    /// The next line; `None` when the session was closed. Cancel safe.
    ///
    /// # Errors
    /// If the agent goes away, or unread lines could not be kept.
    pub async fn next(&mut self) -> Result<Option<Message>, Error> {
        std::future::poll_fn(|context| self.poll_message(context)).await
    }

    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Message>, Error>> {
        loop {
            match ready!(self.subscriber.reader.poll_next(context)) {
                Ok(Delivery::Line(line, decoded)) => {
                    let decoded = decoded.unwrap_or_else(|| line.to_host());
                    return Poll::Ready(Ok(Some(Message { line, decoded })));
                }
                Ok(Delivery::Event(_)) => {}
                Err(end) => return Poll::Ready(ended(end)),
            }
        }
    }
}

impl Stream for Messages {
    type Item = Result<Message, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.finished {
            return Poll::Ready(None);
        }
        let item = ready!(this.poll_message(context)).transpose();
        this.finished = !matches!(item, Some(Ok(_)));
        Poll::Ready(item)
    }
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").finish_non_exhaustive()
    }
}

/// How a stream of the whole conversation ends.
fn ended<T>(end: End) -> Result<Option<T>, Error> {
    end.map(|_| None)
}
