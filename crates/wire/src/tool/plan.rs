//! `ExitPlanMode`: a plan, to be approved.

use crate::text::Text;
use crate::wire::record;

record! {
    /// Propose a plan.
    ///
    /// The CLI puts the plan in from its plan file; without such a file the input is empty, even if
    /// the model wrote a plan.
    ExitPlanMode {
        /// The plan, in Markdown.
        plan: Text,
        /// Where it lies.
        plan_file_path "planFilePath": Text,
        /// What the plan will need to do.
        allowed_prompts "allowedPrompts": Vec<AllowedPrompt>,
    }
}

record! {
    /// Something that a plan will need to do.
    AllowedPrompt {
        /// The tool.
        tool: Text,
        /// What it will do.
        prompt: Text,
    }
}
