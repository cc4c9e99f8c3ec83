//! [`Script`]: the behaviour of an agent in one run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::step::{Answer, Step};

/// The behaviour of an agent in one run. By default it behaves like the CLI.
///
/// ```
/// use duologue_testkit::fake::{Answer, Script, Step};
///
/// // A handshake that is answered twice, a usual turn, and a turn that never ends.
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

    /// Adds steps before it reads anything.
    #[must_use]
    pub fn start(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.start.extend(steps);
        self
    }

    /// Adds the steps of its next turn. Later turns are [`Step::Usual`].
    #[must_use]
    pub fn turn(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.turns.push(steps.into_iter().collect());
        self
    }

    /// Sets the steps for each request of the host with this subtype, in place of the usual answer.
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

    /// Adds steps after the end of stdin, before it exits.
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

    /// Keeps running after the end of stdin.
    #[must_use]
    pub const fn ignores_end(mut self) -> Self {
        self.ignores_end = true;
        self
    }

    /// Gives each prompt its own turn, as 2.0.77 does. Newer versions join queued prompts.
    #[must_use]
    pub const fn separate_turns(mut self) -> Self {
        self.separate_turns = true;
        self
    }

    /// Kills itself after this many lines; with 0, as soon as it starts.
    #[must_use]
    pub const fn dies_after(mut self, lines: u64) -> Self {
        self.dies_after = Some(lines);
        self
    }

    /// Kills itself in the middle of the line after this many.
    #[must_use]
    pub const fn dies_inside(mut self, lines: u64) -> Self {
        self.dies_inside = Some(lines);
        self
    }
}
