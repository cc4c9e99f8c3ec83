//! [`Out`]: where events go, and where they belong.

use std::collections::VecDeque;

use crate::id::{MessageId, ToolUseId};
use crate::wire::Field;

use super::body::{Place, Placed};
use super::event::Event;

/// Takes the events of one line, all in one place of the conversation.
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
        // Null says "the main agent"; outside of turns there may be none at all.
        let agent = agent.map_or(Field::Null, |id| Field::Value(id.clone()));
        Self { events, place: Place { turn, agent, message_id: None } }
    }

    pub(super) fn emit<E: Placed + Into<Event>>(&mut self, event: E) {
        self.events.push_back(event.placed(&self.place).into());
    }

    /// An event of this message.
    pub(super) fn emit_in<E: Placed + Into<Event>>(&mut self, message: &MessageRef, event: E) {
        self.place.message_id.clone_from(&message.0);
        self.emit(event);
        self.place.message_id = None;
    }
}

/// The id of a message, if it has one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MessageRef(pub(super) Option<MessageId>);
