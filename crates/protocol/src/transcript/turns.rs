//! Turns: where they begin, which result is whose, and what came of them.

use std::collections::VecDeque;

use crate::id::Uuid;
use crate::json::Number;
use crate::lines::{TerminalReason, TurnResult};
use crate::message::OriginKind;
use crate::text::Text;

use super::body::Outcome;

/// A turn that has begun and has no result yet.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) number: u64,
    /// The prompts that it answers, as far as the wire has told.
    pub(super) prompts: Vec<Uuid>,
    /// Something of it has been seen besides its beginning.
    pub(super) active: bool,
    /// The host has asked for an interrupt while it ran.
    interrupt_asked: bool,
    /// The marker of an interrupt stands in it.
    interrupt_marked: bool,
    /// The texts of its last message, if another turn has begun since.
    pub(super) texts: Option<Vec<Text>>,
}

/// The turns that are open, in order of their start, and the money so far.
#[derive(Debug, Default)]
pub(super) struct Turns {
    open: VecDeque<Turn>,
    started: u64,
    /// The running total, once a result has told it.
    total_cost: Option<f64>,
}

impl Turns {
    /// The number of the turn that runs.
    pub(super) fn current(&self) -> Option<u64> {
        self.open.back().map(|turn| turn.number)
    }

    pub(super) fn running(&mut self) -> Option<&mut Turn> {
        self.open.back_mut()
    }

    pub(super) fn open(&self) -> impl Iterator<Item = u64> {
        self.open.iter().map(|turn| turn.number)
    }

    /// Whether a turn that begins now is a new one: the one that runs has shown something.
    pub(super) fn is_new(&self) -> bool {
        self.open.back().is_none_or(|turn| turn.active)
    }

    /// A turn begins, unless the one that runs has shown nothing yet.
    pub(super) fn begin(&mut self) -> Option<&mut Turn> {
        if !self.is_new() {
            return None;
        }
        self.started += 1;
        self.open.push_back(Turn {
            number: self.started,
            prompts: Vec::new(),
            active: false,
            interrupt_asked: false,
            interrupt_marked: false,
            texts: None,
        });
        self.open.back_mut()
    }

    pub(super) fn interrupt_asked(&mut self) {
        for turn in &mut self.open {
            turn.interrupt_asked = true;
        }
    }

    pub(super) fn interrupt_marked(&mut self) {
        if let Some(turn) = self.open.back_mut() {
            turn.interrupt_marked = true;
        }
    }

    /// Takes out the turn that this result ends: the one that answers its prompts; else, for work
    /// that nobody asked for, one without prompts; else the one that ended with its text; else the
    /// oldest. `texts` are those of the turn that runs.
    pub(super) fn end(&mut self, result: &TurnResult, texts: &[Text]) -> Option<Turn> {
        let names = |turn: &Turn| turn.prompts.iter().any(|uuid| answers(result, uuid));
        let unsolicited = result
            .origin
            .value()
            .and_then(|origin| origin.kind.value())
            .is_some_and(|kind| *kind != OriginKind::Human);
        let at = self
            .open
            .iter()
            .position(names)
            .or_else(|| {
                let nobody_asked = |turn: &Turn| turn.prompts.is_empty();
                unsolicited.then(|| self.open.iter().rposition(nobody_asked)).flatten()
            })
            .or_else(|| {
                let said = result.result.as_str().filter(|said| !said.is_empty())?;
                self.open.iter().position(|turn| {
                    let texts = turn.texts.as_deref().unwrap_or(texts);
                    texts.last().is_some_and(|last| last == said) || are_pieces_of(texts, said)
                })
            })
            .unwrap_or(0);
        self.open.remove(at)
    }

    /// What this turn cost: the difference of the running total. A smaller total is a new beginning.
    /// The first total may hold what an earlier process has spent: there, what the result says was
    /// spent `since` the last one is right, if it says so.
    pub(super) fn cost(&mut self, total: Option<Number>, since: Option<f64>) -> Option<f64> {
        let total = total?.as_f64();
        let cost = match (self.total_cost, since) {
            (None, Some(since)) => since,
            (Some(before), _) if total >= before => total - before,
            _ => total,
        };
        self.total_cost = Some(total);
        // Prices have at most nine digits after the point; the rest is the noise of doubles.
        Some((cost * 1e12).round() / 1e12)
    }

    /// Another process goes on: its turns are counted on, its bill is its own.
    pub(super) fn restart(&mut self) -> Self {
        Self { started: self.started, ..Self::default() }
    }

    /// The conversation starts anew, and so does the bill.
    pub(super) fn reset_cost(&mut self) {
        self.total_cost = Some(0.0);
    }
}

/// Whether these texts, put together, are that text.
fn are_pieces_of(texts: &[Text], whole: &str) -> bool {
    let mut rest = whole;
    for text in texts {
        match rest.strip_prefix(text.as_str()) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

fn answers(result: &TurnResult, uuid: &Uuid) -> bool {
    result.user_message_uuid.value() == Some(uuid)
        || result.user_message_uuids.items().contains(uuid)
}

impl Turn {
    pub(super) fn outcome(&self, result: &TurnResult) -> Outcome {
        let aborted = matches!(
            result.terminal_reason.value(),
            Some(TerminalReason::AbortedStreaming | TerminalReason::AbortedTools)
        );
        if aborted || self.interrupt_marked {
            Outcome::Interrupted
        } else if result.is_success() {
            Outcome::Success
        } else if self.interrupt_asked {
            Outcome::Interrupted
        } else {
            Outcome::Error
        }
    }
}
