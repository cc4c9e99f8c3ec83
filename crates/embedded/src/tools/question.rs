//! `AskUserQuestion`: questions to the person.

use duologue_protocol::tool::{Answer, AskUserQuestion};
use duologue_protocol::{RawObject, Wire};
use serde_json::{Value, json};

use super::{Access, Tool, ToolContext, ToolFuture, ToolOutput};

/// Asks the person.
///
/// The asking is a request for permission: the answers come with the input that the host allows.
/// Running the tool puts them into words.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AskUserQuestionTool;

impl AskUserQuestionTool {
    /// Its name.
    pub const NAME: &'static str = "AskUserQuestion";
}

impl Tool for AskUserQuestionTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Asks the user one to four questions with two to four options each. The user may always \
         answer something else."
    }

    fn input_schema(&self) -> Value {
        let option = json!({
            "type": "object",
            "properties": {
                "label": { "type": "string" },
                "description": { "type": "string" },
                "preview": { "type": "string" },
            },
            "required": ["label", "description"],
        });
        json!({
            "type": "object",
            "properties": {
                "questions": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 4,
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": { "type": "string" },
                            "header": { "type": "string", "description": "At most 12 characters" },
                            "options": { "type": "array", "minItems": 2, "maxItems": 4, "items": option },
                            "multiSelect": { "type": "boolean", "default": false },
                        },
                        "required": ["question", "header", "options"],
                    },
                },
                "answers": { "type": "object" },
                "annotations": { "type": "object" },
                "metadata": { "type": "object" },
            },
            "required": ["questions"],
        })
    }

    fn access(&self, _: &RawObject) -> Access {
        Access::Person
    }

    fn needs_person(&self) -> bool {
        true
    }

    fn for_subagents(&self) -> bool {
        false
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn run<'a>(&'a self, input: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            match input.read::<AskUserQuestion>() {
                Ok(asked) => answered(asked),
                Err(_) => ToolOutput::unparsable(Self::NAME, input.as_json()),
            }
        })
    }
}

fn answered(asked: AskUserQuestion) -> ToolOutput {
    let mut told = Vec::new();
    for (question, answer) in asked.answers.value().into_iter().flat_map(|map| map.iter()) {
        let answer = match answer {
            Answer::Text(text) => text.as_str().to_owned(),
            // The CLI joins a list so, without spaces.
            Answer::List(labels) => labels.iter().map(|l| l.as_str()).collect::<Vec<_>>().join(","),
        };
        let mut line = format!("\"{question}\"=\"{answer}\"");
        let annotation = asked.annotations.value().and_then(|map| map.get(question.as_str()));
        if let Some(preview) = annotation.and_then(|annotation| annotation.preview.as_str()) {
            line.push_str(&format!(" selected preview:\n{preview}"));
        }
        if let Some(notes) = annotation.and_then(|annotation| annotation.notes.as_str()) {
            line.push_str(&format!(" user notes: {notes}"));
        }
        told.push(line);
    }
    let content = match asked.response.as_str() {
        Some(response) if told.is_empty() => format!("The user responded: {response}"),
        _ if told.is_empty() => "The user did not answer the questions.".to_owned(),
        _ => format!(
            "Your questions have been answered: {}. You can now continue with these answers in mind.",
            told.join(", ")
        ),
    };
    let mut result = AskUserQuestion::new();
    result.questions = asked.questions;
    result.answers = asked.answers.into_value().unwrap_or_default().into();
    result.annotations = asked.annotations;
    result.response = asked.response;
    result.afk_timeout_ms = asked.afk_timeout_ms;
    let result = serde_json::from_str::<Value>(&result.to_json()).unwrap_or(Value::Null);
    ToolOutput::text(content, result)
}
