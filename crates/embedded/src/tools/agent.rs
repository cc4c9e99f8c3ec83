//! `Agent`: what a sub-agent is started with.

use duologue_protocol::RawObject;
use serde_json::{Value, json};

use super::{Access, Role, Tool, ToolContext, ToolFuture, ToolOutput, text_or_empty};

/// Starts a sub-agent; `Task` by its older name.
///
/// This describes it to the model. Running a sub-agent takes a model: the agent does it itself, and reads
/// the input as [`Agent`](duologue_protocol::tool::Agent).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AgentTool;

impl AgentTool {
    /// Its name.
    pub const NAME: &'static str = "Agent";
}

impl Tool for AgentTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Starts a sub-agent that works on a task by itself and reports once. It does not see this \
         conversation: tell it all that it needs."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "description": { "type": "string", "description": "The task in three to five words" },
                "prompt": { "type": "string", "description": "The task for the agent to perform" },
                "subagent_type": { "type": "string", "description": "The kind of agent to use" },
                "model": { "type": "string", "description": "A model for this agent" },
                "run_in_background": { "type": "boolean", "description": "Agents run in the background unless this is false; a turn of its own tells what came of one" },
                "name": { "type": "string" },
                "team_name": { "type": "string" },
                "mode": { "type": "string" },
                "isolation": { "type": "string" },
                "max_turns": { "type": "number" },
                "resume": { "type": "string" },
            },
            "required": ["description", "prompt"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Subagent(text_or_empty(input, "subagent_type"))
    }

    fn role(&self) -> Role {
        Role::Subagent
    }

    fn for_subagents(&self) -> bool {
        false
    }

    fn name_for_hosts(&self) -> &str {
        "Task"
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        // What it does is asked for when it does it.
        true
    }

    fn run<'a>(&'a self, _: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move { ToolOutput::failed("Sub-agents cannot be started here.") })
    }
}
