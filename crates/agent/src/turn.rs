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

use crate::core::Begun;
use crate::session::Session;
use crate::voice::{Ledger, Voice, Who};

/// One turn of the conversation: the prompt, and the [voice](Voice) that answers it.
///
/// Every method of the voice fails once the turn is interrupted, so that an agent that uses `?` stops
/// when it should.
#[derive(Debug)]
pub struct Turn<'a> {
    voice: Voice,
    start: TurnStart,
    prompt: Content,
    /// A Stop hook sent the agent back to work.
    is_continued: bool,
    life: PhantomData<&'a mut ()>,
}

impl Turn<'_> {
    pub(crate) fn new(session: &Session, begun: Begun) -> Self {
        let ledger = Arc::new(Mutex::new(Ledger::new()));
        let stop = begun.stop.subscribe();
        let voice = Voice::new(session.clone(), ledger, Who::default(), stop);
        let prompt = begun.start.content();
        Self { voice, start: begun.start, prompt, is_continued: false, life: PhantomData }
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

    /// Who started the turn, if nobody asked for it.
    pub const fn origin(&self) -> Option<&Origin> {
        self.start.origin.as_ref()
    }

    /// Whether a hook of the host sent the agent back to work: the prompt is then its reason.
    pub const fn is_continued(&self) -> bool {
        self.is_continued
    }

    /// Prompts that came in the meantime and belong to this turn. They are taken after the result of
    /// a tool; each is given once.
    pub fn take_folded(&self) -> Vec<Prompt> {
        std::mem::take(&mut self.voice.ledger().folded)
    }

    /// What hooks want the model to know. Each is given once.
    pub fn take_context(&self) -> Vec<Text> {
        std::mem::take(&mut self.voice.ledger().context)
    }

    /// The value that a JSON Schema asked for.
    pub fn structured_output(&self, value: RawJson) {
        let mut ledger = self.voice.ledger();
        ledger.last_text = Text::from(value.as_json());
        ledger.structured = Some(value);
    }

    /// Says something that no model said, as the whole of the turn.
    pub(crate) async fn say_locally(&self, text: &str) -> crate::TurnResult {
        self.voice.synthetic_assistant(text).await;
        self.end_locally(text);
        Ok(())
    }

    /// No model was asked in this turn; this is its result.
    pub(crate) fn end_locally(&self, text: &str) {
        self.voice.ledger().local = Some(Text::from(text));
    }

    pub(crate) fn is_local(&self) -> bool {
        self.voice.ledger().local.is_some()
    }

    /// The same voice, for use beside this one: in parallel, or after the turn.
    pub fn voice(&self) -> Voice {
        self.voice.clone()
    }
}

impl Deref for Turn<'_> {
    type Target = Voice;

    fn deref(&self) -> &Voice {
        &self.voice
    }
}
