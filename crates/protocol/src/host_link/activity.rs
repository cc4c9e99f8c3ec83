//! What the agent is busy with, as far as the wire tells.

use std::collections::HashSet;

use crate::content::ContentBlock;
use crate::id::{SessionId, Uuid};
use crate::ledger::{Ledger, Reading, Salvaged, Seen, may_be_echo};
use crate::lines::{Prompt, TurnResult, User};
use crate::system::System;
use crate::text::Text;
use crate::to_host::ToHost;

/// Prompts that wait, turns that run, work in the background: the [`Ledger`], and what only the host
/// needs.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub(super) ledger: Ledger,
    /// Lines that came already.
    seen: Seen,
    /// Tool calls without a result. Only known if assistant and user lines are read.
    tools: HashSet<String>,
    /// What the last result says went wrong, if it did.
    pub(super) failure: Option<String>,
    pub(super) session: Option<SessionId>,
}

impl Activity {
    pub(super) fn prompted(&mut self, prompt: &Prompt) {
        self.ledger.prompt(prompt);
    }

    /// A prompt will not be answered.
    pub(super) fn cancelled(&mut self, uuid: &Uuid) {
        self.ledger.cancel(uuid, "cancelled");
        self.ledger.take_steps();
    }

    /// Whether it matters what the main agent says next.
    pub(super) fn awaits_speech(&self) -> bool {
        self.ledger.awaits_speech()
    }

    /// Whether it matters which prompts the agent repeats.
    pub(super) fn awaits_echo(&self) -> bool {
        self.ledger.prompts.any_waiting()
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
                if readable || self.ledger.has_open_turn() {
                    self.ledger.result(&result, &[], readable);
                    self.failure = result.error_message();
                    self.tools.clear();
                    ended = Some(result);
                }
            }
            reading => self.ledger.follow(&reading),
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
        self.ledger.take_steps();
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
        let text = content.text();
        if (!has_result || !text.is_empty()) && may_be_echo(line, &text) {
            self.ledger.echo(line, &Text::from(text), true);
        }
    }

    pub(super) fn ended(&mut self) {
        let (session, failure) = (self.session.take(), self.failure.take());
        let mut ledger = std::mem::take(&mut self.ledger);
        ledger.ended();
        *self = Self { ledger, session, failure, ..Self::default() };
    }

    pub(super) fn awaits_tools(&self) -> bool {
        !self.tools.is_empty()
    }
}
