//! [`Comparison`]: compares two conversations while they are read.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use duologue_protocol::Direction;
use duologue_protocol::transcript::Transcript;
use serde_json::{Value, json};

use crate::entry::{Event, Exit};

use super::normal::Normal;
use super::{Difference, Kind};

/// How many turns later an event may still match one of the other side.
const LATE: u64 = 64;

/// The most bytes of unmatched events.
const BUDGET: usize = 64 * 1024 * 1024;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "two are compared")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// Compares two conversations while they are read, in any order.
///
/// Matched events are dropped at once, so that memory depends on the differences and not on the length. Read both sides in
/// step to keep it low. An event that comes more than 64 turns later than on the other side, or after 64 MiB of
/// differences, counts as missing there.
///
/// ```
/// use duologue_protocol::Line;
/// use duologue_tape::Event;
/// use duologue_tape::diff::{Comparison, Side};
///
/// let mut comparison = Comparison::new();
/// let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Hi"}]}}"#;
/// comparison.take(Side::A, &Event::ToHost(Line::from(said)));
/// assert!(comparison.next_difference().is_none());
/// comparison.finish();
/// let missing = std::iter::from_fn(|| comparison.next_difference());
/// assert!(missing.map(|difference| difference.event).any(|event| event == "text"));
/// ```
#[derive(Debug, Default)]
pub struct Comparison {
    sides: [Folding; 2],
    turns: BTreeMap<Option<u64>, Turn>,
    /// The size of all unmatched events.
    waiting: usize,
    differences: VecDeque<Difference>,
}

/// Folds one side.
#[derive(Debug, Default)]
struct Folding {
    transcript: Transcript,
    normal: Normal,
    /// How many events there were.
    count: u64,
    /// The latest turn.
    latest: u64,
    ended: bool,
}

/// An event without the values that differ in every run.
#[derive(Debug)]
pub(super) struct Happened {
    pub(super) name: String,
    pub(super) fields: Value,
    /// The tool call that it is the result of.
    pub(super) call: Option<Call>,
}

/// A tool call, by the order in which each agent made its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) agent: u64,
    pub(super) number: u64,
}

impl Happened {
    /// Whose words these are, if a model said it: their order is part of their meaning.
    fn said_by(&self) -> Option<u64> {
        let names = ["text", "thinking", "tool_call"];
        let agent = self.fields.get("agent").and_then(Value::as_u64);
        names.contains(&self.name.as_str()).then_some(agent.unwrap_or_default())
    }

    /// Whether it is something that the host sent, or the answer to it. The host writes when it likes: whether a turn has
    /// begun by then is a race between two programs, and says nothing about either.
    fn is_of_no_turn(&self) -> bool {
        matches!(self.name.as_str(), "prompt_queued" | "control_request" | "control_response")
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.name, &self.fields).hash(&mut hasher);
        hasher.finish()
    }

    fn cost(&self) -> usize {
        self.name.len() + cost(&self.fields)
    }

    /// Whether the two could be the same event with different fields.
    fn is_kin(&self, other: &Self) -> bool {
        let same = |name: &&str| self.fields.get(name) == other.fields.get(name);
        let keys = [
            "agent",
            "tool_name",
            "name",
            "hook_event",
            "method",
            "tool",
            "server",
            "subtype",
            "kind",
        ];
        self.name == other.name && keys.iter().all(same)
    }
}

