//! Lines to a legacy host: what an agent writes, in legacy forms.

use std::collections::HashMap;

use crate::content::ContentBlock;
use crate::control::{AgentRequest, ControlRequestToHost, HookCallback, Initialize};
use crate::json::RawJson;
use crate::lines::{Assistant, Prompt, TurnResult, User};
use crate::system::System;
use crate::to_host::ToHost;
use crate::wire::{Field, Wire};

use super::{ErrorLine, SystemResult, encode_result};

/// Writes lines in legacy forms.
#[derive(Debug, Default)]
pub(crate) struct LegacyOutput {
    /// A turn ends with a system line.
    system_result: bool,
    /// `init` was sent. It is sent once.
    sent_init: bool,
    /// The host has sent hooks or servers, so it expects the payload of the answer to `initialize`.
    wants_payload: bool,
    /// The message that each agent is writing, and its blocks so far.
    messages: HashMap<String, (String, Vec<ContentBlock>)>,
}

impl LegacyOutput {
    pub(crate) fn with_system_result() -> Self {
        Self { system_result: true, ..Self::default() }
    }

    /// The host sends `initialize`. One of the oldest descriptions answers it with a bare acknowledgement. Another has hooks
    /// and servers in it, and answers with commands and models.
    pub(crate) fn initialize(&mut self, request: &Initialize) {
        let has_hooks = request.hooks.value().is_some_and(|hooks| !hooks.is_empty());
        self.wants_payload |= has_hooks || !request.sdk_mcp_servers.items().is_empty();
    }

    /// Whether the answer to `initialize` has a payload.
    pub(crate) const fn wants_payload(&self) -> bool {
        self.wants_payload
    }

    /// The line in its legacy form; `None` if there is none.
    pub(crate) fn render(&mut self, line: ToHost) -> Option<String> {
        match line {
            ToHost::Assistant(line) if line.error.value().is_some() => Some(error(&line)),
            ToHost::Assistant(line) => Some(self.snapshot(*line).to_line()),
            ToHost::System(System::Init(init)) => {
                let first = !std::mem::replace(&mut self.sent_init, true);
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

/// A hook request names the hook instead of a callback.
fn hook(mut line: ControlRequestToHost) -> ControlRequestToHost {
    if let Some(AgentRequest::HookCallback(call)) = line.request.value() {
        let mut old = HookCallback::new();
        old.hook_name = call.input.value().map(|input| input.tag().into()).into();
        old.hook_data = call.input.value().map(RawJson::from_wire).into();
        line.request = Field::Value(old.into());
    }
    line
}

/// The echo of a prompt.
pub(crate) fn echo(prompt: &Prompt) -> String {
    let mut line = User::new();
    line.message = prompt.message.clone();
    line.to_line()
}
