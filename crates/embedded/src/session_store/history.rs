//! Reading a conversation, to resume it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use super::writer::SessionWriter;

/// The result of a call that never ended.
const NO_RESULT: &str = "[Tool result missing: the session ended before the tool did]";

/// All entries of a file that are part of the chain, in the order of the file.
#[derive(Clone, Debug)]
pub(super) struct History {
    entries: Vec<Value>,
    cost: Option<Value>,
    /// The last entry that counts, if that is not the last of all.
    cut: Option<String>,
}

impl History {
    /// Reads a file. Lines that are not JSON are skipped: one may be torn.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let (mut entries, mut cost) = (Vec::new(), None);
        for line in BufReader::new(File::open(path)?).split(b'\n') {
            let Ok(entry) = serde_json::from_slice::<Value>(&line?) else { continue };
            let kind = entry["type"].as_str().unwrap_or_default();
            let chained = ["user", "assistant", "system", "attachment", "progress"].contains(&kind);
            if chained && entry["uuid"].is_string() {
                entries.push(entry);
            } else if kind == "cost-state" {
                cost = Some(entry);
            }
        }
        Ok(Self { entries, cost, cut: None })
    }

    /// The entries from the first to the last of the conversation.
    fn chain(&self) -> Vec<&Value> {
        let by_id: HashMap<&str, &Value> = self
            .entries
            .iter()
            .filter_map(|entry| Some((entry["uuid"].as_str()?, entry)))
            .collect();
        let is_leaf = |entry: &&&Value| {
            let said = entry["type"] == "user" || entry["type"] == "assistant";
            said && entry["isSidechain"] != true && entry["teamName"].is_null()
        };
        let entries: Vec<&Value> = self.entries.iter().collect();
        let mut next = match &self.cut {
            Some(uuid) => by_id.get(uuid.as_str()).copied(),
            None => entries.iter().rev().find(is_leaf).copied(),
        };
        let mut chain = Vec::new();
        let mut seen = HashSet::new();
        while let Some(entry) = next {
            // A file may contain a cycle.
            if !seen.insert(entry["uuid"].as_str()) {
                break;
            }
            chain.push(entry);
            next = entry["parentUuid"].as_str().and_then(|parent| by_id.get(parent).copied());
        }
        chain.reverse();
        chain
    }

    /// The result of a call, wherever it is: results of parallel calls may be off the chain.
    fn result_of(&self, call: &str) -> Option<&Value> {
        let blocks = self.entries.iter().flat_map(|entry| blocks(&entry["message"]["content"]));
        blocks.into_iter().find(|block| block["tool_use_id"] == call)
    }
}

/// A conversation that was read.
#[derive(Clone, Debug)]
pub struct Resumed {
    history: History,
    leaf: Option<String>,
}

impl Resumed {
    pub(super) fn new(history: History) -> Self {
        let leaf = history.chain().last().and_then(|entry| entry["uuid"].as_str());
        Self { leaf: leaf.map(str::to_owned), history }
    }

    /// The last entry.
    pub fn leaf(&self) -> Option<&str> {
        self.leaf.as_deref()
    }

    /// The conversation up to this message of the model, as if nothing had come after it. `None` if it has no such
    /// message.
    pub fn up_to(mut self, message: &str) -> Option<Self> {
        let is_it = |entry: &&&Value| entry["uuid"] == message && entry["type"] == "assistant";
        self.history.chain().iter().find(is_it)?;
        self.leaf = Some(message.to_owned());
        self.history.cut = Some(message.to_owned());
        Some(self)
    }

