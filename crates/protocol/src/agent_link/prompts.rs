//! The prompts that wait, and those that came before.

use std::collections::VecDeque;

use crate::content::{Content, ContentBlock};
use crate::ledger::Seen;
use crate::lines::{Priority, Prompt};
use crate::message::Origin;

use super::event::TurnStart;

/// The prompts that wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    waiting: VecDeque<Prompt>,
    /// Turns without a prompt of the host.
    own: VecDeque<TurnStart>,
    seen: Seen,
}

impl Prompts {
    /// Whether no prompt had this uuid before.
    pub(super) fn is_new(&mut self, prompt: &Prompt) -> bool {
        prompt.uuid.as_str().is_none_or(|uuid| self.seen.note(uuid))
    }

    pub(super) fn add(&mut self, prompt: Prompt) {
        let rank = |prompt: &Prompt| match prompt.priority.value() {
            Some(Priority::Now) => 0,
            Some(Priority::Later) => 2,
            _ => 1,
        };
        let mine = rank(&prompt);
        let at = self.waiting.iter().position(|other| rank(other) > mine);
        self.waiting.insert(at.unwrap_or(self.waiting.len()), prompt);
    }

    pub(super) fn add_own(&mut self, origin: Origin, prompt: Option<Prompt>) {
        let prompts = prompt.into_iter().collect();
        self.own.push_back(TurnStart { prompts, origin: Some(origin) });
    }

    /// The next turn: all prompts that wait, up to one that must be a turn of its own.
    pub(super) fn next_turn(&mut self) -> Option<TurnStart> {
        let Some(first) = self.waiting.pop_front() else { return self.own.pop_front() };
        let mut prompts = vec![first];
        if prompts.iter().all(may_join) {
            prompts.extend(self.take_while(may_join));
        }
        Some(TurnStart::of(prompts))
    }

    /// Those that the running turn can take.
    pub(super) fn fold(&mut self) -> Vec<Prompt> {
        self.take_while(|next| may_join(next) && next.priority.value() != Some(&Priority::Later))
    }

    fn take_while(&mut self, wanted: impl Fn(&Prompt) -> bool) -> Vec<Prompt> {
        let count = self.waiting.iter().take_while(|next| wanted(next)).count();
        self.waiting.drain(..count).collect()
    }

    pub(super) fn cancel(&mut self, uuid: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|prompt| prompt.uuid.as_str() != Some(uuid));
        self.waiting.len() < before
    }

    pub(super) fn cancel_all(&mut self) -> VecDeque<Prompt> {
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = &Prompt> {
        self.waiting.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.own.is_empty()
    }
}

/// Slash commands, and prompts that need no answer, are turns of their own.
fn may_join(prompt: &Prompt) -> bool {
    prompt.should_query.value() != Some(&false) && !is_command(prompt)
}

fn is_command(prompt: &Prompt) -> bool {
    let content = prompt.message.value().and_then(|message| message.content.value());
    let first = match content {
        Some(Content::Text(text)) => Some(text.as_str()),
        Some(Content::Blocks(blocks)) => match blocks.first() {
            Some(ContentBlock::Text(block)) => block.text.as_str(),
            _ => None,
        },
        None => None,
    };
    !prompt.client_composed.is_true() && first.is_some_and(|text| text.starts_with('/'))
}
