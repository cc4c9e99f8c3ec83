//! The ledger: which turns, prompts and background tasks are open.
//!
//! Both machines of a host need this: [`HostLink`](crate::host_link::HostLink) to know when stdin may
//! close, and [`Transcript`](crate::transcript::Transcript) to know which turn an event belongs to.
//!
//! A host that has both keeps one ledger, that of the transcript, and passes its [`TurnState`] to the link. Then they
//! cannot disagree. A link without a transcript keeps a ledger of its own. That one knows less: where a result
//! names no prompt, only a transcript has the texts by which [`Ledger::result`] chooses a turn.
//!
//! [`Reading`] says what a line means here, also if the line could not be decoded. [`Ledger`] keeps the
//! state.

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
    /// A prompt was sent. Before that, an agent that introduces itself has not begun a turn.
    prompted: bool,
    /// How many turns have ended.
    results: u64,
    /// A line could not be read, and may have said that something has ended.
    unclear: bool,
    /// What has changed, for a [`Transcript`](crate::transcript::Transcript) to report.
    steps: Vec<Step>,
}

/// What is open in a conversation, as a [`Transcript`](crate::transcript::Transcript) knows it: for
/// [`HostLink::set_turns`](crate::host_link::HostLink::set_turns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnState {
    pub(crate) between_turns: bool,
    pub(crate) idle: bool,
    pub(crate) unclear: bool,
    pub(crate) has_open_turn: bool,
    pub(crate) results: u64,
}

impl Default for TurnState {
    fn default() -> Self {
        Self { between_turns: true, idle: true, unclear: false, has_open_turn: false, results: 0 }
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

    /// What has changed since the last call.
    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// What is open.
    pub(crate) fn state(&self) -> TurnState {
        TurnState {
            between_turns: self.is_between_turns(),
            idle: self.is_idle(),
            unclear: self.unclear,
            has_open_turn: self.has_open_turn(),
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

    /// Nothing works in the background either.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_between_turns() && self.work.is_empty()
    }

    /// The host sends a prompt. False if its name was used before: the agent ignores it then.
    pub(crate) fn prompt(&mut self, prompt: &PromptLine) -> Option<Option<Text>> {
        let content = prompt.message.value().and_then(|message| message.content.value());
        let text = content.map(|content| Text::from(content.text()));
        self.prompted = true;
        self.prompts.sent(prompt.uuid.value(), text.clone()).then_some(text)
    }

    /// The agent introduces a turn, or begins one without an introduction.
    pub(crate) fn begin(&mut self, introduced: bool) {
        let expected = self.prompted || self.results > 0;
        let Some(turn) = self.turns.begin(introduced, expected) else { return };
        turn.prompts = std::mem::take(&mut self.taken);
        let step = Step::Began { turn: turn.number, prompts: turn.prompts.clone() };
        self.steps.push(step);
        if introduced {
            self.unclear = false;
        }
    }

    /// The main agent says something. The first time in a turn, the oldest prompt is taken if the agent
    /// has not named one.
    pub(crate) fn spoke(&mut self) {
        let first = self.turns.running().is_some_and(|turn| !turn.spoken);
        if first {
            self.take_by_order(false);
        }
        if let Some(turn) = self.turns.running() {
            turn.spoken = true;
        }
    }

    /// Whether the running turn has not said anything yet, so that what is said next counts.
    pub(crate) fn awaits_speech(&self) -> bool {
        self.turns.is_silent()
    }

    /// These prompts are taken: into the turn that runs, or into the next one.
    pub(crate) fn take<'u>(&mut self, uuids: impl Iterator<Item = &'u Uuid>) {
        for uuid in uuids {
            if let Some(prompt) = self.prompts.settle(uuid) {
                self.taken(prompt.uuid, None);
            }
        }
    }

    /// Where the wire does not say which prompt a turn answers, it is the oldest one. One that the agent
    /// has listed as waiting is named when it is taken, so it only counts if `listed_too`.
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
        // A prompt without a name counts as taken, too.
        let name = uuid.clone().unwrap_or_else(|| Uuid::from(""));
        let prompts = match self.turns.running() {
            Some(turn) => &mut turn.prompts,
            None => &mut self.taken,
        };
        turns::add_prompt(prompts, name);
        if prompts.len() > 1 {
            let with = named(prompts.get(..MOST_MERGED).unwrap_or(prompts));
            self.steps.push(Step::Merged { turn, uuid, with });
        }
    }

    /// The agent repeats a prompt. False if it is none that waits.
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

    /// The agent says what became of a prompt.
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
                self.prompt_ended(uuid);
            }
            // Its turn is over, and was not seen.
            state => {
                self.cancel(uuid, state.as_str());
                self.prompt_ended(uuid);
            }
        }
    }

    /// A prompt is over. If its turn waits for a result still, the result may have been lost.
    fn prompt_ended(&mut self, uuid: &Uuid) {
        if let Some(at) = self.taken.iter().position(|taken| taken == uuid) {
            self.taken.remove(at);
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

    /// A turn has ended. `texts` are those of the turn that runs. A result that could not be read is
    /// `readable: false`: it may answer any prompt.
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
        // Prompts that joined the turn without notice.
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

    /// Whether a result that could not be read ends something.
    pub(crate) fn has_open_turn(&self) -> bool {
        self.turns.current().is_some() || self.awaits_turn()
    }

    /// Follows a line, except for the end of a turn: that is [`result`](Self::result).
    pub(crate) fn follow(&mut self, reading: &Reading) {
        match reading {
            Reading::Nothing | Reading::Ended { .. } => {}
            Reading::Began { prompts } => {
                self.begin(true);
                self.take(prompts.iter());
            }
            Reading::MayHaveBegun { prompts } => {
                if self.turns.current().is_none() {
                    self.begin(true);
                }
                self.take(prompts.iter());
            }
            Reading::Spoke { prompts } => {
                if self.turns.current().is_some() {
                    self.take(prompts.iter());
                    self.spoke();
                }
            }
            Reading::Command { uuid, state } => self.command(uuid, state),
            Reading::Idle => {
                self.turns.clear();
                self.taken.clear();
                self.work.clear();
                // The agent may not have read them yet, or has dropped them.
                self.unclear = self.prompts.any_waiting();
            }
            Reading::TaskStarted(task) => self.work.started(task),
            Reading::TaskEnded(task) => self.work.ended(task),
            Reading::Tasks(tasks) => self.work.replace(tasks),
            Reading::Unclear => self.unclear = true,
        }
    }

    /// Another process goes on with the conversation: its turns are counted on.
    pub(crate) fn restart(&mut self, budget: Budget) -> Self {
        Self { turns: self.turns.restart(), ..Self::new(budget) }
    }

    /// The process has ended: nothing is open any more.
    pub(crate) fn ended(&mut self) {
        *self = Self { results: self.results, ..self.restart(Budget::default()) };
    }
}

/// Whether this line may repeat a prompt, as far as it tells by itself.
pub(crate) fn may_be_echo(line: &User, text: &str) -> bool {
    let is_marker = INTERRUPTED.contains(&text) && !line.is_replay.is_true();
    line.parent_tool_use_id.value().is_none()
        && !is_marker
        && !text.starts_with(LOCAL_COMMAND)
        && !line.is_synthetic.is_true()
}

/// The prompts that have names.
pub(crate) fn named(prompts: &[Uuid]) -> Vec<Uuid> {
    prompts.iter().filter(|uuid| !uuid.as_str().is_empty()).cloned().collect()
}