    /// The prompts that come after this message of the model.
    pub fn prompts_after(&self, message: &str) -> Vec<String> {
        let chain = self.history.chain();
        let after = chain.iter().skip_while(|entry| entry["uuid"] != message).skip(1);
        let is_prompt = |entry: &&&Value| {
            let has_result = blocks(&entry["message"]["content"])
                .iter()
                .any(|block| block["type"] == "tool_result");
            entry["type"] == "user" && entry["isMeta"] != true && !has_result
        };
        after
            .filter(is_prompt)
            .filter_map(|entry| entry["uuid"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// What the conversation has cost so far, if it was written down.
    pub fn cost(&self) -> Option<&Value> {
        self.history.cost.as_ref()
    }

    /// The conversation as the Messages API takes it: the blocks of one message together, roles in
    /// turn, and a result for every call.
    pub fn messages(&self) -> Vec<Value> {
        let mut messages: Vec<Value> = Vec::new();
        let mut last_id = Value::Null;
        for entry in self.history.chain() {
            let message = &entry["message"];
            let Some(role) = message["role"].as_str() else { continue };
            if entry["isApiErrorMessage"] == true || message["model"] == "<synthetic>" {
                continue;
            }
            let new = blocks(&message["content"]);
            let same = role != "assistant" || message["id"] == last_id;
            match messages.last_mut() {
                Some(last) if last["role"] == role && same => {
                    if let Some(content) = last["content"].as_array_mut() {
                        content.extend(new.into_iter().cloned());
                        text_block(content, &message["content"]);
                    }
                }
                _ => {
                    let mut content: Vec<Value> = new.into_iter().cloned().collect();
                    text_block(&mut content, &message["content"]);
                    messages.push(json!({ "role": role, "content": content }));
                }
            }
            last_id = message["id"].clone();
        }
        self.complete(messages)
    }

    /// Adds the results that are missing.
    fn complete(&self, messages: Vec<Value>) -> Vec<Value> {
        let mut whole: Vec<Value> = Vec::new();
        let mut open: Vec<String> = Vec::new();
        for mut message in messages {
            if message["role"] == "assistant" {
                self.answer(&mut open, &mut whole);
                let calls = blocks(&message["content"]).into_iter();
                let calls = calls.filter(|block| block["type"] == "tool_use");
                open = calls.filter_map(|call| call["id"].as_str().map(str::to_owned)).collect();
            } else if let Some(content) = message["content"].as_array_mut() {
                let answered: HashSet<String> = content
                    .iter()
                    .filter_map(|block| block["tool_use_id"].as_str().map(str::to_owned))
                    .collect();
                open.retain(|call| !answered.contains(call));
                let missing = std::mem::take(&mut open);
                content.splice(0..0, missing.iter().map(|call| self.result(call)));
            }
            whole.push(message);
        }
        self.answer(&mut open, &mut whole);
        whole
    }

    fn answer(&self, open: &mut Vec<String>, whole: &mut Vec<Value>) {
        if !open.is_empty() {
            let results: Vec<Value> = open.drain(..).map(|call| self.result(&call)).collect();
            whole.push(json!({ "role": "user", "content": results }));
        }
    }

    fn result(&self, call: &str) -> Value {
        self.history.result_of(call).cloned().unwrap_or_else(|| {
            json!({ "type": "tool_result", "tool_use_id": call, "content": NO_RESULT, "is_error": true })
        })
    }

    /// Copies the conversation: new names for all entries, since they are other entries.
    pub(super) fn copy_to(&self, writer: &mut SessionWriter) -> io::Result<()> {
        let mut names: HashMap<String, String> = HashMap::new();
        for entry in self.history.chain() {
            if entry["type"] == "progress" {
                continue;
            }
            let mut copy = entry.clone();
            let (Some(fields), Some(old)) = (copy.as_object_mut(), entry["uuid"].as_str()) else {
                continue;
            };
            let uuid = uuid::Uuid::new_v4().to_string();
            let parent = writer.leaf().map(str::to_owned);
            for name in ["teamName", "agentName", "slug", "sourceToolAssistantUUID"] {
                fields.remove(name);
            }
            let from = json!({ "sessionId": entry["sessionId"], "messageUuid": old });
            fields.insert("forkedFrom".to_owned(), from);
            fields.insert("parentUuid".to_owned(), json!(parent));
            fields.insert("sessionId".to_owned(), json!(writer.id()));
            fields.insert("uuid".to_owned(), json!(uuid));
            if let Some(before) = entry["logicalParentUuid"].as_str().and_then(|id| names.get(id)) {
                fields.insert("logicalParentUuid".to_owned(), json!(before));
            }
            names.insert(old.to_owned(), uuid);
            writer.copied(&copy)?;
        }
        Ok(())
    }
}

/// The blocks of a content; none if it is a text.
fn blocks(content: &Value) -> Vec<&Value> {
    content.as_array().into_iter().flatten().collect()
}

/// Adds a content that is a text.
fn text_block(content: &mut Vec<Value>, given: &Value) {
    if let Some(text) = given.as_str() {
        content.push(json!({ "type": "text", "text": text }));
    }
}
