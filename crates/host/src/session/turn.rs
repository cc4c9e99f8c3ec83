//! [`Turn`]: one prompt and what comes of it; and the streams of a whole conversation.

use duologue_protocol::control::CancelAsyncMessage;
use duologue_protocol::transcript::Event;
use duologue_protocol::{Decoded, Line, ToHost, Uuid};

use crate::error::Error;
use crate::outcome::TurnOutcome;

use super::inner::Sitting;
use super::interrupt::{InterruptReceipt, interrupt};
use super::queue::Parcel;

/// A prompt that was sent, and what comes of it.
///
/// Several turns may be there at once. The agent may answer several prompts in one turn: then each of
/// their `Turn`s tells all of it. A `Turn` that is dropped is no longer told; the agent goes on.
pub struct Turn {
    pub(crate) seat: Sitting,
    pub(crate) uuid: Uuid,
    pub(crate) over: Option<Result<TurnOutcome, Error>>,
}

impl Turn {
    /// The name of the prompt.
    pub fn uuid(&self) -> &Uuid {
        &self.uuid
    }

    /// What happens next in this turn; `None` when it has ended. It may be dropped while it waits, as
    /// in `select!`: nothing is lost by that.
    ///
    /// # Errors
    /// If the agent goes away, or its lines cannot be kept.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(over) = &self.over {
                return over.as_ref().map(|_| None).map_err(Clone::clone);
            }
            match self.seat.next().await {
                Ok(Parcel::Event(event)) => return Ok(Some(event)),
                Ok(Parcel::Line(..)) => {}
                Err(over) => {
                    self.over = Some(over.and_then(|outcome| outcome.ok_or(Error::Closed)));
                }
            }
        }
    }

    /// What happens next, if nobody need wait for it.
    pub(crate) fn at_hand(&mut self) -> Option<Event> {
        loop {
            match self.seat.at_hand()? {
                Parcel::Event(event) => return Some(event),
                Parcel::Line(..) => {}
            }
        }
    }

    /// What comes of it. Events that were not read are passed over.
    ///
    /// # Errors
    /// As [`next`](Self::next). That the turn itself failed is no error here: the outcome tells.
    pub async fn outcome(&mut self) -> Result<TurnOutcome, Error> {
        while self.next().await?.is_some() {}
        match &self.over {
            Some(over) => over.clone(),
            None => Err(Error::Closed),
        }
    }

    /// Waits until the agent has taken the prompt. False if it never will: it was taken back.
    ///
    /// # Errors
    /// If the agent goes away first.
    pub async fn accepted(&mut self) -> Result<bool, Error> {
        if self.seat.accepted().await.is_some() {
            return Ok(true);
        }
        // It is over without having been taken: how tells its end.
        let outcome = self.outcome().await?;
        Ok(!outcome.is_cancelled())
    }

    /// Takes the prompt back, if it still waits. False if it was taken before.
    ///
    /// # Errors
    /// If the agent does not answer, or does not know how: versions before 2.1 do not.
    pub async fn cancel(&self) -> Result<bool, Error> {
        let inner = &self.seat.inner;
        let request = CancelAsyncMessage::new().message_uuid(self.uuid.clone());
        let reply = inner.request(request, inner.config.timeout).await?;
        Ok(reply.cancelled.is_true())
    }

    /// Interrupts what the agent does now. See [`Session::interrupt`](crate::Session::interrupt).
    ///
    /// # Errors
    /// If the agent does not answer.
    pub async fn interrupt(&self) -> Result<InterruptReceipt, Error> {
        let inner = &self.seat.inner;
        let live = inner.live().await?;
        interrupt(inner, &live, None).await
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("uuid", &self.uuid).finish_non_exhaustive()
    }
}

/// All events of a conversation, of every turn and between them.
pub struct Events {
    pub(crate) seat: Sitting,
}

impl Events {
    /// What happens next; `None` when the session was closed. It may be dropped while it waits.
    ///
    /// # Errors
    /// If the agent goes away, or its lines cannot be kept.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            match self.seat.next().await {
                Ok(Parcel::Event(event)) => return Ok(Some(event)),
                Ok(Parcel::Line(..)) => {}
                Err(over) => return over.map(|_| None),
            }
        }
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
    /// What it says, if this version knows it.
    pub fn known(&self) -> Option<&ToHost> {
        match &self.decoded {
            Decoded::Known(message) => Some(message),
            _ => None,
        }
    }
}

/// All lines of the agent, as they are.
pub struct Messages {
    pub(crate) seat: Sitting,
}

impl Messages {
    /// The next line; `None` when the session was closed. It may be dropped while it waits.
    ///
    /// # Errors
    /// If the agent goes away, or its lines cannot be kept.
    pub async fn next(&mut self) -> Result<Option<Message>, Error> {
        loop {
            match self.seat.next().await {
                Ok(Parcel::Line(line, decoded)) => {
                    let decoded = decoded.unwrap_or_else(|| line.to_host());
                    return Ok(Some(Message { line, decoded }));
                }
                Ok(Parcel::Event(_)) => {}
                Err(over) => return over.map(|_| None),
            }
        }
    }
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").finish_non_exhaustive()
    }
}
