//! [`Asks`]: what the agent asks, and who answered what.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::record::{AskAnswered, AskChange, AskOpened, Record};
use crate::id::AskId;

/// How many asks that have ended are remembered, so that a late answer learns the outcome.
const ENDED: usize = 4096;

/// What an ask is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum About {
    /// May a tool run?
    Permission,
    /// The model asks the user something.
    Question,
    /// The model proposes a plan.
    Plan,
    /// An MCP server asks the user something.
    Elicitation,
}

/// The state of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AskState {
    /// It has no answer.
    Open,
    /// It has its answer.
    Answered,
    /// The agent does not want an answer any more.
    Withdrawn,
    /// It was open for too long and denied.
    Expired,
    /// It waits without an agent.
    Parked,
    /// The agent died before it had the answer. The tool did not run.
    Lost,
    /// The agent died after it was allowed something. Whether the tool ran is not known; it is not run again.
    Unknown,
}

impl AskState {
    pub(super) const ALL: [Self; 7] = [
        Self::Open,
        Self::Answered,
        Self::Withdrawn,
        Self::Expired,
        Self::Parked,
        Self::Lost,
        Self::Unknown,
    ];

    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Open => "asks.opened",
            Self::Answered => "asks.answered",
            Self::Withdrawn => "asks.withdrawn",
            Self::Expired => "asks.expired",
            Self::Parked => "asks.parked",
            Self::Lost => "asks.lost",
            Self::Unknown => "asks.unknown",
        }
    }
}

/// An answer to an ask.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "behavior", deny_unknown_fields)]
#[non_exhaustive]
pub enum Answer {
    /// Allows a tool call, or approves a plan.
    Allow {
        /// Runs the tool with another input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<serde_json::Value>,
        /// Applies the rules that the agent suggested, so that it does not ask again.
        #[serde(default, skip_serializing_if = "is_false")]
        always: bool,
    },
    /// Denies it. The model reads the message.
    Deny {
        /// The message.
        #[serde(default)]
        message: String,
        /// Ends the turn.
        #[serde(default, skip_serializing_if = "is_false")]
        interrupt: bool,
    },
    /// Answers questions, by the text of each question.
    Answers {
        /// The answers.
        answers: BTreeMap<String, String>,
    },
    /// Answers an elicitation with values.
    Accept {
        /// The values.
        content: serde_json::Value,
    },
    /// Declines an elicitation.
    Decline,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The answer does not fit what the ask is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
#[non_exhaustive]
pub struct InvalidAnswer(pub &'static str);

impl Answer {
    /// Whether the answer lets something happen.
    pub const fn allows(&self) -> bool {
        !matches!(self, Self::Deny { .. } | Self::Decline)
    }

    /// Whether it is more than an answer to what was asked: it changes the input or the rules.
    pub const fn is_control(&self) -> bool {
        matches!(self, Self::Allow { input: Some(_), .. } | Self::Allow { always: true, .. })
    }

    /// Checks that it answers such an ask.
    ///
    /// # Errors
    ///
    /// If it does not, with what is expected.
    pub fn fits(&self, about: About) -> Result<(), InvalidAnswer> {
        match (about, self) {
            (About::Permission, Self::Allow { input, always }) => {
                if input.is_some() && *always {
                    return Err(InvalidAnswer("another input cannot be allowed always"));
                }
                if let Some(input) = input
                    && !input.is_object()
                {
                    return Err(InvalidAnswer("the input of a tool is an object"));
                }
                Ok(())
            }
            (About::Permission | About::Question | About::Plan, Self::Deny { .. }) => Ok(()),
            (About::Question, Self::Answers { .. }) => Ok(()),
            (About::Plan, Self::Allow { input: None, always: false }) => Ok(()),
            (About::Elicitation, Self::Accept { .. } | Self::Decline) => Ok(()),
            (About::Permission, _) => {
                Err(InvalidAnswer("a permission is answered with allow or deny"))
            }
            (About::Question, _) => {
                Err(InvalidAnswer("a question is answered with answers or deny"))
            }
            (About::Plan, _) => {
                Err(InvalidAnswer("a plan is answered with a plain allow, or deny"))
            }
            (About::Elicitation, _) => {
                Err(InvalidAnswer("an elicitation is answered with accept or decline"))
            }
        }
    }
}

/// Something that the agent asks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ask {
    /// Its state.
    pub state: AskState,
    /// What it is about.
    pub about: About,
    /// The entry that opened it.
    pub seq: u64,
    /// The id of the request on the wire of its agent.
    pub request: String,
    /// The tool call.
    pub tool_use: Option<String>,
    /// The request, as the agent sent it, until the ask has ended.
    pub content: Option<Box<RawValue>>,
    /// The answer.
    pub answer: Option<Answer>,
    /// The token of the client that answered.
    pub by: Option<Arc<str>>,
    /// Why it is in this state.
    pub reason: Option<String>,
    /// Where the answer is on its way to the agent.
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Waiting,
    Delivering,
    Delivered,
}

impl Ask {
    /// Whether nothing more happens to it.
    pub const fn is_final(&self) -> bool {
        match self.state {
            AskState::Open | AskState::Parked => false,
            AskState::Answered => matches!(self.progress, Progress::Delivered),
            _ => true,
        }
    }

    /// Whether its answer is on its way to the agent.
    pub fn is_delivering(&self) -> bool {
        self.state == AskState::Answered && self.progress == Progress::Delivering
    }

