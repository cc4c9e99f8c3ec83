//! [`SessionState`]: everything that the hub has to remember of a session.

use serde::Serialize;
use serde_json::value::RawValue;

use super::asks::Asks;
use super::prompts::{PromptState, Prompts};
use super::record::{PromptChange, Record, TurnEnd, TurnEnded};
use crate::id::PromptId;
use crate::log::Entry;

/// The state of a session, for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// A prompt waits for an agent to be started.
    Starting,
    /// Nothing runs.
    Idle,
    /// A turn runs, or is about to.
    Running,
    /// The agent waits for an answer.
    Waiting,
    /// An ask waits, without an agent.
    Parked,
    /// Its agent cannot be run.
    Failed,
    /// It was closed.
    Closed,
}

/// What the transcript of a dead agent says of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The prompt is there.
    Present,
    /// The prompt is not there.
    Absent,
    /// The transcript is missing or cannot be read.
    Unreadable,
}

/// The log contains what no hub has written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq} of the log is inconsistent: {reason}")]
#[non_exhaustive]
pub struct Inconsistent {
    /// The entry.
    pub seq: u64,
    /// What is wrong.
    pub reason: String,
}

/// The state of a session. Apply the entries of its log in order.
#[derive(Clone, Debug, Default)]
pub struct SessionState {
    head: u64,
    generation: u64,
    options: Option<Box<RawValue>>,
    prompts: Prompts,
    asks: Asks,
    has_agent: bool,
    had_agent: bool,
    /// The id of the conversation, as the agent has it.
    conversation: Option<String>,
    closed: bool,
    failed: Option<String>,
    /// The number of the last turn.
    turn: u64,
    turn_runs: bool,
    cost_usd: f64,
}

impl SessionState {
    /// The state of a session without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of the last entry.
    pub const fn head(&self) -> u64 {
        self.head
    }

    /// The generation of the owner.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The options with which the session was created.
    pub fn options(&self) -> Option<&RawValue> {
        self.options.as_deref()
    }

    /// The prompts.
    pub const fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// The asks.
    pub const fn asks(&self) -> &Asks {
        &self.asks
    }

    /// The turn that runs.
    pub fn turn(&self) -> Option<u64> {
        self.turn_runs.then_some(self.turn)
    }

    /// The number of the next turn.
    pub const fn next_turn(&self) -> u64 {
        self.turn + 1
    }

    /// Whether an agent is running, as far as the log says.
    pub const fn has_agent(&self) -> bool {
        self.has_agent
    }

    /// Whether an agent was ever started, so that it may have stored the conversation.
    pub const fn had_agent(&self) -> bool {
        self.had_agent
    }

    /// The id of the conversation, as the agent has it. `/clear` changes it.
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Why the agent cannot be run.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// What all turns have cost, in USD.
    pub const fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    /// The state, for users.
    pub fn state(&self) -> State {
        if self.closed {
            return State::Closed;
        }
        if self.failed.is_some() {
            return State::Failed;
        }
        if self.asks.open().next().is_some() {
            return if self.has_agent { State::Waiting } else { State::Parked };
        }
        if self.turn_runs || self.prompts.is_busy() {
            return State::Running;
        }
        let wants_agent = !self.has_agent && self.prompts.open_count() > 0;
        if wants_agent { State::Starting } else { State::Idle }
    }

    /// The prompt to deliver now, if the session is idle.
    pub fn next_prompt(&self) -> Option<PromptId> {
        let is_idle = !self.closed && self.failed.is_none() && !self.turn_runs;
        if is_idle { self.prompts.next().map(|(id, _)| id) } else { None }
    }

    /// This hub cannot run the session any more. Nothing is written down: another hub may.
    pub(crate) fn give_up(&mut self, reason: String) {
        self.has_agent = false;
        self.failed = Some(reason);
    }

    /// What has to be written down after an agent has died, whether the hub died with it or not.
    pub fn recover(
        &self,
        evidence: impl Fn(PromptId) -> Evidence,
        ran: impl Fn(&str) -> bool,
    ) -> Vec<Record> {
        let mut records = self.asks.recover(ran);
        records.extend(self.prompts.recover(evidence));
        if self.turn_runs {
            let mut ended = TurnEnded::new(self.turn);
            ended.reason = Some("the agent died".to_owned());
            records.push(Record::TurnEnded(TurnEnd::Failed, ended));
        }
        records
    }

    /// What has to be written down before a session can be closed: nothing stays open.
    pub fn close(&self) -> Vec<Record> {
        let queued =
            self.prompts.open().filter(|(_, prompt)| prompt.state == PromptState::Accepted);
        let withdraw = |(id, _)| Record::Prompt(PromptState::Withdrawn, PromptChange::new(id));
        queued.map(withdraw).chain([Record::Closed]).collect()
    }

    /// Applies an entry.
    ///
    /// # Errors
    ///
    /// If it does not follow the entries before. The state is then as it was.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Inconsistent> {
        let inconsistent = |reason: String| Inconsistent { seq: entry.seq, reason };
        if entry.seq != self.head + 1 {
            return Err(inconsistent(format!("it follows entry {}", self.head)));
        }
        let record = Record::read(entry).map_err(|error| inconsistent(error.to_string()))?;
        self.change(entry, record).map_err(inconsistent)?;
        self.head = entry.seq;
        Ok(())
    }

    fn change(&mut self, entry: &Entry, record: Record) -> Result<(), String> {
        match record {
            Record::Created(created) => self.options = Some(created.options),
            Record::Owner => self.generation = entry.generation,
            Record::Failed(failed) => self.failed = Some(failed.reason),
            Record::Closed => self.closed = true,
            Record::AgentStarted(_) => {
                (self.has_agent, self.had_agent) = (true, true);
                self.failed = None;
            }
            Record::AgentExited(_) => self.has_agent = false,
            Record::Conversation(conversation) => self.conversation = Some(conversation.id),
            Record::TurnStarted(started) => {
                if self.turn_runs || started.turn != self.turn + 1 {
                    return Err(format!("turn {} starts after turn {}", started.turn, self.turn));
                }
                (self.turn, self.turn_runs) = (started.turn, true);
            }
            Record::TurnEnded(_, ended) => {
                if !self.turn_runs || ended.turn != self.turn {
                    return Err(format!("turn {} ends and does not run", ended.turn));
                }
                self.turn_runs = false;
                self.cost_usd += ended.cost_usd.unwrap_or(0.0);
            }
            Record::PromptAccepted(accepted) => self.prompts.accept(entry.seq, accepted)?,
            Record::Prompt(state, change) => self.prompts.change(state, change)?,
            Record::AskOpened(opened) => self.asks.opened(entry.seq, opened)?,
            Record::AskAnswered(answered) => self.asks.answered(answered, entry.by.clone())?,
            Record::AskDelivering(change) => self.asks.delivering(change.ask)?,
            Record::AskDelivered(change) => self.asks.delivered(change.ask)?,
            Record::AskEnded(state, change) => self.asks.ended(state, change)?,
            Record::Stderr(_)
            | Record::AgentLine(_)
            | Record::HostLine(_)
            | Record::Interrupting(_)
            | Record::Other => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
