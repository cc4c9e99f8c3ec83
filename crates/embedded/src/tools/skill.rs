//! `Skill`: instructions that the model reads when it needs them.

use duologue_protocol::RawObject;
use serde_json::{Value, json};

use super::{Access, Role, Tool, ToolContext, ToolFuture, ToolOutput, text_or_empty};

/// Reads a skill.
///
/// This describes it to the model. The agent has the skills, and runs it itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SkillTool;

impl SkillTool {
    /// Its name.
    pub const NAME: &'static str = "Skill";
}

impl Tool for SkillTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Reads a skill: instructions for a kind of work. The skills that there are were listed."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "skill": { "type": "string", "description": "The name of the skill" },
                "args": { "type": "string", "description": "Its arguments" },
            },
            "required": ["skill"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Skill(text_or_empty(input, "skill").trim_start_matches('/').to_owned())
    }

    fn role(&self) -> Role {
        Role::Skill
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, _: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move { ToolOutput::failed("Skills cannot be read here.") })
    }
}
