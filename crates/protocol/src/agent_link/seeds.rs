//! The output forms of the oldest descriptions, for hosts that were written after them.

use std::collections::HashMap;

use crate::content::ContentBlock;
use crate::control::{AgentRequest, ControlRequestToHost, HookCallback};
use crate::json::RawJson;
use crate::legacy::{ErrorLine, SystemResult, encode_result};
use crate::lines::{Assistant, Prompt, TurnResult, User};
use crate::system::System;
use crate::to_host::ToHost;
use crate::wire::{Field, Wire};

/// Says what today's lines say in the forms of the oldest descriptions.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    /// The end of a turn is a system line.
    system_result: bool,
    /// `init` was said; it is said once.
    opened: bool,
    /// The message that each agent is writing, and its blocks so far.
    messages: HashMap<String, (String, Vec<ContentBlock>)>,
}

impl Seeds {
    pub(super) fn with_system_result() -> Self {
        Self { system_result: true, ..Self::default() }
    }

    /// The line in its old form; `None` if the oldest descriptions know nothing of the kind.
    pub(super) fn render(&mut self, line: ToHost) -> Option<String> {
        match line {
            ToHost::Assistant(line) if line.error.value().is_some() => Some(error(&line)),
            ToHost::Assistant(line) => Some(self.snapshot(*line).to_line()),
            ToHost::System(System::Init(init)) => {
                let first = !std::mem::replace(&mut self.opened, true);
                first.then(|| init.to_line())
            }
            ToHost::Result(result) => {
                self.messages.clear();
                Some(self.result(*result))
            }
            ToHost::ControlRequest(line) => Some(hook(*line).to_line()),
            ToHost::CommandLifecycle(_)
            | ToHost::System(System::ThinkingTokens(_) | System::SessionStateChanged(_)) => None,
            other => Some(other.to_line()),
        }
    }

    /// Every line of a message repeats what came before in it.
    fn snapshot(&mut self, mut line: Assistant) -> Assistant {
        let agent = line.parent_tool_use_id.as_str().unwrap_or_default().to_owned();
        let Some(message) = line.message.value_mut() else { return line };
        let Some(id) = message.id.as_str().map(str::to_owned) else { return line };
        let (known, blocks) = self.messages.entry(agent).or_default();
        if *known != id {
            *known = id;
            blocks.clear();
        }
        blocks.extend_from_slice(message.content.items());
        message.content = blocks.clone().into();
        line
    }

    /// The text of a result is JSON inside JSON.
    fn result(&self, mut result: TurnResult) -> String {
        if let Some(text) = result.result.as_str() {
            result.result = Field::Value(encode_result(text).into());
        }
        if !self.system_result {
            return result.to_line();
        }
        let mut line = SystemResult::new();
        line.result = result.result;
        line.is_error = result.is_error;
        line.result_subtype = result.subtype;
        line.errors = result.errors;
        line.duration_ms = result.duration_ms;
        line.duration_api_ms = result.duration_api_ms;
        line.num_turns = result.num_turns;
        line.total_cost_usd = result.total_cost_usd;
        line.usage = result.usage;
        line.model_usage = result.model_usage;
        line.permission_denials = result.permission_denials;
        line.session_id = result.session_id;
        line.uuid = result.uuid;
        line.to_line()
    }
}

/// A failure of the API is a line of its own, not a message.
fn error(line: &Assistant) -> String {
    let text = line.message.value().map(|message| message.text()).unwrap_or_default();
    let kind = line.error.as_str().unwrap_or("unknown");
    let kind = match kind {
        "unknown" | "server_error" => "api_error".to_owned(),
        kind if kind.ends_with("_error") => kind.to_owned(),
        kind => format!("{kind}_error"),
    };
    let mut error = ErrorLine::of(kind, text);
    error.session_id = line.session_id.clone();
    error.uuid = line.uuid.clone();
    error.to_line()
}

/// A hook is named, not called back.
fn hook(mut line: ControlRequestToHost) -> ControlRequestToHost {
    if let Some(AgentRequest::HookCallback(call)) = line.request.value() {
        let mut old = HookCallback::new();
        old.hook_name = call.input.value().map(|input| input.tag().into()).into();
        old.hook_data = call.input.value().map(RawJson::from_wire).into();
        line.request = Field::Value(old.into());
    }
    line
}

/// A prompt is said again as it comes in.
pub(super) fn echo(prompt: &Prompt) -> String {
    let mut line = User::new();
    line.message = prompt.message.clone();
    line.to_line()
}
