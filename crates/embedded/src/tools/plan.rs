//! `EnterPlanMode` and `ExitPlanMode`.

use duologue_protocol::{RawObject, tool};
use serde_json::{Value, json};

use super::{Access, Role, Tool, ToolContext, ToolFuture, ToolOutput};

const ENTERED: &str = "Entered plan mode. You should now focus on exploring the codebase and designing an implementation approach.";

const WHAT_TO_DO: &str = "In plan mode, you should:
1. Thoroughly explore the codebase to understand existing patterns
2. Identify similar features and architectural approaches
3. Consider multiple approaches and their trade-offs
4. Use AskUserQuestion if you need to clarify the approach
5. Design a concrete implementation strategy
6. When ready, use ExitPlanMode to present your plan for approval

Remember: DO NOT write or edit any files yet. This is a read-only exploration and planning phase.";

/// Enters plan mode. The agent changes its mode; this informs the model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EnterPlanModeTool;

impl EnterPlanModeTool {
    /// Its name.
    pub const NAME: &'static str = "EnterPlanMode";
}

impl Tool for EnterPlanModeTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Goes into plan mode: look around, write a plan, change nothing until it is approved."
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    }

    fn access(&self, _: &RawObject) -> Access {
        Access::Nothing
    }

    fn needs_person(&self) -> bool {
        true
    }

    fn for_subagents(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::EnterPlanMode
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn is_concurrency_safe(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, _: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            ToolOutput::text(format!("{ENTERED}\n\n{WHAT_TO_DO}"), json!({ "message": ENTERED }))
        })
    }
}

/// Leaves plan mode, once the person has approved the plan. The agent changes its mode; this informs
/// the model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ExitPlanModeTool;

impl ExitPlanModeTool {
    /// Its name.
    pub const NAME: &'static str = "ExitPlanMode";
}

impl Tool for ExitPlanModeTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Presents the plan for approval, and leaves plan mode once it is approved."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "plan": { "type": "string", "description": "The plan, in Markdown" },
                "allowedPrompts": { "type": "array" },
            },
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

    fn role(&self) -> Role {
        Role::ExitPlanMode
    }

    fn complete_input(&self, input: &mut Value, context: &ToolContext) {
        if !input.is_object() {
            return;
        }
        let file = context.plan_file();
        let plan = file.and_then(|file| Some((std::fs::read_to_string(&file).ok()?, file)));
        if let Some((plan, file)) = plan {
            input["plan"] = json!(plan);
            input["planFilePath"] = json!(file.to_string_lossy());
        }
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        false
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(input) = input.read::<tool::ExitPlanMode>() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let file = context.plan_file().map(|path| path.to_string_lossy().into_owned());
            let file = input.plan_file_path.as_str().map(str::to_owned).or(file);
            let plan = input.plan.as_str().filter(|plan| !plan.trim().is_empty());
            let mut result = json!({ "plan": plan, "isAgent": false });
            if let Some(file) = &file {
                result["filePath"] = json!(file);
            }
            let content = match plan {
                None => "User has approved exiting plan mode. You can now proceed.".to_owned(),
                Some(plan) => {
                    let saved = file.map_or_else(String::new, |file| {
                        format!("Your plan has been saved to: {file}\nYou can refer back to it if needed during implementation.\n\n")
                    });
                    format!(
                        "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n{saved}## Approved Plan:\n{plan}"
                    )
                }
            };
            ToolOutput::text(content, result)
        })
    }
}
