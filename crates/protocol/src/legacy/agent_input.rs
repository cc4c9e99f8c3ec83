//! Lines of a legacy host: answers that name the tool call instead of the request.

use std::collections::VecDeque;

use crate::agent_link::{Ask, Outcome, REJECTED};
use crate::content::LazyContent;
use crate::control::{AgentRequest, CanUseTool, Success};
use crate::json::RawJson;
use crate::permission::{Allow, PermissionResult};
use crate::text::Text;
use crate::tool::{Answers, AskUserQuestion};
use crate::wire::{Field, Wire};

use super::{ErrorLine, ToolResultLine};

/// A line that only legacy hosts send.
#[derive(Debug)]
pub(crate) enum Legacy {
    Approve(Option<Text>),
    Deny(Option<Text>),
    ToolResult(Box<ToolResultLine>),
    Abort,
}

/// How many answers may come before their request. A host sees the call before the request.
const MOST_EARLY: usize = 64;

/// Answers that came before their request.
#[derive(Debug, Default)]
pub(crate) struct Early(VecDeque<(Text, Legacy)>);

impl Early {
    pub(crate) fn keep(&mut self, legacy: Legacy) {
        let Some(call) = call_of(&legacy) else { return };
        if self.0.len() == MOST_EARLY {
            self.0.pop_front();
        }
        self.0.push_back((call, legacy));
    }

    pub(crate) fn take(&mut self, call: &str) -> Option<Legacy> {
        let at = self.0.iter().position(|(early, _)| early.as_str() == call)?;
        self.0.remove(at).map(|(_, legacy)| legacy)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The call that a line is about.
pub(crate) fn call_of(legacy: &Legacy) -> Option<Text> {
    match legacy {
        Legacy::Approve(call) | Legacy::Deny(call) => call.clone(),
        Legacy::ToolResult(line) => line.tool_use_id.as_str().map(Text::from),
        Legacy::Abort => None,
    }
}

/// What a line answers to this request.
pub(crate) fn answer(ask: &Ask, legacy: &Legacy) -> Option<Outcome> {
    let AgentRequest::CanUseTool(request) = &*ask.request else { return None };
    let result = match legacy {
        Legacy::Approve(_) => request.allow(),
        Legacy::Deny(_) => request.deny(REJECTED),
        Legacy::ToolResult(line) if request.tool_name.as_str() == Some("AskUserQuestion") => {
            answered(request, line)
        }
        Legacy::ToolResult(line) => return Some(Outcome::ToolResult(line.clone())),
        Legacy::Abort => return None,
    };
    let success = Success::new().request_id(ask.id.clone()).response(RawJson::from_wire(&result));
    Some(Outcome::Success(Box::new(success)))
}

/// Answers questions with a text: one line for each of several questions, or all of it for each.
fn answered(request: &CanUseTool, line: &ToolResultLine) -> PermissionResult {
    let text = text_of(&line.content);
    if line.is_error.is_true() {
        return request.deny(text);
    }
    let input = request.input.value().and_then(|input| input.read::<AskUserQuestion>().ok());
    let asked = input.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut answers = Answers::new();
    for (index, one) in asked.questions.items().iter().enumerate() {
        let own = lines.get(index).filter(|_| lines.len() == asked.questions.items().len());
        let answer = own.copied().unwrap_or(&text);
        answers = answers.say(one.question.as_str().unwrap_or_default(), answer);
    }
    request.answer_question(&answers)
}

fn text_of(content: &Field<LazyContent>) -> String {
    let content = content.value().and_then(|content| content.read().ok());
    content.map(|content| content.text()).unwrap_or_default()
}

/// The same answer, with its legacy suggestion as a permission update.
pub(crate) fn with_suggestion(success: &Success) -> Success {
    let mut success = success.clone();
    if let Some(payload) = success.response.value()
        && payload.get("applyPermissionSuggestion").is_some()
        && let Ok(mut allow) = payload.read::<Allow>()
        && let Some(update) = allow.apply_permission_suggestion.value().cloned()
    {
        let mut updates = allow.updated_permissions.items().to_vec();
        updates.push(update);
        allow.apply_permission_suggestion = Field::Absent;
        allow.updated_permissions = updates.into();
        success.response = RawJson::from_wire(&allow).into();
    }
    success
}

/// The answer to a bad line.
pub(crate) fn error_line(why: &str) -> String {
    ErrorLine::of("invalid_request", why).to_line()
}
