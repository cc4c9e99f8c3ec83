//! The ledger: which turns, prompts and background tasks are open.
//!
//! A [`Transcript`](crate::transcript::Transcript) keeps the one ledger of a conversation, and attributes events to turns by
//! it. Its [`TurnState`] is all that [`HostLink`](crate::host_link::HostLink) needs to decide when stdin may close, so the
//! two cannot disagree.
//!
//! [`Reading`] is what a line that could not be decoded means here. [`Ledger`] keeps the state.

mod prompts;
mod reading;
mod salvage;
mod seen;
mod turns;
mod work;

use crate::budget::Budget;
use crate::id::Uuid;
use crate::lines::{CommandState, Prompt as PromptLine, TurnResult, User};
use crate::text::Text;

pub(crate) use prompts::Prompts;
pub(crate) use reading::{Reading, Salvaged};
pub(crate) use salvage::Salvage;
pub(crate) use seen::Seen;
pub(crate) use turns::{Turn, Turns};
pub(crate) use work::Work;

/// How many prompts of a turn are named when another is merged into it.
const MOST_MERGED: usize = 32;

/// The markers of an interrupt.
pub(crate) const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];
/// How the output of a local command begins.
pub(crate) const LOCAL_COMMAND: &str = "<local-command-std";

/// What is open in a conversation.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) turns: Turns,
    pub(crate) prompts: Prompts,
    /// Prompts that were taken before their turn began.
    taken: Vec<Uuid>,
    work: Work,
    /// How many prompts the host has sent. Before the first, an agent that introduces itself has not begun a turn.
    prompts_sent: u64,
    /// How many turns have ended.
    results: u64,
    /// A line that could not be decoded may have ended something.
    unclear: bool,
    /// What has changed, for a [`Transcript`](crate::transcript::Transcript) to report.
    steps: Vec<Step>,
}

/// What is open in a conversation: [`Transcript::turn_state`](crate::transcript::Transcript::turn_state).
///
/// The default is the state of a new conversation: nothing is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnState {
    /// How many prompts of the host were seen.
    pub(crate) prompts: u64,
    between_turns: bool,
    idle: bool,
    unclear: bool,
    results: u64,
}

impl Default for TurnState {
    fn default() -> Self {
        Ledger::default().state()
    }
}

impl TurnState {
    /// Whether no turn runs and no prompt waits. Tasks in the background may still run.
    pub const fn is_between_turns(&self) -> bool {
        self.between_turns
    }

    /// Whether no turn runs, no prompt waits, and no task works in the background.
    pub const fn is_idle(&self) -> bool {
        self.idle
    }

    /// Whether a line came that could not be decoded and may have ended something. What seems open may have ended: do
    /// not wait for it longer than the agent keeps writing.
    ///
    /// ```
    /// use duologue_protocol::transcript::Transcript;
    /// use duologue_protocol::{Direction, Line};
    ///
    /// let mut transcript = Transcript::new();
    /// let line = Line::from(r#"{"type":"system","subtype":"task_notification"}"#);
    /// transcript.handle_line(Direction::ToHost, &line);
    /// assert!(transcript.turn_state().is_unclear(), "a task has ended, but the line does not name it");
    /// ```
    pub const fn is_unclear(&self) -> bool {
        self.unclear
    }

    /// How many turns have ended.
    pub const fn results(&self) -> u64 {
        self.results
    }
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// A turn began. It answers these prompts.
    Began { turn: u64, prompts: Vec<Uuid> },
    /// A prompt waits that the host was not seen to send.
    Queued { turn: Option<u64>, uuid: Uuid },
    /// The agent accepted a prompt.
    Accepted { turn: Option<u64>, uuid: Option<Uuid>, text: Option<Text> },
    /// A prompt joined others.
    Merged { turn: Option<u64>, uuid: Option<Uuid>, with: Vec<Uuid> },
    /// A prompt will not be answered.
    Cancelled { turn: Option<u64>, uuid: Uuid, state: Text },
}

/// A turn that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) turn: Turn,
    /// It was the turn that ran, not an earlier one whose result was held back.
    pub(crate) was_running: bool,
}

impl Ledger {
    /// One that keeps no more than this.
    pub(crate) fn new(budget: Budget) -> Self {
        Self { prompts: Prompts::new(budget), ..Self::default() }
    }

    /// Takes what has changed since the last call.
    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// What is open.
    pub(crate) fn state(&self) -> TurnState {
        TurnState {
            prompts: self.prompts_sent,
            between_turns: self.is_between_turns(),
            idle: self.is_between_turns() && self.work.is_empty(),
            unclear: self.unclear,
            results: self.results,
        }
    }

