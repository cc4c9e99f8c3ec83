//! Messages of the model: each block is reported once, however the lines present it.
//!
//! A message comes as one line per block, as snapshots that repeat earlier blocks, or as deltas followed by
//! the block. Identity decides what is new: the agent and the id of the message,
//! then the id of a tool call, then the position in a snapshot. A line with a single block always
//! adds: two texts of one message may be equal.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::content::ContentBlock;
use crate::id::{MessageId, ToolUseId};
use crate::lines::Assistant;
use crate::message::{Message, Usage};
use crate::text::Text;
use crate::wire::Field;

use super::block::{FinishedBlock, Known};
use super::event::AgentUsage;
use super::out::{MessageRef, Out};
use super::streaming::Streaming;
use crate::budget::{Budget, Charge, KeptTexts};
use crate::ledger::Seen;

/// How many messages of one agent are remembered. Their lines rarely interleave.
const REMEMBERED: usize = 16;

/// How much of the first block identifies a message without an id.
const FINGERPRINT: usize = 64;

/// The memory for an agent without its messages.
const AGENT: usize = 2 * 1024;

/// The messages of all agents that run.
#[derive(Debug, Default)]
pub(super) struct Messages {
    budget: Budget,
    main: AgentMessages,
    agents: HashMap<String, AgentMessages>,
    /// The latest agent that did not fit into the budget: its lines are reported one by one.
    crowded_out: (String, AgentMessages),
}

/// The latest messages of one agent.
#[derive(Debug, Default)]
pub(super) struct AgentMessages {
    budget: Budget,
    /// Its share of the budget.
    _charge: Option<Charge>,
    recent: VecDeque<MessageState>,
    pub(super) streaming: Streaming,
    usage: Tokens,
    /// The tool calls of this turn. Each is reported once, also if several messages have it.
    calls: Seen,
    ended: bool,
    /// The message of the latest line.
    last: Option<Key>,
    /// Its texts, once the turn has ended.
    last_text: KeptTexts,
}

#[derive(Debug)]
struct MessageState {
    key: Key,
    id: MessageRef,
    blocks: Vec<Known>,
    /// The last block of a snapshot, which may still grow.
    held: Option<(FinishedBlock, Charge)>,
    usage: Tokens,
    /// Some of its blocks did not fit into the budget, so the new blocks of a snapshot cannot be found.
    incomplete: bool,
}

/// What identifies a message.
#[derive(Clone, Debug, PartialEq)]
enum Key {
    Id(Text),
    Line(Text),
    Fingerprint(String),
}

/// Tokens that were used.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    messages: u64,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_creation: u64,
}

impl Messages {
    pub(super) fn new(budget: Budget) -> Self {
        let main = AgentMessages::new(&budget, None);
        Self { main, budget, ..Self::default() }
    }

    pub(super) fn of(&mut self, agent: Option<&ToolUseId>) -> &mut AgentMessages {
        let Some(agent) = agent.map(ToolUseId::as_str) else { return &mut self.main };
        let Self { budget, agents, crowded_out, .. } = self;
        match agents.entry(agent.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match budget.charge(AGENT + agent.len()) {
                Some(charge) => place.insert(AgentMessages::new(budget, Some(charge))),
                None => {
                    if crowded_out.0 != agent {
                        *crowded_out = (agent.to_owned(), AgentMessages::new(budget, None));
                    }
                    &mut crowded_out.1
                }
            },
        }
    }

    /// The agents that run, without the main agent.
    pub(super) fn agents(&self) -> Vec<ToolUseId> {
        let mut agents: Vec<ToolUseId> = self.agents.keys().map(|id| id.as_str().into()).collect();
        agents.sort();
        agents
    }

    /// Takes the tokens that each agent has used since the last call. Agents that have ended are removed.
    pub(super) fn take_usage(&mut self) -> Vec<AgentUsage> {
        let main = (None, &mut self.main);
        let agents = self.agents.iter_mut().map(|(agent, state)| (Some(agent), state));
        let mut all: Vec<AgentUsage> = std::iter::once(main)
            .chain(agents)
            .filter_map(|(agent, state)| {
                let usage = std::mem::take(&mut state.usage);
                (usage.messages > 0).then(|| usage.of_agent(agent.map(String::as_str)))
            })
            .collect();
        self.agents.retain(|_, state| !state.ended);
        all.sort_by(|a, b| a.agent.cmp(&b.agent));
        all
    }
}

