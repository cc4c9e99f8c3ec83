//! Removes the values that differ in every run.

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::comparison::{Call, Happened};

/// Events that repeat another one in pieces, or only report durations.
const PIECES: &[&str] = &[
    "text_delta",
    "thinking_delta",
    "tool_input_delta",
    "tool_call_started",
    "agent_progress",
    "block_abandoned",
];

/// Fields that differ in every run: ids, times, prices, counts of tokens.
const MADE_UP: &[&str] = &[
    "id",
    "turn",
    "request_id",
    "uuid",
    "prompts",
    "with",
    "message_id",
    "session_id",
    "task_id",
    "tool_use_id",
    "parent_tool_use_id",
    "agent_id",
    "callback_id",
    "from",
    "to",
    "usage",
    "model_usage",
    "models",
    "agents",
    "cost_usd",
    "total_cost_usd",
    "turn_cost_usd",
    "duration_ms",
    "duration_api_ms",
    "ttft_ms",
    "delay_ms",
    "resets_at",
    "pre_tokens",
    "post_tokens",
    "timestamp",
    "signature",
];

/// The same for the results of tools.
const MADE_UP_WITHIN: &[&str] = &[
    "uuid",
    "session_id",
    "timestamp",
    "tool_use_id",
    "agentId",
    "durationMs",
    "duration_ms",
    "totalDurationMs",
    "usage",
];

/// Parts of texts that differ in every run, and their replacements.
const FORMS: &[(&str, &str)] = &[
    (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<uuid>"),
    (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z?", "<time>"),
    (r"\b[A-Z][a-z]{2} +\d{1,2} \d{2}:\d{2}\b", "<time>"),
    (r"\b(msg|req|toolu|srvtoolu)_[A-Za-z0-9]{8,}\b", "<id>"),
];

/// Tools that start a sub-agent, which has the id of the call.
const STARTS: &[&str] = &["Agent", "Task"];

#[derive(Debug)]
pub(super) struct Normal {
    forms: Vec<(Regex, &'static str)>,
    /// Sub-agents, numbered in the order of their calls: parallel ones write in any order.
    agents: HashMap<String, usize>,
    /// Tool calls without a result, by id.
    calls: HashMap<String, Call>,
    /// How many tool calls each agent made.
    called: HashMap<u64, u64>,
}

impl Default for Normal {
    fn default() -> Self {
        let forms = FORMS.iter().filter_map(|(form, name)| Some((Regex::new(form).ok()?, *name)));
        Self {
            forms: forms.collect(),
            agents: HashMap::new(),
            calls: HashMap::new(),
            called: HashMap::new(),
        }
    }
}

impl Normal {
    /// The parts of an event that are compared; `None` if there are none.
    pub(super) fn event(&mut self, event: Value) -> Option<Happened> {
        let Value::Object(mut fields) = event else { return None };
        let name = fields.remove("event")?.as_str()?.to_owned();
        if PIECES.contains(&name.as_str()) {
            return None;
        }
        let starts_agent = name == "tool_call"
            && fields
                .get("name")
                .and_then(Value::as_str)
                .is_some_and(|name| STARTS.contains(&name));
        if let Some(Value::String(call)) = fields.get("id").filter(|_| starts_agent) {
            self.agent(call.clone());
        }
        if let Some(Value::String(agent)) = fields.remove("agent") {
            let number = self.agent(agent);
            fields.insert("agent".to_owned(), number.into());
        }
        let call = self.call(&name, &fields);
        fields.retain(|key, _| !MADE_UP.contains(&key.as_str()));
        let mut fields = Value::Object(fields);
        self.clean(&mut fields);
        Some(Happened { name, fields, call })
    }

    /// The call that a result belongs to.
    fn call(&mut self, event: &str, fields: &Map<String, Value>) -> Option<Call> {
        let agent = fields.get("agent").and_then(Value::as_u64).unwrap_or_default();
        let id = |field: &str| fields.get(field).and_then(Value::as_str);
        match event {
            "tool_call" => {
                let number = self.called.entry(agent).or_default();
                *number += 1;
                self.calls.insert(id("id")?.to_owned(), Call { agent, number: *number });
                None
            }
            "tool_result" => self.calls.remove(id("tool_use_id").or_else(|| id("id"))?),
            _ => None,
        }
    }

    fn agent(&mut self, call: String) -> usize {
        let number = self.agents.len() + 1;
        *self.agents.entry(call).or_insert(number)
    }

    fn clean(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                // Null is like absent.
                fields.retain(|key, value| {
                    !MADE_UP_WITHIN.contains(&key.as_str()) && !value.is_null()
                });
                fields.values_mut().for_each(|value| self.clean(value));
            }
            Value::Array(items) => items.iter_mut().for_each(|value| self.clean(value)),
            Value::String(text) => {
                for (form, name) in &self.forms {
                    if form.is_match(text) {
                        *text = form.replace_all(text, *name).into_owned();
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