    /// No turn runs and no prompt waits.
    pub(crate) fn is_between_turns(&self) -> bool {
        !self.prompts.any_waiting() && self.taken.is_empty() && !self.turns.any_expected()
    }

    /// Whether a turn should begin soon: a prompt waits for it.
    pub(crate) fn awaits_turn(&self) -> bool {
        self.prompts.any_waiting() || !self.taken.is_empty()
    }

    /// The host sends a prompt. Returns its text, or `None` if its uuid was used before: the agent ignores it then.
    pub(crate) fn prompt(&mut self, prompt: &PromptLine) -> Option<Option<Text>> {
        let content = prompt.message.value().and_then(|message| message.content.value());
        let text = content.map(|content| Text::from(content.text()));
        self.prompts_sent += 1;
        self.prompts.sent(prompt.uuid.value(), text.clone()).then_some(text)
    }

    /// The agent introduces a turn, or begins one without an introduction.
    pub(crate) fn begin(&mut self, introduced: bool) {
        let expected = self.prompts_sent > 0 || self.results > 0 || !self.taken.is_empty();
        let Some(turn) = self.turns.begin(introduced, expected) else { return };
        turn.prompts = std::mem::take(&mut self.taken);
        let step = Step::Began { turn: turn.number, prompts: turn.prompts.clone() };
        self.steps.push(step);
        if introduced {
            self.unclear = false;
        }
    }

    /// The main agent writes something. The first time in a turn, the oldest prompt is taken if the agent has named none.
    pub(crate) fn spoke(&mut self) {
        let first = self.turns.running().is_some_and(|turn| !turn.spoken);
        if first {
            self.take_by_order(false);
        }
        if let Some(turn) = self.turns.running() {
            turn.spoken = true;
        }
    }