fn cost(value: &Value) -> usize {
    64 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(cost).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + cost(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// One turn, of both sides.
#[derive(Debug, Default)]
struct Turn {
    /// Events without a match on the other side yet, by their position.
    waiting: [BTreeMap<u64, Happened>; 2],
    /// The same by hash.
    by_hash: [HashMap<u64, VecDeque<u64>>; 2],
    /// Where the latest words that both have were on each side, by agent.
    said: HashMap<u64, [u64; 2]>,
    moved: Vec<Happened>,
}

impl Turn {
    /// Removes the match of this event from the unmatched events of that side.
    fn like(&mut self, side: Side, event: &Happened) -> Option<(u64, Happened)> {
        let waiting = self.waiting.get_mut(side as usize)?;
        let by_hash = self.by_hash.get_mut(side as usize)?;
        let hash = event.hash();
        let numbers = by_hash.get_mut(&hash)?;
        let is_like = |number: &u64| {
            waiting
                .get(number)
                .is_some_and(|other| other.name == event.name && other.fields == event.fields)
        };
        let number = numbers.remove(numbers.iter().position(is_like)?)?;
        if numbers.is_empty() {
            by_hash.remove(&hash);
        }
        Some((number, waiting.remove(&number)?))
    }

    fn wait(&mut self, side: Side, number: u64, event: Happened) {
        if let Some(by_hash) = self.by_hash.get_mut(side as usize) {
            by_hash.entry(event.hash()).or_default().push_back(number);
        }
        if let Some(waiting) = self.waiting.get_mut(side as usize) {
            waiting.insert(number, event);
        }
    }

    /// Takes an event of both sides. Returns whether it is in order: the words of an agent must have the same order on both
    /// sides.
    fn is_in_order(&mut self, event: &Happened, at: [u64; 2]) -> bool {
        let Some(agent) = event.said_by() else { return true };
        let said = self.said.entry(agent).or_default();
        let in_order = said.iter().zip(at).all(|(before, at)| *before < at);
        for (before, at) in said.iter_mut().zip(at) {
            *before = at.max(*before);
        }
        in_order
    }
}

impl Comparison {
    /// A comparison without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event of one side.
    pub fn take(&mut self, side: Side, event: &Event) {
        let Some(folding) = self.sides.get_mut(side as usize) else { return };
        match event {
            Event::ToHost(line) => folding.transcript.handle_line(Direction::ToHost, line),
            Event::ToAgent(line) => folding.transcript.handle_line(Direction::ToAgent, line),
            Event::Exit(Exit { code, signal }) => {
                let fields = json!({ "code": code, "signal": signal });
                self.event(side, None, Happened { name: "exit".to_owned(), fields, call: None });
            }
            _ => return,
        }
        self.drain(side);
    }

    /// Marks the end of one side.
    pub fn end(&mut self, side: Side) {
        let Some(folding) = self.sides.get_mut(side as usize) else { return };
        if !folding.ended {
            folding.transcript.handle_end();
            folding.ended = true;
            self.drain(side);
        }
    }

    /// Marks the end of both sides: unmatched events are differences.
    pub fn finish(&mut self) {
        for side in [Side::A, Side::B] {
            self.end(side);
        }
        while let Some((turn, state)) = self.turns.pop_first() {
            self.settle(turn, state);
        }
    }

    /// The next certain difference, in the order of turns.
    pub fn next_difference(&mut self) -> Option<Difference> {
        self.differences.pop_front()
    }

    fn drain(&mut self, side: Side) {
        loop {
            let Some(folding) = self.sides.get_mut(side as usize) else { return };
            let Some(event) = folding.transcript.poll_event() else { break };
            let Ok(value) = serde_json::to_value(&event) else { continue };
            if let Some(happened) = folding.normal.event(value) {
                self.event(side, event.turn(), happened);
            }
        }
        self.forget();
    }

    fn event(&mut self, side: Side, turn: Option<u64>, event: Happened) {
        let turn = turn.filter(|_| !event.is_of_no_turn());
        let Some(folding) = self.sides.get_mut(side as usize) else { return };
        folding.count += 1;
        folding.latest = folding.latest.max(turn.unwrap_or_default());
        let number = folding.count;
        let (other, at): (_, fn(u64, u64) -> [u64; 2]) = match side {
            Side::A => (Side::B, |ours, others| [ours, others]),
            Side::B => (Side::A, |ours, others| [others, ours]),
        };
        let state = self.turns.entry(turn).or_default();
        match state.like(other, &event) {
            Some((found, like)) => {
                self.waiting = self.waiting.saturating_sub(like.cost());
                if !state.is_in_order(&event, at(number, found)) {
                    self.waiting += event.cost();
                    state.moved.push(event);
                }
            }
            None => {
                self.waiting += event.cost();
                state.wait(side, number, event);
            }
        }
    }

    /// Settles turns that ended long ago on both sides, and the oldest one if too much is unmatched.
    fn forget(&mut self) {
        let reached = self.sides.iter().filter(|side| !side.ended).map(|side| side.latest).min();
        let reached = reached.unwrap_or_default();
        loop {
            let oldest = self.turns.keys().copied().find(Option::is_some).flatten();
            let over = oldest.is_some_and(|turn| turn.saturating_add(LATE) < reached);
            if !over && self.waiting <= BUDGET {
                return;
            }
            let Some(state) = self.turns.remove(&oldest) else { return };
            self.settle(oldest, state);
        }
    }

    fn settle(&mut self, turn: Option<u64>, state: Turn) {
        let of = |kind, event: &str, field, a, b| Difference {
            kind,
            turn,
            event: event.to_owned(),
            field,
            a,
            b,
        };
        for event in state.moved {
            self.waiting = self.waiting.saturating_sub(event.cost());
            self.differences.push_back(of(
                Kind::Moved,
                &event.name,
                None,
                event.fields,
                Value::Null,
            ));
        }
        let [a, b] = state.waiting.map(|events| events.into_values().collect::<Vec<_>>());
        let kin = pairs(&a, &b);
        let mut b: Vec<Option<Happened>> = b.into_iter().map(Some).collect();
        for (event, kin) in a.into_iter().zip(kin) {
            self.waiting = self.waiting.saturating_sub(event.cost());
            match kin.and_then(|at| b.get_mut(at)?.take()) {
                None => self.differences.push_back(of(
                    Kind::Missing,
                    &event.name,
                    None,
                    event.fields,
                    Value::Null,
                )),
                Some(other) => {
                    self.waiting = self.waiting.saturating_sub(other.cost());
                    each_field("", &event.fields, &other.fields, &mut |field, a, b| {
                        let field = Some(field.to_owned());
                        self.differences.push_back(of(
                            Kind::Different,
                            &event.name,
                            field,
                            a.clone(),
                            b.clone(),
                        ));
                    });
                }
            }
        }
        for event in b.into_iter().flatten() {
            self.waiting = self.waiting.saturating_sub(event.cost());
            self.differences.push_back(of(
                Kind::Extra,
                &event.name,
                None,
                Value::Null,
                event.fields,
            ));
        }
    }
}

/// Pairs events of both sides that may be the same with different fields. Results of the same call are paired
/// first, because parallel calls end in any order. All others are paired by their order.
fn pairs(a: &[Happened], b: &[Happened]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; a.len()];
    let mut taken = vec![false; b.len()];
    let of_calls = b.iter().enumerate().filter_map(|(at, event)| Some((event.call?, at)));
    let of_calls: HashMap<Call, usize> = of_calls.collect();
    for (pair, event) in pairs.iter_mut().zip(a) {
        let same_call = event.call.and_then(|call| of_calls.get(&call).copied());
        *pair = same_call.filter(|at| b.get(*at).is_some_and(|other| event.is_kin(other)));
        if let Some(taken) = pair.and_then(|at| taken.get_mut(at)) {
            *taken = true;
        }
    }
    for (pair, event) in pairs.iter_mut().zip(a).filter(|(pair, _)| pair.is_none()) {
        let mut free = b.iter().zip(&mut taken).enumerate().filter(|(_, (_, taken))| !**taken);
        if let Some((at, (_, taken))) = free.find(|(_, (other, _))| event.is_kin(other)) {
            *taken = true;
            *pair = Some(at);
        }
    }
    pairs
}

/// Reports each field in which two values differ.
fn each_field(path: &str, a: &Value, b: &Value, report: &mut impl FnMut(&str, &Value, &Value)) {
    if let (Value::Object(first), Value::Object(second)) = (a, b) {
        let keys: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
            let [a, b] = [first, second].map(|map| of(map).unwrap_or_default());
            each_field(&path, &a, &b, report);
        }
        return;
    }
    if a != b {
        report(path, a, b);
    }
}
