//! [`Script`]: what an agent does in one life.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::step::{Answer, Step};

/// What an agent does in one life. What it says nothing about is as it is with the CLI.
///
/// ```
/// use duologue_testkit::fake::{Answer, Script, Step};
///
/// // A handshake that is answered twice, a turn that is as always, and one without an end.
/// let script = Script::new()
///     .on("initialize", [Step::Reply(Answer::Usual), Step::Reply(Answer::Usual)])
///     .turn([Step::Usual])
///     .turn([Step::Init, Step::Stall]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Script {
    pub(super) start: Vec<Step>,
    pub(super) on: BTreeMap<String, Vec<Step>>,
    pub(super) turns: Vec<Vec<Step>>,
    pub(super) end: Vec<Step>,
    pub(super) ignores_term: bool,
    pub(super) ignores_end: bool,
    pub(super) separate_turns: bool,
    pub(super) dies_after: Option<u64>,
    pub(super) dies_inside: Option<u64>,
}

impl Script {
    /// An agent without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it does before it reads anything.
    #[must_use]
    pub fn start(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.start.extend(steps);
        self
    }

    /// What it does in its next turn, all of it. Turns beyond the last are [`Step::Usual`].
    #[must_use]
    pub fn turn(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.turns.push(steps.into_iter().collect());
        self
    }

    /// What it does whenever the host sends a request of this subtype, instead of what the CLI does.
    #[must_use]
    pub fn on(mut self, subtype: &str, steps: impl IntoIterator<Item = Step>) -> Self {
        self.on.insert(subtype.to_owned(), steps.into_iter().collect());
        self
    }

    /// Answers such requests twice.
    #[must_use]
    pub fn answers_twice(self, subtype: &str) -> Self {
        self.on(subtype, [Step::Reply(Answer::Usual), Step::Reply(Answer::Usual)])
    }

    /// Answers such requests never.
    #[must_use]
    pub fn never_answers(self, subtype: &str) -> Self {
        self.on(subtype, [])
    }

    /// Answers such requests with an error.
    #[must_use]
    pub fn refuses(self, subtype: &str, error: &str) -> Self {
        self.on(subtype, [Step::Reply(Answer::Error(error.to_owned()))])
    }

    /// What it does when stdin has ended, before it exits.
    #[must_use]
    pub fn end(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.end.extend(steps);
        self
    }

    /// Ignores TERM, from its first line on.
    #[must_use]
    pub const fn ignores_term(mut self) -> Self {
        self.ignores_term = true;
        self
    }

    /// Lives on when stdin has ended.
    #[must_use]
    pub const fn ignores_end(mut self) -> Self {
        self.ignores_end = true;
        self
    }

    /// Gives each prompt a turn of its own, as 2.0.77 does. Today's CLI joins those that wait.
    #[must_use]
    pub const fn separate_turns(mut self) -> Self {
        self.separate_turns = true;
        self
    }

    /// Kills itself once it has written so many lines; with 0 as soon as it starts.
    #[must_use]
    pub const fn dies_after(mut self, lines: u64) -> Self {
        self.dies_after = Some(lines);
        self
    }

    /// Kills itself in the middle of the line after so many.
    #[must_use]
    pub const fn dies_inside(mut self, lines: u64) -> Self {
        self.dies_inside = Some(lines);
        self
    }
}
