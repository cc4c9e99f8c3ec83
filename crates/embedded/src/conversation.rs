//! [`Conversation`]: the messages, for the model and for the disk.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::session_store::{SessionWriter, Sessions};

/// The result of a call that the person stopped.
const STOPPED: &str = duologue_protocol::agent_link::REJECTED;

/// A conversation. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// As the Messages API takes them.
    messages: Vec<Value>,
    disk: Disk,
    /// Why the transcript cannot be written, to be reported.
    fault: Option<String>,
    /// Whether what is written is shown to the host, too.
    is_mirrored: bool,
    /// What it cost before it was resumed.
    cost_before: Option<Value>,
    /// The title for the file that is not there yet.
    title: Option<String>,
}

#[derive(Debug, Default)]
enum Disk {
    /// Nothing is kept.
    #[default]
    Nowhere,
    /// Something will be, once there is something.
    NotYet(Sessions, String),
    Open(SessionWriter),
}

impl Conversation {
    /// One that begins with these messages.
    pub(super) fn new(messages: Vec<Value>) -> Self {
        let conversation = Self::default();
        conversation.state().messages = messages;
        conversation
    }

    /// Writes the messages that there are. For the conversation of a sub-agent, which begins with its task.
    pub(super) fn write_first(&self, text: &str) {
        self.state().write(|writer| writer.user(&json!(text), None).map(drop));
    }

    /// Keeps it on disk from its first message on.
    pub(super) fn keep_in(&self, sessions: Sessions, id: &str) {
        self.state().disk = Disk::NotYet(sessions, id.to_owned());
    }

    /// Continues a file.
    pub(super) fn keep_on(&self, writer: SessionWriter) {
        self.state().disk = Disk::Open(writer);
    }

    /// The messages so far.
    pub(super) fn messages(&self) -> Vec<Value> {
        self.state().messages.clone()
    }

    /// The last text of the model.
    pub(super) fn last_text(&self) -> String {
        let state = self.state();
        let said = state.messages.iter().rev().find(|message| message["role"] == "assistant");
        let blocks = said.and_then(|said| said["content"].as_array()).into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        texts.join("\n")
    }

    /// Takes the error of the transcript.
    pub(super) fn take_fault(&self) -> Option<String> {
        self.state().fault.take()
    }

    /// Adds a prompt.
    pub(super) fn prompt(&self, content: &Value, uuid: Option<&str>) {
        let mut state = self.state();
        state.write(|writer| {
            if let Some(uuid) = uuid {
                writer.name_next(uuid);
            }
            let text = content.as_str().map(str::to_owned).unwrap_or_else(|| first_text(content));
            writer.user(content, None)?;
            writer.last_prompt(&text)
        });
        state.user(blocks(content));
    }

    /// Adds a command that the person typed: how it is recorded, and what was typed.
    pub(super) fn command(&self, recorded: &str, typed: &str, uuid: Option<&str>) {
        let content = json!(recorded);
        let mut state = self.state();
        state.write(|writer| {
            if let Some(uuid) = uuid {
                writer.name_next(uuid);
            }
            writer.user(&content, None)?;
            writer.last_prompt(typed)
        });
        state.user(blocks(&content));
    }

    /// Sets the title that the conversation gets when it begins.
    pub(super) fn set_title(&self, title: &str) {
        let mut state = self.state();
        match &state.disk {
            Disk::NotYet(..) => state.title = Some(title.to_owned()),
            _ => state.write(|writer| writer.title(title)),
        }
    }

    /// Adds text that is not from the person: of hooks, reminders.
    pub(super) fn note(&self, text: &str) {
        let content = json!([{ "type": "text", "text": text }]);
        let mut state = self.state();
        state.write(|writer| writer.meta(&content).map(drop));
        state.user(blocks(&content));
    }

    /// The result of a tool, and what the host got of it.
    pub(super) fn result(&self, block: Value, for_host: Option<&Value>) {
        let mut state = self.state();
        state.write(|writer| writer.user(&json!([block]), for_host).map(drop));
        state.user(vec![block]);
    }