impl AgentMessages {
    fn new(budget: &Budget, charge: Option<Charge>) -> Self {
        let streaming = Streaming::new(budget.clone());
        Self { budget: budget.clone(), _charge: charge, streaming, ..Self::default() }
    }

    /// A line with one or more blocks of a message.
    pub(super) fn line(&mut self, line: &Assistant, out: &mut Out<'_>) {
        let Some(message) = line.message.value() else { return };
        let blocks = message.content.items();
        let key = key(line, message, blocks);
        self.release_all_but(&key, out);
        self.streaming.on_line(message.id.value(), out);
        let at = self.find(key, message);
        let Some(state) = self.recent.get_mut(at) else { return };
        state.count(message.usage.value(), &mut self.usage);
        let first_new = if blocks.len() > 1 { state.restated(blocks) } else { None };
        let fresh = match first_new {
            Some(first_new) => {
                state.grow(blocks, &self.budget, out);
                blocks.get(first_new..).unwrap_or_default()
            }
            None => blocks,
        };
        for (index, block) in fresh.iter().enumerate() {
            let is_last = index + 1 == fresh.len() && blocks.len() > 1;
            if let ContentBlock::ToolUse(call) = block
                && let Some(id) = call.id.as_str()
                && !self.calls.note(id)
            {
                continue;
            }
            state.release(out);
            let finished = FinishedBlock::of(block, line);
            match Known::of(block, &self.budget).filter(|_| !state.incomplete) {
                Some(known) => state.blocks.push(known),
                None => {
                    state.incomplete = true;
                    state.blocks.clear();
                }
            }
            // If it does not fit into the budget, it is reported now, and later additions after it.
            let room = if is_last && finished.may_grow() {
                self.budget.charge(finished.retained())
            } else {
                None
            };
            match room {
                Some(charge) => state.held = Some((finished, charge)),
                None => finished.emit(&state.id, out),
            }
            self.streaming.finished(block);
        }
        if self.last.as_ref() != Some(&state.key) {
            self.last = Some(state.key.clone());
        }
    }

    /// Something else happened in this agent, so blocks that were held back are complete.
    pub(super) fn release(&mut self, out: &mut Out<'_>) {
        for state in &mut self.recent {
            state.release(out);
        }
    }

    fn release_all_but(&mut self, key: &Key, out: &mut Out<'_>) {
        for state in self.recent.iter_mut().filter(|state| state.key != *key) {
            state.release(out);
        }
    }

    /// The turn has ended, and with it all its messages.
    pub(super) fn end_turn(&mut self, out: &mut Out<'_>) {
        self.release(out);
        self.streaming.abandon(out);
        self.last_text = self.keep_texts();
        self.last = None;
        self.calls = Seen::default();
    }

    /// The agent has ended.
    pub(super) fn end(&mut self, out: &mut Out<'_>) {
        self.end_turn(out);
        self.ended = true;
    }

    /// Counts the tokens of a message that is being streamed.
    pub(super) fn count_streamed(&mut self, id: &MessageRef, usage: &Usage) {
        if let Some(state) = self.recent.iter_mut().find(|state| state.id == *id) {
            state.count(Some(usage), &mut self.usage);
        }
    }

    /// The texts of the message of the latest line; none if some were not kept.
    pub(super) fn texts(&self) -> Vec<Text> {
        match self.recent.iter().find(|state| Some(&state.key) == self.last.as_ref()) {
            Some(state) if state.blocks.iter().any(Known::is_lost_text) => Vec::new(),
            Some(state) => state.blocks.iter().filter_map(Known::text).collect(),
            None => Vec::new(),
        }
    }

    /// The same texts, kept for the end of the turn.
    fn keep_texts(&mut self) -> KeptTexts {
        let texts = self.texts();
        self.recent.clear();
        KeptTexts::new(texts, &self.budget)
    }

