//! Prompts: the queue, and the start and end of turns.

use serde_json::{Value, json};

use super::{Agent, Stop, complain};
use crate::fake::step::Step;

/// A prompt of the host.
pub(super) struct Prompt {
    /// Which line of the host it was.
    number: u64,
    pub(super) uuid: Option<String>,
    content: Value,
}

/// The current turn.
#[derive(Default)]
pub(super) struct Turn {
    /// Its prompt; the last one if there are several.
    pub(super) uuid: Option<String>,
    /// All of them.
    pub(super) uuids: Vec<String>,
    /// The prompts to print again.
    content: Value,
    /// Whether an answer has begun.
    pub(super) answered: bool,
    /// Tool calls without a result.
    pub(super) open_tools: Vec<String>,
    /// The number of API turns: it grows with tool results.
    pub(super) steps: u64,
    pub(super) aborted: bool,
    /// Whether the result was printed.
    pub(super) over: bool,
}

impl Turn {
    pub(super) fn prompt(&self) -> String {
        text_of(&self.content)
    }
}

fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

impl Agent {
    pub(super) fn take_prompt(&mut self, number: u64, line: Value) -> Result<(), Stop> {
        if line["message"]["role"] != "user" {
            let role = &line["message"]["role"];
            complain(&format!("Error: Expected message role 'user', got {role}"));
            return Err(Stop::Exit(1));
        }
        let uuid = line["uuid"].as_str().map(str::to_owned);
        let content = line["message"]["content"].clone();
        if let Some(uuid) = &uuid {
            if !self.known.insert(uuid.clone()) {
                // It has already run and is only printed again.
                let prompt = Prompt { number, uuid: Some(uuid.clone()), content };
                self.replay(&prompt);
                return Ok(());
            }
            self.lifecycle(uuid, "queued");
        }
        self.queue.push_back(Prompt { number, uuid, content });
        Ok(())
    }

    /// Runs a turn for all queued prompts, or for one at the very beginning.
    pub(super) fn one_turn(&mut self) -> Result<(), Stop> {
        let alone = self.turns == 0 || self.script.separate_turns;
        let count = if alone { 1 } else { self.queue.len() };
        let prompts: Vec<Prompt> = self.queue.drain(..count.min(self.queue.len())).collect();
        let Some((last, others)) = prompts.split_last() else { return Ok(()) };
        self.forget(&prompts);
        for prompt in others {
            self.replay(prompt);
        }
        let uuids: Vec<String> = prompts.iter().filter_map(|prompt| prompt.uuid.clone()).collect();
        for uuid in &uuids {
            self.lifecycle(uuid, "started");
        }
        let content = if others.is_empty() {
            last.content.clone()
        } else {
            let texts: Vec<String> =
                prompts.iter().map(|prompt| text_of(&prompt.content)).collect();
            Value::from(texts.join("\n"))
        };
        let steps = self.script.turns.get_mut(self.turns).map(std::mem::take);
        self.turns += 1;
        self.turn = Some(Turn { uuid: last.uuid.clone(), uuids, content, ..Turn::default() });

        let ran = self.perform(&steps.unwrap_or_else(|| vec![Step::Usual]));
        let aborted = match ran {
            Ok(()) => false,
            Err(Stop::Aborted) => {
                self.print_abort();
                true
            }
            Err(stop) => return Err(stop),
        };
        let turn = self.turn.take().unwrap_or_default();
        for uuid in &turn.uuids {
            self.lifecycle(uuid, if aborted { "cancelled" } else { "completed" });
        }
        self.drain()
    }

    /// Queued prompts join the current turn.
    pub(super) fn fold(&mut self) {
        let prompts: Vec<Prompt> = self.queue.drain(..).collect();
        self.forget(&prompts);
        for prompt in &prompts {
            self.replay(prompt);
            if let (Some(uuid), Some(turn)) = (&prompt.uuid, &mut self.turn) {
                turn.uuids.push(uuid.clone());
                self.lifecycle(uuid, "started");
            }
        }
    }

    /// Steps do not wait for the prompts of the current turn.
    fn forget(&mut self, prompts: &[Prompt]) {
        self.seen.retain(|seen| !prompts.iter().any(|prompt| prompt.number == seen.number));
    }

    fn replay(&mut self, prompt: &Prompt) {
        if self.replays {
            let line = self.lines.replay(&prompt.content, prompt.uuid.as_deref());
            self.output.line(line.to_string());
        }
    }

    /// The prompt of this turn, printed again.
    pub(super) fn replay_turn(&mut self) {
        if let Some(turn) = self.turn.as_ref().filter(|_| self.replays) {
            let line = self.lines.replay(&turn.content, turn.uuid.as_deref());
            self.output.line(line.to_string());
        }
    }

    pub(super) fn lifecycle(&mut self, uuid: &str, state: &str) {
        let line = self.lines.stamped(json!({
            "type": "command_lifecycle", "command_uuid": uuid, "state": state,
        }));
        self.output.line(line.to_string());
    }

    /// The lines that the CLI prints when a turn is interrupted.
    fn print_abort(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        turn.over = true;
        let tools = std::mem::take(&mut turn.open_tools);
        let in_tools = !tools.is_empty();
        turn.steps += 1 + tools.len() as u64;
        for id in tools {
            let line = self.lines.tool_result(&id, REJECTED, true);
            self.output.line(line.to_string());
        }
        let text = if in_tools {
            "[Request interrupted by user for tool use]"
        } else {
            "[Request interrupted by user]"
        };
        let line = self.lines.user_text(text);
        self.output.line(line.to_string());
        let reason = if in_tools { "aborted_tools" } else { "aborted_streaming" };
        self.print_failure("error_during_execution", reason);
    }

    pub(super) fn print_failure(&mut self, subtype: &str, reason: &str) {
        let Some(turn) = &mut self.turn else { return };
        turn.over = true;
        self.failed = true;
        let line = self.lines.failure(turn, subtype, reason);
        self.output.line(line.to_string());
    }
}

const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a \
     file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the \
     user to tell you how to proceed.";
