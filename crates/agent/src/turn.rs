//! [`Turn`]: what an agent is given to answer.

mod begin;
mod finish;

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use duologue_protocol::agent_link::TurnStart;
use duologue_protocol::content::Content;
use duologue_protocol::lines::Prompt;
use duologue_protocol::message::Origin;
use duologue_protocol::{RawJson, Text};

use crate::connection::Begun;
use crate::emitter::{Emitter, TurnRecord, Who};
use crate::session::Session;

/// One turn of the conversation: the prompt, and the [emitter](Emitter) that answers it.
///
/// Every method of the emitter fails once the turn is interrupted, so that an agent that uses `?` stops
/// when it should.
#[derive(Debug)]
pub struct Turn<'a> {
    emitter: Emitter,
    start: TurnStart,
    prompt: Content,
    /// A Stop hook sent the agent back to work.
    is_continued: bool,
    life: PhantomData<&'a mut ()>,
}

impl Turn<'_> {
    pub(crate) fn new(session: &Session, begun: Begun) -> Self {
        let record = Arc::new(Mutex::new(TurnRecord::new()));
        let stop = begun.stop.subscribe();
        let emitter = Emitter::new(session.clone(), record, Who::default(), stop);
        let prompt = begun.start.content();
        Self { emitter, start: begun.start, prompt, is_continued: false, life: PhantomData }
    }

    /// What is to be answered: prompts that waited together are one, joined by newlines.
    pub const fn prompt(&self) -> &Content {
        &self.prompt
    }

    /// The text of the prompt.
    pub fn text(&self) -> String {
        self.prompt.text()
    }

    /// The prompts as the host sent them.
    pub fn prompts(&self) -> &[Prompt] {
        &self.start.prompts
    }

    /// The uuid of the prompt: the host's, or the one under which it was repeated to the host.
    pub fn prompt_uuid(&self) -> Option<String> {
        let uuid = self.session().connection.with(|state| state.link.prompt_uuid());
        uuid.map(|uuid| uuid.as_str().to_owned())
    }

    /// What started the turn, if it was not a prompt.
    pub const fn origin(&self) -> Option<&Origin> {
        self.start.origin.as_ref()
    }

    /// Whether a hook of the host sent the agent back to work: the prompt is then its reason.
    pub const fn is_continued(&self) -> bool {
        self.is_continued
    }

    /// The value that a JSON Schema asked for.
    pub fn structured_output(&self, value: RawJson) {
        let mut record = self.emitter.record();
        record.last_text = Text::from(value.as_json());
        record.structured = Some(value);
    }

    /// Answers the turn without a model: this text is the whole answer.
    pub async fn say_locally(&self, text: &str) -> crate::TurnResult {
        self.emitter.synthetic_assistant(text).await;
        self.end_locally(text);
        Ok(())
    }

    /// Ends the turn without a model: this text is its result, and no message is sent.
    pub fn end_locally(&self, text: &str) {
        self.emitter.record().local = Some(Text::from(text));
    }

    pub(crate) fn is_local(&self) -> bool {
        self.emitter.record().local.is_some()
    }

    /// The emitter of the main agent, for use in parallel or after the turn.
    pub fn emitter(&self) -> Emitter {
        self.emitter.clone()
    }
}

impl Deref for Turn<'_> {
    type Target = Emitter;

    fn deref(&self) -> &Emitter {
        &self.emitter
    }
}
