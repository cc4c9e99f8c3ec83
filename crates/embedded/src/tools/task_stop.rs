//! `TaskStop`: stops what runs in the background.

use duologue_protocol::RawObject;
use serde_json::{Value, json};

use super::{Access, Role, Tool, ToolContext, ToolFuture, ToolOutput, text};

/// Stops a background task.
///
/// It stops commands. The agent, which also has the sub-agents, runs it itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TaskStopTool;

impl TaskStopTool {
    /// Its name.
    pub const NAME: &'static str = "TaskStop";

    /// The task that an input names.
    pub(crate) fn task(input: &RawObject) -> String {
        text(input, "task_id").or_else(|| text(input, "shell_id")).unwrap_or_default()
    }

    /// The task does not exist.
    pub(crate) fn unknown(id: &str) -> ToolOutput {
        ToolOutput::refused(format!("No task found with ID: {id}"))
    }

    /// The task was stopped.
    pub(crate) fn stopped(id: &str, kind: &str, what: &str) -> ToolOutput {
        let message = format!("Successfully stopped task: {id} ({what})");
        let result =
            json!({ "message": message, "task_id": id, "task_type": kind, "command": what });
        ToolOutput::text(result.to_string(), result)
    }
}

impl Tool for TaskStopTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Stops a background task by its id."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "task_id": { "type": "string", "description": "The ID of the background task to stop" },
                "shell_id": { "type": "string", "description": "Deprecated: use task_id instead" },
            },
            "additionalProperties": false,
        })
    }

    fn access(&self, _: &RawObject) -> Access {
        Access::Nothing
    }

    fn role(&self) -> Role {
        Role::TaskStop
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let id = Self::task(&input);
            let task = context.tasks().running().into_iter().find(|task| task.id == id);
            match task.filter(|_| context.tasks().stop(&id)) {
                Some(task) => Self::stopped(&id, "local_bash", &task.command),
                None => Self::unknown(&id),
            }
        })
    }
}
