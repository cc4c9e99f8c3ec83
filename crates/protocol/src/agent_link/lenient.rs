//! The answers of the oldest descriptions: lines that name the tool call instead of the question.

use std::collections::VecDeque;

use crate::content::LazyContent;
use crate::control::{AgentRequest, CanUseTool, Success};
use crate::json::RawJson;
use crate::legacy::ToolResultLine;
use crate::permission::{Allow, PermissionResult};
use crate::text::Text;
use crate::tool::{Answers, AskUserQuestion};
use crate::wire::{Field, Wire};

use super::REJECTED;
use super::asks::Ask;
use super::event::Outcome;
use super::input::Legacy;

/// How many answers may come before their question. A host sees the call before it is asked.
const MOST_EARLY: usize = 64;

/// Answers that came before their question.
#[derive(Debug, Default)]
pub(super) struct Early(VecDeque<(Text, Legacy)>);

impl Early {
    pub(super) fn keep(&mut self, legacy: Legacy) {
        let call = match &legacy {
            Legacy::Approve(call) | Legacy::Deny(call) => call.clone(),
            Legacy::ToolResult(line) => line.tool_use_id.as_str().map(Text::from),
            Legacy::Abort => None,
        };
        let Some(call) = call else { return };
        if self.0.len() == MOST_EARLY {
            self.0.pop_front();
        }
        self.0.push_back((call, legacy));
    }

    pub(super) fn take(&mut self, call: &str) -> Option<Legacy> {
        let at = self.0.iter().position(|(early, _)| early.as_str() == call)?;
        self.0.remove(at).map(|(_, legacy)| legacy)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The call that a line is about.
pub(super) fn call_of(legacy: &Legacy) -> Option<Text> {
    match legacy {
        Legacy::Approve(call) | Legacy::Deny(call) => call.clone(),
        Legacy::ToolResult(line) => line.tool_use_id.as_str().map(Text::from),
        Legacy::Abort => None,
    }
}

/// What a line says to this question.
pub(super) fn answer(ask: &Ask, legacy: &Legacy) -> Option<Outcome> {
    let AgentRequest::CanUseTool(question) = &*ask.request else { return None };
    let result = match legacy {
        Legacy::Approve(_) => question.allow(),
        Legacy::Deny(_) => question.deny(REJECTED),
        Legacy::ToolResult(line) if question.tool_name.as_str() == Some("AskUserQuestion") => {
            answered(question, line)
        }
        Legacy::ToolResult(line) => return Some(Outcome::ToolResult(line.clone())),
        Legacy::Abort => return None,
    };
    let success = Success::new().request_id(ask.id.clone()).response(RawJson::from_wire(&result));
    Some(Outcome::Success(Box::new(success)))
}

/// A question, answered by a text: one line for each of several questions, or all of it for each.
fn answered(question: &CanUseTool, line: &ToolResultLine) -> PermissionResult {
    let text = text_of(&line.content);
    if line.is_error.is_true() {
        return question.deny(text);
    }
    let input = question.input.value().and_then(|input| input.read::<AskUserQuestion>().ok());
    let asked = input.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut answers = Answers::new();
    for (index, one) in asked.questions.items().iter().enumerate() {
        let own = lines.get(index).filter(|_| lines.len() == asked.questions.items().len());
        let said = own.copied().unwrap_or(&text);
        answers = answers.say(one.question.as_str().unwrap_or_default(), said);
    }
    question.answer_question(&answers)
}

fn text_of(content: &Field<LazyContent>) -> String {
    let content = content.value().and_then(|content| content.read().ok());
    content.map(|content| content.text()).unwrap_or_default()
}

/// The same answer, with the one suggestion that the oldest descriptions send taken for an update.
pub(super) fn with_suggestion(success: &Success) -> Success {
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

/// What a bad line is answered with.
pub(super) fn complaint(why: &str) -> String {
    crate::legacy::ErrorLine::of("invalid_request", why).to_line()
}
