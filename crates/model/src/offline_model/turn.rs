//! The state of a turn, and the next step.

use serde_json::Value;

use super::steps::{Call, Step};
use super::{report, steps};
use crate::request::{Request, said, texts};
use crate::scenario::{Block, Chunk, Reply};

/// What happened since the last finished turn.
#[derive(Default)]
struct Turn {
    /// The requests of the user, in order.
    asked: Vec<String>,
    /// How many tools were called for it.
    calls: usize,
    /// The latest call and its result.
    last: Option<(Value, Option<Outcome>)>,
}

/// The result of a tool.
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// The user message of the agent when a turn is interrupted.
const INTERRUPTED: &str = "[Request interrupted by user";
/// User messages of the agent that need no action.
const ASIDE: &[&str] = &["<command-", "<local-command", "Caveat:"];

/// The reply to a request.
pub(super) fn reply(request: &Request, folder: Option<&str>) -> Reply {
    let turn = Turn::of(request.messages());
    let offered: Vec<&str> = request.tools().collect();
    let all = turn.asked.iter().flat_map(|text| steps::of(text, folder, &offered));
    let all: Vec<Step> = all.collect();
    let mut left = after_calls(&all, turn.calls).iter();

    let mut said = Vec::new();
    let mut pause = 0;
    if let Some((call, Some(outcome))) = &turn.last {
        said.push(report::of(call, outcome));
        if outcome.is_error {
            let undone: Vec<&str> = left.map(Step::asked).collect();
            if !undone.is_empty() {
                said.push(format!("So I stop here. Not done: {}.", undone.join("; ")));
            }
            return Reply::text(said.join("\n\n"));
        }
    }
    let mut call: Option<&Call> = None;
    let mut thought = None;
    for step in left.by_ref() {
        match step {
            Step::Say { text, pause_ms, .. } => {
                said.push(text.clone());
                pause = pause.max(*pause_ms);
            }
            Step::Think { text, .. } => thought = Some(text.clone()),
            Step::Call(next) => {
                said.push(next.intent.clone());
                call = Some(next);
                break;
            }
        }
    }
    let mut reply = Reply::new().pause_ms(pause);
    if pause > 0 {
        reply = reply.chunk(Chunk::Words);
    }
    if let Some(thought) = thought {
        reply = reply.say(Block::thinking(thought));
        if said.is_empty() {
            said.push("I have thought about it, as far as one can without a model.".to_owned());
        }
    }
    said.retain(|text| !text.trim().is_empty());
    if said.is_empty() {
        said.push("There is nothing more to do.".to_owned());
    }
    reply = reply.say(said.join("\n\n"));
    match call {
        Some(call) => reply.say(Block::tool(&call.tool, call.input.clone())),
        None => reply,
    }
}

/// The steps behind so many that call a tool.
fn after_calls(steps: &[Step], calls: usize) -> &[Step] {
    if calls == 0 {
        return steps;
    }
    let mut calling = steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::Call(_)));
    match calling.nth(calls - 1) {
        Some((at, _)) => &steps[at + 1..],
        None => &[],
    }
}

impl Turn {
    fn of(messages: &[Value]) -> Self {
        let mut turn = Self::default();
        for message in messages {
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            if message["role"] == "assistant" {
                turn.add_calls(blocks.iter().filter(|block| block["type"] == "tool_use"));
            } else if message["role"] == "user" {
                for block in blocks.iter().filter(|block| block["type"] == "tool_result") {
                    turn.take(block);
                }
                turn.listen(&said(std::slice::from_ref(message)));
            }
        }
        turn
    }

    /// Adds the calls of the model.
    fn add_calls<'a>(&mut self, calls: impl Iterator<Item = &'a Value>) {
        let mut any = false;
        for call in calls {
            any = true;
            self.calls += 1;
            self.last = Some((call.clone(), None));
        }
        if !any {
            *self = Self::default();
        }
    }

    /// The result of a tool.
    fn take(&mut self, block: &Value) {
        let mut parts: Vec<String> =
            texts(&block["content"]).into_iter().map(str::to_owned).collect();
        let others = block["content"].as_array().into_iter().flatten();
        let others = others.filter_map(|part| part["type"].as_str()).filter(|kind| *kind != "text");
        parts.extend(others.map(|kind| format!("[{kind}]")));
        let outcome = Outcome { text: parts.join("\n"), is_error: block["is_error"] == true };
        if let Some((call, given)) = &mut self.last
            && call["id"] == block["tool_use_id"]
        {
            *given = Some(outcome);
        }
    }

    /// Adds a text of the user.
    fn listen(&mut self, text: &str) {
        let text = text.trim();
        if let Some((_, behind)) = text.rsplit_once(INTERRUPTED) {
            *self = Self::default();
            // A prompt may follow in the same message, after the bracket.
            let behind = behind.split_once(']').map_or("", |(_, behind)| behind).trim();
            if !behind.is_empty() {
                self.asked.push(behind.to_owned());
            }
        } else if !text.is_empty() && !ASIDE.iter().any(|aside| text.starts_with(aside)) {
            self.asked.push(text.to_owned());
        }
    }
}
