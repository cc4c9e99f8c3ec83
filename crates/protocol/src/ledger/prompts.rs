//! Prompts: sent, queued, taken, merged, cancelled.

use std::collections::VecDeque;

use crate::id::Uuid;
use crate::text::Text;

use super::seen::Seen;
use crate::budget::{Budget, Charge};

/// How many prompts may wait. If there are more, the oldest are forgotten.
const MOST_WAITING: usize = 4096;

/// The prompts that wait to be taken.
#[derive(Debug, Default)]
pub(crate) struct Prompts {
    budget: Budget,
    waiting: VecDeque<Prompt>,
    /// Prompts that were sent or listed.
    known: Seen,
    /// Prompts that were taken or cancelled.
    settled: Seen,
}

#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) uuid: Option<Uuid>,
    text: Option<Text>,
    /// Its share of the budget.
    _charge: Option<Charge>,
    /// The agent has listed it as waiting, so it will report when it takes it.
    listed: bool,
}

impl Prompts {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// The host has sent a prompt, or the agent has listed one. False if its uuid was known before: the agent ignores a
    /// second prompt with the same uuid.
    pub(crate) fn sent(&mut self, uuid: Option<&Uuid>, text: Option<Text>) -> bool {
        if let Some(uuid) = uuid
            && !self.known.note(uuid.as_str())
        {
            return false;
        }
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        // If its text does not fit into the budget, the prompt is recognised by its uuid only.
        let charge = self.budget.charge(text.as_ref().map_or(0, Text::retained));
        let text = text.filter(|_| charge.is_some());
        let uuid = uuid.map(Uuid::detach);
        self.waiting.push_back(Prompt { uuid, text, _charge: charge, listed: false });
        true
    }

    /// Settles the prompt with this uuid. `None` if it was settled before.
    pub(crate) fn settle(&mut self, uuid: &Uuid) -> Option<Prompt> {
        if !self.settled.note(uuid.as_str()) {
            return None;
        }
        self.known.note(uuid.as_str());
        let at = self.waiting.iter().position(|prompt| prompt.uuid.as_ref() == Some(uuid));
        let found = at.and_then(|at| self.waiting.remove(at));
        Some(found.unwrap_or_else(|| Prompt {
            uuid: Some(uuid.clone()),
            text: None,
            _charge: None,
            listed: false,
        }))
    }

    /// The agent reports that this prompt waits.
    pub(crate) fn listed(&mut self, uuid: &Uuid) {
        let waits = |prompt: &&mut Prompt| prompt.uuid.as_ref() == Some(uuid);
        if let Some(prompt) = self.waiting.iter_mut().find(waits) {
            prompt.listed = true;
        }
    }

    /// Settles the oldest prompt. Prompts that the agent has listed count only if `listed_too`.
    pub(crate) fn settle_oldest(&mut self, listed_too: bool) -> Option<Prompt> {
        let at = self.waiting.iter().position(|prompt| listed_too || !prompt.listed)?;
        let prompt = self.waiting.remove(at)?;
        if let Some(uuid) = &prompt.uuid {
            self.settled.note(uuid.as_str());
        }
        Some(prompt)
    }

    /// Settles the prompts whose texts, joined by newlines, are this text.
    pub(crate) fn settle_text(&mut self, text: &str) -> Vec<Prompt> {
        let start = self.waiting.iter().position(|prompt| {
            prompt.text.as_ref().is_some_and(|known| text.starts_with(known.as_str()))
        });
        let Some(start) = start else { return Vec::new() };
        let mut rest = text;
        let mut count = 0;
        for prompt in self.waiting.iter().skip(start) {
            let known = prompt.text.as_ref().map_or("", |text| text.as_str());
            let Some(after) = rest.strip_prefix(known) else { break };
            count += 1;
            rest = after;
            match rest.strip_prefix('\n') {
                Some(next) => rest = next,
                None => break,
            }
        }
        if !rest.is_empty() {
            return Vec::new();
        }
        let settled: Vec<Prompt> = self.waiting.drain(start..start + count).collect();
        for uuid in settled.iter().filter_map(|prompt| prompt.uuid.as_ref()) {
            self.settled.note(uuid.as_str());
        }
        settled
    }

    /// Whether a prompt waits to be taken.
    pub(crate) fn any_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether a prompt with this uuid is known.
    pub(crate) fn is_known(&self, uuid: &Uuid) -> bool {
        self.known.contains(uuid.as_str())
    }

    /// Whether the prompt with this uuid was taken or cancelled.
    pub(crate) fn is_settled(&self, uuid: &Uuid) -> bool {
        self.settled.contains(uuid.as_str())
    }
}