    /// A block of a message of the model, and the name of its line. Those of one message have its id.
    pub(super) fn block(&self, message: &Value, block: &Value, uuid: &str) {
        let mut state = self.state();
        let mut line = message.clone();
        line["content"] = json!([block]);
        state.write(|writer| {
            writer.name_next(uuid);
            writer.assistant(&line).map(drop)
        });
        match state.messages.last_mut() {
            Some(last) if last["role"] == "assistant" => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.push(block.clone());
                }
            }
            _ => state.messages.push(json!({ "role": "assistant", "content": [block] })),
        }
    }

    /// Gives every open call a result, because its turn was stopped.
    pub(super) fn close_open_calls(&self) {
        let mut state = self.state();
        let open = state.open_calls();
        for call in &open {
            let block = json!({ "type": "tool_result", "tool_use_id": call, "content": STOPPED, "is_error": true });
            state.write(|writer| writer.user(&json!([block]), None).map(drop));
            // Results come first in a message of the user.
            let at = state.messages.iter().rposition(|message| message["role"] == "assistant");
            let at = at.map_or(state.messages.len(), |at| at + 1);
            match state.messages.get_mut(at).and_then(|message| message["content"].as_array_mut()) {
                Some(content) => content.insert(0, block),
                None => state.messages.insert(at, json!({ "role": "user", "content": [block] })),
            }
        }
    }

    /// Records an interrupt by the person.
    pub(super) fn interrupted(&self) {
        let had_calls = !self.state().open_calls().is_empty();
        self.close_open_calls();
        let text = if had_calls {
            "[Request interrupted by user for tool use]"
        } else {
            "[Request interrupted by user]"
        };
        let content = json!([{ "type": "text", "text": text }]);
        let mut state = self.state();
        state.write(|writer| writer.user(&content, None).map(drop));
        state.user(blocks(&content));
    }

    /// Continues from a summary.
    pub(super) fn compact(&self, metadata: &Value, summary: &str) {
        let mut state = self.state();
        let summary = json!(summary);
        state.write(|writer| writer.compacted(metadata, &summary).map(drop));
        state.messages.clear();
        state.user(blocks(&summary));
    }

    /// Starts over, in a new file.
    pub(super) fn clear(&self, id: &str, sessions: Option<Sessions>) {
        let mut state = self.state();
        state.messages.clear();
        state.disk = match sessions {
            Some(sessions) => Disk::NotYet(sessions, id.to_owned()),
            None => Disk::Nowhere,
        };
    }

    /// Shows what is written to the host, too.
    pub(super) fn mirror(&self) {
        let mut state = self.state();
        state.is_mirrored = true;
        if let Disk::Open(writer) = &mut state.disk {
            writer.mirror();
        }
    }

    /// What was written since this was last asked, if it is to be shown.
    pub(super) fn take_mirrored(&self) -> Vec<Value> {
        match &mut self.state().disk {
            Disk::Open(writer) => writer.take_mirrored(),
            _ => Vec::new(),
        }
    }

    /// Sets what it cost before this process resumed it.
    pub(super) fn set_cost_before(&self, cost: Option<Value>) {
        self.state().cost_before = cost;
    }

    /// The same, once.
    pub(super) fn take_cost_before(&self) -> Option<Value> {
        self.state().cost_before.take()
    }

    /// Writes down what it has cost so far.
    pub(super) fn cost(&self, cost: &Value) {
        self.state().write(|writer| writer.cost(cost));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds to the messages of the user; there are never two in a row.
    fn user(&mut self, blocks: Vec<Value>) {
        match self.messages.last_mut() {
            Some(last) if last["role"] == "user" => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            _ => self.messages.push(json!({ "role": "user", "content": blocks })),
        }
    }

    /// Calls of the last message that have no result.
    fn open_calls(&self) -> Vec<String> {
        let Some(at) = self.messages.iter().rposition(|message| message["role"] == "assistant")
        else {
            return Vec::new();
        };
        let blocks = |index: usize| {
            let message = self.messages.get(index);
            message.and_then(|message| message["content"].as_array()).into_iter().flatten()
        };
        let answered: Vec<&str> =
            blocks(at + 1).filter_map(|block| block["tool_use_id"].as_str()).collect();
        blocks(at)
            .filter(|block| block["type"] == "tool_use")
            .filter_map(|block| block["id"].as_str())
            .filter(|id| !answered.contains(id))
            .map(str::to_owned)
            .collect()
    }

    /// Writes to the transcript. An error is reported once, and the conversation continues without a transcript.
    fn write(&mut self, write: impl FnOnce(&mut SessionWriter) -> std::io::Result<()>) {
        let written = match &mut self.disk {
            Disk::Nowhere => return,
            Disk::NotYet(sessions, id) => sessions.create(id).and_then(|mut writer| {
                if self.is_mirrored {
                    writer.mirror();
                }
                if let Some(title) = self.title.take() {
                    writer.title(&title)?;
                }
                write(&mut writer)?;
                self.disk = Disk::Open(writer);
                Ok(())
            }),
            Disk::Open(writer) => write(writer),
        };
        if let Err(error) = written {
            self.disk = Disk::Nowhere;
            self.fault = Some(format!("The conversation is no longer kept on disk: {error}"));
        }
    }
}

/// A content as blocks.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    }
}

fn first_text(content: &Value) -> String {
    let texts = content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    texts.map(str::to_owned).next().unwrap_or_default()
}