    /// These prompts are taken: into the turn that runs, or into the next one.
    pub(crate) fn take<'u>(&mut self, uuids: impl Iterator<Item = &'u Uuid>) {
        for uuid in uuids {
            if let Some(prompt) = self.prompts.settle(uuid) {
                self.taken(prompt.uuid, None);
            }
        }
    }

    /// Takes the oldest prompt, if the agent has not named the one that the turn answers. The agent names a prompt that it
    /// has listed as waiting when it takes it, so such a prompt only counts if `listed_too`.
    fn take_by_order(&mut self, listed_too: bool) {
        let unnamed = self.turns.running().is_some_and(|turn| turn.prompts.is_empty());
        if unnamed && let Some(prompt) = self.prompts.settle_oldest(listed_too) {
            self.taken(prompt.uuid, None);
        }
    }

    /// Notes that a prompt was taken.
    pub(crate) fn taken(&mut self, uuid: Option<Uuid>, text: Option<Text>) {
        let turn = self.turns.current();
        self.steps.push(Step::Accepted { turn, uuid: uuid.clone(), text });
        // A prompt without a uuid counts as taken, too.
        let name = uuid.clone().unwrap_or_else(|| Uuid::from(""));
        let prompts = match self.turns.running() {
            Some(turn) => {
                turn.expected = true;
                &mut turn.prompts
            }
            None => &mut self.taken,
        };
        turns::add_prompt(prompts, name);
        if prompts.len() > 1 {
            let with = named(prompts.get(..MOST_MERGED).unwrap_or(prompts));
            self.steps.push(Step::Merged { turn, uuid, with });
        }
    }

    /// The agent repeats a prompt. False if no such prompt waits.
    pub(crate) fn echo(&mut self, line: &User, text: &Text, host_seen: bool) -> bool {
        if let Some(uuid) = line.uuid.value()
            && (self.prompts.is_settled(uuid) || line.is_replay.is_true())
            && (!host_seen || self.prompts.is_known(uuid))
        {
            self.take(std::iter::once(uuid));
            return true;
        }
        let settled = self.prompts.settle_text(text);
        let found = !settled.is_empty();
        for prompt in settled {
            self.taken(prompt.uuid, None);
        }
        found
    }

    /// The agent reports the state of a prompt.
    pub(crate) fn command(&mut self, uuid: &Uuid, state: &CommandState) {
        match state {
            CommandState::Queued => {
                if self.prompts.sent(Some(uuid), None) {
                    let turn = self.turns.current();
                    self.steps.push(Step::Queued { turn, uuid: uuid.clone() });
                }
                self.prompts.listed(uuid);
            }
            CommandState::Started => self.take(std::iter::once(uuid)),
            CommandState::Completed if self.turns.current().is_some() => {
                self.take(std::iter::once(uuid));
                self.prompt_ended(uuid, state);
            }
            // Its turn has ended unseen.
            state => {
                self.cancel(uuid, state.as_str());
                self.prompt_ended(uuid, state);
            }
        }
    }

    /// A prompt has ended. If its turn has not begun, it will not. If its turn has no result yet, the result may have been
    /// lost.
    fn prompt_ended(&mut self, uuid: &Uuid, state: &CommandState) {
        if let Some(at) = self.taken.iter().position(|taken| taken == uuid) {
            let uuid = self.taken.remove(at);
            let state = Text::from(state.as_str());
            self.steps.push(Step::Cancelled { turn: self.turns.current(), uuid, state });
        }
        self.unclear |= self.turns.prompt_ended(uuid);
    }

    /// A prompt will not be answered.
    pub(crate) fn cancel(&mut self, uuid: &Uuid, state: &str) {
        if self.prompts.settle(uuid).is_some() {
            let turn = self.turns.current();
            self.steps.push(Step::Cancelled { turn, uuid: uuid.clone(), state: Text::from(state) });
        }
    }

    /// Ends a turn. `texts` are those of the turn that runs. A result that could not be decoded is not `readable`, and may
    /// answer any prompt.
    pub(crate) fn result(
        &mut self,
        result: &TurnResult,
        texts: &[Text],
        readable: bool,
    ) -> Option<Ended> {
        self.results += 1;
        if self.turns.current().is_none() {
            self.begin(false);
        }
        let named_by_result = result.user_message_uuid.value().into_iter();
        let uuids: Vec<&Uuid> = named_by_result.chain(result.user_message_uuids.items()).collect();
        let names_one = uuids.iter().any(|uuid| self.prompts.is_known(uuid));
        if !names_one && result.origin.value().is_none() {
            self.take_by_order(!readable);
        }
        let current = self.turns.current();
        let mut turn = self.turns.end(result, texts)?;
        let number = Some(turn.number);
        // Prompts that joined the turn and were not reported.
        for uuid in uuids {
            if let Some(prompt) = self.prompts.settle(uuid) {
                let accepted = prompt.uuid.clone();
                self.steps.push(Step::Accepted { turn: number, uuid: accepted, text: None });
                if let Some(uuid) = prompt.uuid {
                    turns::add_prompt(&mut turn.prompts, uuid);
                }
                if turn.prompts.len() > 1 {
                    let with = named(turn.prompts.get(..MOST_MERGED).unwrap_or(&turn.prompts));
                    self.steps.push(Step::Merged { turn: number, uuid: Some(uuid.clone()), with });
                }
            }
        }
        self.taken.retain(|taken| !turn.prompts.contains(taken));
        if readable {
            self.unclear = false;
        }
        Some(Ended { was_running: current == number, turn })
    }

    /// Whether a result that could not be decoded ends something.
    pub(crate) fn has_open_turn(&self) -> bool {
        self.turns.current().is_some() || self.awaits_turn()
    }

    /// Applies a reading, except for the end of a turn: that is [`result`](Self::result).
    pub(crate) fn follow(&mut self, reading: &Reading) {
        match reading {
            Reading::Nothing | Reading::Ended { .. } => {}
            Reading::MayHaveBegun { prompts } => {
                if self.turns.current().is_none() {
                    self.begin(true);
                }
                self.take(prompts.iter());
            }
            Reading::Spoke => {
                if self.turns.current().is_some() {
                    self.spoke();
                }
            }
            Reading::Command { uuid, state } => self.command(uuid, state),
            Reading::Idle => {
                self.turns.clear();
                self.taken.clear();
                self.work.clear();
                // The agent has either not read them yet, or dropped them.
                self.unclear = self.prompts.any_waiting();
            }
            Reading::TaskStarted(task) => self.work.started(task),
            Reading::TaskEnded(task) => self.work.ended(task),
            Reading::Tasks(tasks) => self.work.replace(tasks),
            Reading::Unclear => self.unclear = true,
        }
    }

    /// Returns the ledger of the next process of the conversation. The numbers of its turns continue.
    pub(crate) fn restart(&mut self, budget: Budget) -> Self {
        Self { turns: self.turns.restart(), ..Self::new(budget) }
    }
}

/// The prompts that have a uuid.
pub(crate) fn named(prompts: &[Uuid]) -> Vec<Uuid> {
    prompts.iter().filter(|uuid| !uuid.as_str().is_empty()).cloned().collect()
}