    /// The texts of the last message of the turn that has ended.
    pub(super) fn last_text(&mut self) -> KeptTexts {
        std::mem::take(&mut self.last_text)
    }

    fn find(&mut self, key: Key, message: &Message) -> usize {
        if let Some(at) = self.recent.iter().position(|state| state.key == key) {
            return at;
        }
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        let id = MessageRef(message.id.value().map(MessageId::detach));
        self.recent.push_back(MessageState {
            key,
            id,
            blocks: Vec::new(),
            held: None,
            usage: Tokens::default(),
            incomplete: false,
        });
        self.recent.len() - 1
    }
}

impl MessageState {
    /// The index of the first new block, if the others repeat the known ones position by position.
    fn restated(&self, blocks: &[ContentBlock]) -> Option<usize> {
        let all = self.blocks.iter().zip(blocks).all(|(known, block)| known.is_restated_by(block));
        (all && !self.blocks.is_empty()).then_some(self.blocks.len())
    }

    /// Known texts may have become longer.
    fn grow(&mut self, blocks: &[ContentBlock], budget: &Budget, out: &mut Out<'_>) {
        let last = self.blocks.len().saturating_sub(1);
        for (index, (known, block)) in self.blocks.iter_mut().zip(blocks).enumerate() {
            let Some(added) = known.grow(block, budget) else { continue };
            match &mut self.held {
                Some((held, _)) if index == last => held.replace_text(block),
                // It was reported as finished, so the rest is reported as another text.
                _ => added.emit(&self.id, out),
            }
        }
    }

    fn release(&mut self, out: &mut Out<'_>) {
        if let Some((held, _)) = self.held.take() {
            held.emit(&self.id, out);
        }
    }

    /// Counts the tokens of the message once: the largest numbers of any of its lines.
    fn count(&mut self, usage: Option<&Usage>, total: &mut Tokens) {
        let before = self.usage;
        if let Some(usage) = usage {
            let at_least = |old: u64, new: &Field<crate::json::Number>| {
                old.max(new.as_u64().unwrap_or_default())
            };
            self.usage.input = at_least(before.input, &usage.input_tokens);
            self.usage.output = at_least(before.output, &usage.output_tokens);
            self.usage.cache_read = at_least(before.cache_read, &usage.cache_read_input_tokens);
            self.usage.cache_creation =
                at_least(before.cache_creation, &usage.cache_creation_input_tokens);
        }
        self.usage.messages = 1;
        total.messages += 1 - before.messages;
        total.input += self.usage.input - before.input;
        total.output += self.usage.output - before.output;
        total.cache_read += self.usage.cache_read - before.cache_read;
        total.cache_creation += self.usage.cache_creation - before.cache_creation;
    }
}

impl Tokens {
    fn of_agent(self, agent: Option<&str>) -> AgentUsage {
        AgentUsage::new()
            .agent(agent.map(ToolUseId::from))
            .messages(self.messages)
            .input_tokens(self.input)
            .output_tokens(self.output)
            .cache_read_input_tokens(self.cache_read)
            .cache_creation_input_tokens(self.cache_creation)
    }
}

fn key(line: &Assistant, message: &Message, blocks: &[ContentBlock]) -> Key {
    if let Some(id) = message.id.as_str() {
        return Key::Id(id.into());
    }
    if let Some(uuid) = line.uuid.as_str() {
        return Key::Line(uuid.into());
    }
    let first = blocks.first();
    Key::Fingerprint(match first {
        Some(ContentBlock::ToolUse(call)) => {
            format!("tool_use:{}", call.id.as_str().unwrap_or("unknown"))
        }
        Some(ContentBlock::Text(text)) => fingerprint("text", text.text.as_str()),
        Some(ContentBlock::Thinking(thinking)) => {
            fingerprint("thinking", thinking.thinking.as_str())
        }
        Some(other) => format!("{}:unknown", other.tag()),
        None => String::new(),
    })
}

fn fingerprint(kind: &str, text: Option<&str>) -> String {
    let beginning: String = text.unwrap_or_default().chars().take(FINGERPRINT).collect();
    format!("{kind}:{beginning}")
}
