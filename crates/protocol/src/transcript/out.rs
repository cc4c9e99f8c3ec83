//! [`Out`]: collects events and sets the place in the conversation that they belong to.

use std::collections::VecDeque;

use crate::id::{MessageId, ToolUseId};

use super::event::Event;

/// The place in the conversation that an event belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(super) turn: Option<u64>,
    pub(super) agent: Option<ToolUseId>,
    pub(super) message_id: Option<MessageId>,
}

/// An event whose place can be set.
pub(crate) trait Placed: Sized {
    fn placed(self, place: &Place) -> Self;
}

/// Takes the events of one line, all for one place in the conversation.
pub(super) struct Out<'t> {
    events: &'t mut VecDeque<Event>,
    place: Place,
}

impl<'t> Out<'t> {
    pub(super) fn new(
        events: &'t mut VecDeque<Event>,
        turn: Option<u64>,
        agent: Option<&ToolUseId>,
    ) -> Self {
        Self { events, place: Place { turn, agent: agent.cloned(), message_id: None } }
    }

    pub(super) fn emit<E: Placed + Into<Event>>(&mut self, event: E) {
        self.events.push_back(event.placed(&self.place).into());
    }

    /// Emits an event of this message.
    pub(super) fn emit_in<E: Placed + Into<Event>>(&mut self, message: &MessageRef, event: E) {
        self.place.message_id.clone_from(&message.0);
        self.emit(event);
        self.place.message_id = None;
    }
}

/// The id of a message, if it has one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MessageRef(pub(super) Option<MessageId>);
