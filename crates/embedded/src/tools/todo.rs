//! `TodoWrite`: writes down what is to be done.

use duologue_protocol::RawObject;
use serde_json::{Value, json};

use super::{Access, Tool, ToolContext, ToolFuture, ToolOutput};

/// Writes down what is to be done.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TodoWriteTool;

impl TodoWriteTool {
    /// Its name.
    pub const NAME: &'static str = "TodoWrite";
}

impl Tool for TodoWriteTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Writes down what is to be done, in place of the former list. Exactly one item is in progress \
         while you work."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "description": "The updated todo list",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": { "type": "string", "minLength": 1 },
                            "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                            "activeForm": { "type": "string", "minLength": 1 },
                        },
                        "required": ["content", "status", "activeForm"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["todos"],
            "additionalProperties": false,
        })
    }

    fn access(&self, _: &RawObject) -> Access {
        Access::Nothing
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        // It changes nothing but the agent's own notes.
        true
    }

    fn is_concurrency_safe(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let todos = input.get("todos").and_then(|todos| todos.to::<Vec<Value>>().ok());
            let new = todos.unwrap_or_default();
            let done = new.iter().all(|todo| todo["status"] == "completed");
            let old = context.set_todos(if done { Vec::new() } else { new.clone() });
            ToolOutput::text(
                "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable",
                json!({ "oldTodos": old, "newTodos": new }),
            )
        })
    }
}
