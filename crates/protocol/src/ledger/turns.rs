//! Turns: how they begin, and which result ends which.

use std::collections::VecDeque;

use crate::id::Uuid;
use crate::json::Number;
use crate::lines::{TerminalReason, TurnResult};
use crate::message::OriginKind;
use crate::text::Text;

use crate::budget::KeptTexts;
use crate::transcript::TurnStatus;

/// How many turns may be open. If there are more, the oldest are forgotten.
const MOST_OPEN: usize = 1024;

/// A turn that has begun and has no result yet.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) number: u64,
    /// The prompts that it answers, as far as they are known.
    pub(crate) prompts: Vec<Uuid>,
    /// Those of them that the agent has reported as ended.
    over: Vec<Uuid>,
    /// The agent has introduced it.
    introduced: bool,
    /// The host waits for its result: it answers a prompt, or the conversation had one before.
    pub(super) expected: bool,
    /// The main agent has written something in it.
    pub(super) spoken: bool,
    /// The host has asked for an interrupt while it ran.
    interrupt_asked: bool,
    /// It contains the marker of an interrupt.
    interrupt_marked: bool,
    /// The texts of its last message, if another turn has begun since.
    pub(crate) texts: Option<KeptTexts>,
}

/// How many prompts of one turn are followed.
const MOST_PROMPTS: usize = 4096;

/// The turns that are open, in order of their start, and the money so far.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    open: VecDeque<Turn>,
    started: u64,
    /// The running total of the latest result.
    total_cost: Option<f64>,
}

impl Turns {
    /// The number of the turn that runs.
    pub(crate) fn current(&self) -> Option<u64> {
        self.open.back().map(|turn| turn.number)
    }

    pub(crate) fn running(&mut self) -> Option<&mut Turn> {
        self.open.back_mut()
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = u64> {
        self.open.iter().map(|turn| turn.number)
    }

    /// Whether an introduction now begins a new turn: the one that runs was introduced, and has written something.
    pub(crate) fn is_new(&self) -> bool {
        self.open.back().is_none_or(|turn| turn.introduced && turn.spoken)
    }

    /// Whether a turn is open that the host must wait for.
    pub(crate) fn any_expected(&self) -> bool {
        self.open.iter().any(|turn| turn.expected)
    }

    /// Whether a turn is open in which something has happened.
    pub(crate) fn any_begun(&self) -> bool {
        self.open.iter().any(|turn| turn.spoken || !turn.prompts.is_empty())
    }

    /// Begins a turn, unless one runs already.
    pub(crate) fn begin(&mut self, introduced: bool, expected: bool) -> Option<&mut Turn> {
        if !self.is_new() {
            if let Some(turn) = self.open.back_mut() {
                turn.introduced |= introduced;
            }
            return None;
        }
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.started += 1;
        self.open.push_back(Turn {
            number: self.started,
            prompts: Vec::new(),
            over: Vec::new(),
            introduced,
            expected,
            spoken: false,
            interrupt_asked: false,
            interrupt_marked: false,
            texts: None,
        });
        self.open.back_mut()
    }

    /// A prompt has ended. True if all prompts of its turn have, although it has no result yet.
    pub(crate) fn prompt_ended(&mut self, uuid: &Uuid) -> bool {
        let Some(turn) = self.open.iter_mut().find(|turn| turn.prompts.contains(uuid)) else {
            return false;
        };
        if !turn.over.contains(uuid) {
            turn.over.push(uuid.clone());
        }
        turn.prompts.iter().all(|prompt| turn.over.contains(prompt))
    }

    /// Forgets all open turns.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    pub(crate) fn interrupt_asked(&mut self) {
        for turn in &mut self.open {
            turn.interrupt_asked = true;
        }
    }

    pub(crate) fn interrupt_marked(&mut self) {
        if let Some(turn) = self.open.back_mut() {
            turn.interrupt_marked = true;
        }
    }

    /// Removes the turn that this result ends: the one that answers its prompts; else, if the host did not start it, one
    /// without prompts; else the one that ended with its text; else the oldest. `texts` are those of the turn that runs.
    pub(crate) fn end(&mut self, result: &TurnResult, texts: &[Text]) -> Option<Turn> {
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
                let unasked = |turn: &Turn| turn.prompts.is_empty();
                unsolicited.then(|| self.open.iter().rposition(unasked)).flatten()
            })
            .or_else(|| {
                let said = result.result.as_str().filter(|said| !said.is_empty())?;
                self.open.iter().position(|turn| {
                    let texts = turn.texts.as_ref().map_or(texts, |kept| &kept.texts);
                    texts.last().is_some_and(|last| last == said) || are_pieces_of(texts, said)
                })
            })
            .unwrap_or(0);
        self.open.remove(at)
    }

    /// What this turn cost: the difference of the running total. If the total is smaller than before, it has started again.
    /// The first total may contain the costs of an earlier process, so `since`, the cost since the last result, is used
    /// there if the result has it.
    pub(crate) fn cost(&mut self, total: Option<Number>, since: Option<f64>) -> Option<f64> {
        let total = total?.as_f64();
        let cost = match (self.total_cost, since) {
            (None, Some(since)) => since,
            (Some(before), _) if total >= before => total - before,
            _ => total,
        };
        self.total_cost = Some(total);
        // Prices have at most nine decimals; the rest is rounding error.
        Some((cost * 1e12).round() / 1e12)
    }

    /// Returns the turns of the next process. Numbers continue, costs start again.
    pub(crate) fn restart(&mut self) -> Self {
        Self { started: self.started, ..Self::default() }
    }

    /// The conversation was reset, and costs start again.
    pub(crate) fn reset_cost(&mut self) {
        self.total_cost = Some(0.0);
    }
}

/// Adds a prompt to those of a turn, up to the limit.
pub(crate) fn add_prompt(prompts: &mut Vec<Uuid>, uuid: Uuid) {
    if prompts.len() < MOST_PROMPTS {
        prompts.push(uuid.detach());
    }
}

/// Whether these texts, joined, are that text.
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
    pub(crate) fn outcome(&self, result: &TurnResult) -> TurnStatus {
        let aborted = matches!(
            result.terminal_reason.value(),
            Some(TerminalReason::AbortedStreaming | TerminalReason::AbortedTools)
        );
        if aborted || self.interrupt_marked {
            TurnStatus::Interrupted
        } else if result.is_success() {
            TurnStatus::Success
        } else if self.interrupt_asked {
            TurnStatus::Interrupted
        } else {
            TurnStatus::Error
        }
    }
}
