//! [`Prompts`]: the queue of a session, and what became of each prompt.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::value::RawValue;

use super::record::{PromptAccepted, PromptChange, Record};
use super::session::Evidence;
use crate::id::PromptId;

/// How many prompts that have ended are remembered. The log keeps the receipts of all.
const ENDED: usize = 4096;

/// The state of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PromptState {
    /// It is in the queue.
    Accepted,
    /// It is about to be written to the agent, or was.
    Delivering,
    /// A turn answers it.
    Running,
    /// Its turn has ended.
    Finished,
    /// Its turn was interrupted, or the agent died.
    Interrupted,
    /// It could not be delivered, or its turn failed.
    Failed,
    /// It was taken out of the queue.
    Withdrawn,
    /// After a crash, it is not known whether the agent has it. It is not sent again.
    Unknown,
}

impl PromptState {
    pub(super) const ALL: [Self; 8] = [
        Self::Accepted,
        Self::Delivering,
        Self::Running,
        Self::Finished,
        Self::Interrupted,
        Self::Failed,
        Self::Withdrawn,
        Self::Unknown,
    ];

    pub(super) const fn kind(self) -> &'static str {
        match self {
            // `prompts.accepted` is the entry with the prompt itself.
            Self::Accepted => "prompts.requeued",
            Self::Delivering => "prompts.delivering",
            Self::Running => "prompts.running",
            Self::Finished => "prompts.finished",
            Self::Interrupted => "prompts.interrupted",
            Self::Failed => "prompts.failed",
            Self::Withdrawn => "prompts.withdrawn",
            Self::Unknown => "prompts.unknown",
        }
    }

    /// Whether nothing more happens to it.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Accepted | Self::Delivering | Self::Running)
    }

    /// Whether a prompt in this state can get into another one.
    pub const fn can_become(self, next: Self) -> bool {
        match self {
            Self::Accepted => {
                matches!(next, Self::Delivering | Self::Failed | Self::Withdrawn)
            }
            Self::Delivering => !matches!(next, Self::Delivering | Self::Withdrawn),
            Self::Running => {
                matches!(next, Self::Finished | Self::Interrupted | Self::Failed | Self::Unknown)
            }
            _ => false,
        }
    }
}

/// A prompt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prompt {
    /// Its state.
    pub state: PromptState,
    /// The entry with which it was accepted.
    pub seq: u64,
    /// Why it is in this state.
    pub reason: Option<String>,
    /// A text or blocks, until the prompt has ended.
    pub content: Option<Box<RawValue>>,
}

/// Why a prompt cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptRefusal {
    /// There is no such prompt.
    #[error("there is no such prompt")]
    Missing,
    /// The prompt is no longer in the queue.
    #[error("the prompt is no longer in the queue")]
    Started(PromptState),
}

/// The prompts of a session.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    by_id: BTreeMap<PromptId, Prompt>,
    /// Those that have not ended, oldest first.
    open: VecDeque<PromptId>,
    /// Those that have ended, oldest first.
    ended: VecDeque<PromptId>,
}

impl Prompts {
    /// A prompt, unless it ended long ago.
    pub fn get(&self, id: PromptId) -> Option<&Prompt> {
        self.by_id.get(&id)
    }

    /// Those that have not ended, oldest first.
    pub fn open(&self) -> impl Iterator<Item = (PromptId, &Prompt)> {
        self.open.iter().filter_map(|id| Some((*id, self.by_id.get(id)?)))
    }

    /// How many have not ended.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Whether the agent has one, or may have one.
    pub fn is_busy(&self) -> bool {
        self.open().any(|(_, prompt)| prompt.state != PromptState::Accepted)
    }

    /// The prompt to deliver next: the oldest in the queue, if the agent has none.
    pub fn next(&self) -> Option<(PromptId, &Prompt)> {
        if self.is_busy() { None } else { self.open().next() }
    }

    /// Takes a prompt out of the queue. `None` if it was taken out before.
    ///
    /// # Errors
    ///
    /// If there is no such prompt, or the agent may have it.
    pub fn withdraw(&self, id: PromptId) -> Result<Option<Record>, PromptRefusal> {
        match self.get(id).ok_or(PromptRefusal::Missing)?.state {
            PromptState::Accepted => {
                Ok(Some(Record::Prompt(PromptState::Withdrawn, PromptChange::new(id))))
            }
            PromptState::Withdrawn => Ok(None),
            state => Err(PromptRefusal::Started(state)),
        }
    }

    /// What becomes of the prompts that an agent had when it died. `evidence` is what its transcript says of a prompt.
    pub fn recover(&self, evidence: impl Fn(PromptId) -> Evidence) -> Vec<Record> {
        let change = |(id, prompt): (PromptId, &Prompt)| {
            let change = PromptChange::new(id);
            let state = match (prompt.state, evidence(id)) {
                (PromptState::Delivering, Evidence::Absent) => PromptState::Accepted,
                (PromptState::Delivering, Evidence::Unreadable) => PromptState::Unknown,
                (PromptState::Delivering, Evidence::Present) | (PromptState::Running, _) => {
                    PromptState::Interrupted
                }
                _ => return None,
            };
            Some(Record::Prompt(state, change.reason("the agent died")))
        };
        self.open().filter_map(change).collect()
    }

    pub(super) fn accept(&mut self, seq: u64, accepted: PromptAccepted) -> Result<(), String> {
        let PromptAccepted { prompt: id, content } = accepted;
        if self.by_id.contains_key(&id) {
            return Err(format!("prompt {id} is accepted twice"));
        }
        let prompt =
            Prompt { state: PromptState::Accepted, seq, reason: None, content: Some(content) };
        self.by_id.insert(id, prompt);
        self.open.push_back(id);
        Ok(())
    }

    pub(super) fn change(&mut self, next: PromptState, change: PromptChange) -> Result<(), String> {
        let id = change.prompt;
        let Some(prompt) = self.by_id.get_mut(&id) else {
            return Err(format!("there is no prompt {id}"));
        };
        if !prompt.state.can_become(next) {
            return Err(format!("prompt {id} is {:?} and cannot become {next:?}", prompt.state));
        }
        prompt.state = next;
        prompt.reason = change.reason;
        if next.is_final() {
            prompt.content = None;
            self.open.retain(|open| *open != id);
            self.ended.push_back(id);
            if self.ended.len() > ENDED
                && let Some(oldest) = self.ended.pop_front()
            {
                self.by_id.remove(&oldest);
            }
        }
        Ok(())
    }
}
