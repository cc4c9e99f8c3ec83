//! What the agent is busy with, as far as the wire tells.

use std::collections::HashSet;

use crate::content::ContentBlock;
use crate::id::{SessionId, Uuid};
use crate::ledger::{Ledger, Reading, Salvaged, Seen, TurnState, may_be_echo};
use crate::lines::{Prompt, TurnResult, User};
use crate::system::System;
use crate::text::Text;
use crate::to_host::ToHost;

/// The turns, prompts and background tasks that are open, and what only the host needs.
#[derive(Debug)]
pub(super) struct Activity {
    turns: Turns,
    /// Lines that came already.
    seen: Seen,
    /// Tool calls without a result. Only known if assistant and user lines are read.
    tools: HashSet<String>,
    /// The error of the last result, if it has one.
    pub(super) failure: Option<String>,
    pub(super) session: Option<SessionId>,
}

/// Where the state of turns comes from.
#[derive(Debug)]
enum Turns {
    /// A ledger of the link's own.
    Own(Box<Ledger>),
    /// The ledger of a transcript: its latest state.
    OfTranscript(TurnState),
}

impl Default for Activity {
    fn default() -> Self {
        Self::new(Turns::Own(Box::default()))
    }
}

impl Activity {
    fn new(turns: Turns) -> Self {
        Self { turns, seen: Seen::default(), tools: HashSet::new(), failure: None, session: None }
    }

    pub(super) fn follow_transcript(&mut self) {
        self.turns = Turns::OfTranscript(TurnState::default());
    }

    pub(super) fn set_turns(&mut self, state: TurnState) {
        if let Turns::OfTranscript(turns) = &mut self.turns {
            *turns = state;
        }
    }

    /// What is open.
    pub(super) fn turns(&self) -> TurnState {
        match &self.turns {
            Turns::Own(ledger) => ledger.state(),
            Turns::OfTranscript(state) => *state,
        }
    }

    fn ledger(&mut self) -> Option<&mut Ledger> {
        match &mut self.turns {
            Turns::Own(ledger) => Some(ledger),
            Turns::OfTranscript(_) => None,
        }
    }

    pub(super) fn prompted(&mut self, prompt: &Prompt) {
        if let Some(ledger) = self.ledger() {
            ledger.prompt(prompt);
        }
    }

    /// A prompt will not be answered.
    pub(super) fn cancelled(&mut self, uuid: &Uuid) {
        if let Some(ledger) = self.ledger() {
            ledger.cancel(uuid, "cancelled");
            ledger.take_steps();
        }
    }

    /// A line could not be read that may have ended something.
    pub(super) fn unclear(&mut self) {
        if let Some(ledger) = self.ledger() {
            ledger.follow(&Reading::Unclear);
        }
    }

    /// Whether it matters what the main agent says next.
    pub(super) fn awaits_speech(&self) -> bool {
        match &self.turns {
            Turns::Own(ledger) => ledger.awaits_speech(),
            Turns::OfTranscript(_) => false,
        }
    }

    /// Whether it matters which prompts the agent repeats.
    pub(super) fn awaits_echo(&self) -> bool {
        match &self.turns {
            Turns::Own(ledger) => ledger.prompts.any_waiting(),
            Turns::OfTranscript(_) => false,
        }
    }

    /// A line came. `message` is `None` if it could not be decoded. Returns the result if it ended a turn.
    /// Tool calls are only followed if all of them are seen: `reads_calls`.
    pub(super) fn saw(
        &mut self,
        Salvaged { uuid, reading }: Salvaged,
        message: Option<&ToHost>,
        reads_calls: bool,
    ) -> Option<Box<TurnResult>> {
        if uuid.is_some_and(|uuid| !self.seen.note(&uuid)) {
            return None;
        }
        let mut ended = None;
        match reading {
            Reading::Ended { result, readable } => {
                // One that cannot be read and ends nothing is not counted.
                if readable || self.turns().has_open_turn {
                    if let Some(ledger) = self.ledger() {
                        ledger.result(&result, &[], readable);
                    }
                    self.failure = result.error_message();
                    self.tools.clear();
                    ended = Some(result);
                }
            }
            reading => {
                if let Some(ledger) = self.ledger() {
                    ledger.follow(&reading);
                }
            }
        }
        match message {
            Some(ToHost::System(System::Init(init))) => {
                if let Some(session) = init.session_id.value()
                    && self.session.as_ref() != Some(session)
                {
                    self.session = Some(session.detach());
                }
            }
            Some(ToHost::Assistant(line)) if reads_calls => {
                let message = line.message.value();
                for block in message.iter().flat_map(|message| message.content.items()) {
                    if let ContentBlock::ToolUse(call) = block
                        && let Some(id) = call.id.as_str()
                    {
                        self.tools.insert(id.to_owned());
                    }
                }
            }
            Some(ToHost::User(line)) => self.user(line),
            _ => {}
        }
        if let Some(ledger) = self.ledger() {
            ledger.take_steps();
        }
        ended
    }

    fn user(&mut self, line: &User) {
        let message = line.message.value();
        let Some(content) = message.and_then(|message| message.content.value()) else { return };
        let mut has_result = false;
        for block in content.blocks() {
            if let ContentBlock::ToolResult(result) = block {
                has_result = true;
                if let Some(id) = result.tool_use_id.as_str() {
                    self.tools.remove(id);
                }
            }
        }
        let Some(ledger) = self.ledger() else { return };
        let text = content.text();
        if (!has_result || !text.is_empty()) && may_be_echo(line, &text) {
            ledger.echo(line, &Text::from(text), true);
        }
    }

    pub(super) fn ended(&mut self) {
        match &mut self.turns {
            Turns::Own(ledger) => ledger.ended(),
            Turns::OfTranscript(state) => {
                *state = TurnState { results: state.results, ..TurnState::default() };
            }
        }
        self.seen = Seen::default();
        self.tools.clear();
    }

    pub(super) fn awaits_tools(&self) -> bool {
        !self.tools.is_empty()
    }
}