    /// Whether its answer has to be delivered.
    pub fn wants_delivery(&self) -> bool {
        self.state == AskState::Answered && self.progress == Progress::Waiting
    }
}

/// Why an answer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskRefusal {
    /// There is no such ask.
    #[error("there is no such ask")]
    Missing,
    /// It has an answer, or does not want one any more.
    #[error("the ask is no longer open")]
    NotOpen(AskState),
    /// The answer does not fit.
    #[error(transparent)]
    Invalid(#[from] InvalidAnswer),
}

/// The asks of a session.
#[derive(Clone, Debug, Default)]
pub struct Asks {
    by_id: BTreeMap<AskId, Ask>,
    /// Those that have not ended, oldest first.
    open: VecDeque<AskId>,
    ended: VecDeque<AskId>,
}

impl Asks {
    /// An ask, unless it ended long ago.
    pub fn get(&self, id: AskId) -> Option<&Ask> {
        self.by_id.get(&id)
    }

    /// Those that have not ended, oldest first.
    pub fn unfinished(&self) -> impl Iterator<Item = (AskId, &Ask)> {
        self.open.iter().filter_map(|id| Some((*id, self.by_id.get(id)?)))
    }

    /// Those that want an answer, oldest first.
    pub fn open(&self) -> impl Iterator<Item = (AskId, &Ask)> {
        self.unfinished().filter(|(_, ask)| matches!(ask.state, AskState::Open | AskState::Parked))
    }

    /// The ask of a request on the wire.
    pub fn of_request(&self, request: &str) -> Option<AskId> {
        self.unfinished().find(|(_, ask)| ask.request == request).map(|(id, _)| id)
    }

    /// Answers an ask: the first valid answer wins.
    ///
    /// # Errors
    ///
    /// If the ask is not open, or the answer does not fit.
    pub fn answer(&self, id: AskId, answer: Answer) -> Result<Record, AskRefusal> {
        let ask = self.get(id).ok_or(AskRefusal::Missing)?;
        if !matches!(ask.state, AskState::Open | AskState::Parked) {
            return Err(AskRefusal::NotOpen(ask.state));
        }
        answer.fits(ask.about)?;
        Ok(Record::AskAnswered(AskAnswered { ask: id, answer }))
    }

    /// What becomes of the asks of an agent that died. `ran` is whether the log has the result of a tool call.
    ///
    /// Nothing is sent to another agent: an answer that may have been read could run a tool twice.
    pub fn recover(&self, ran: impl Fn(&str) -> bool) -> Vec<Record> {
        let change = |(id, ask): (AskId, &Ask)| {
            let change = AskChange::new(id).reason("the agent died");
            let allows = ask.answer.as_ref().is_some_and(Answer::allows);
            let has_result = ask.tool_use.as_deref().is_some_and(&ran);
            match ask.progress {
                Progress::Delivering if has_result => Record::AskDelivered(AskChange::new(id)),
                Progress::Delivering if allows => Record::AskEnded(AskState::Unknown, change),
                _ => Record::AskEnded(AskState::Lost, change),
            }
        };
        self.unfinished().map(change).collect()
    }

    pub(super) fn opened(&mut self, seq: u64, opened: AskOpened) -> Result<(), String> {
        let AskOpened { ask: id, about, request, tool_use, content } = opened;
        if self.by_id.contains_key(&id) {
            return Err(format!("ask {id} is opened twice"));
        }
        let ask = Ask {
            state: AskState::Open,
            about,
            seq,
            request,
            tool_use,
            content: Some(content),
            answer: None,
            by: None,
            reason: None,
            progress: Progress::Waiting,
        };
        self.by_id.insert(id, ask);
        self.open.push_back(id);
        Ok(())
    }

    pub(super) fn answered(
        &mut self,
        answered: AskAnswered,
        by: Option<Arc<str>>,
    ) -> Result<(), String> {
        let ask = self.find(answered.ask)?;
        if !matches!(ask.state, AskState::Open | AskState::Parked) {
            return Err(format!("ask {} is {:?} and was answered", answered.ask, ask.state));
        }
        ask.state = AskState::Answered;
        ask.answer = Some(answered.answer);
        ask.by = by;
        Ok(())
    }

    pub(super) fn delivering(&mut self, id: AskId) -> Result<(), String> {
        let ask = self.find(id)?;
        if !ask.wants_delivery() {
            return Err(format!("ask {id} is {:?} and was delivered", ask.state));
        }
        ask.progress = Progress::Delivering;
        Ok(())
    }

    pub(super) fn delivered(&mut self, id: AskId) -> Result<(), String> {
        let ask = self.find(id)?;
        if ask.state != AskState::Answered || ask.progress != Progress::Delivering {
            return Err(format!("the answer of ask {id} was not on its way"));
        }
        ask.progress = Progress::Delivered;
        self.end(id);
        Ok(())
    }

    pub(super) fn ended(&mut self, state: AskState, change: AskChange) -> Result<(), String> {
        let id = change.ask;
        let ask = self.find(id)?;
        let possible = match state {
            AskState::Open | AskState::Answered => false,
            AskState::Parked => ask.state == AskState::Open,
            AskState::Expired => matches!(ask.state, AskState::Open | AskState::Parked),
            // An answer that the agent did not wait for.
            AskState::Withdrawn | AskState::Lost => !ask.is_final(),
            AskState::Unknown => ask.progress == Progress::Delivering && !ask.is_final(),
        };
        if !possible {
            return Err(format!("ask {id} is {:?} and cannot become {state:?}", ask.state));
        }
        ask.state = state;
        ask.reason = change.reason;
        if state != AskState::Parked {
            self.end(id);
        }
        Ok(())
    }

    fn find(&mut self, id: AskId) -> Result<&mut Ask, String> {
        self.by_id.get_mut(&id).ok_or_else(|| format!("there is no ask {id}"))
    }

    fn end(&mut self, id: AskId) {
        if let Some(ask) = self.by_id.get_mut(&id) {
            ask.content = None;
        }
        self.open.retain(|open| *open != id);
        self.ended.push_back(id);
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }
}
