//! What these tests share.

use std::path::Path;

use duologue_embedded::permission::{Permissions, Verdict};
use duologue_embedded::tools::{ToolContext, ToolOutput, Toolbox};
use duologue_protocol::RawObject;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder to work in, and a context for it.
pub(crate) fn place() -> (TempDir, ToolContext) {
    let folder = tempfile::tempdir().unwrap();
    let context = ToolContext::new(folder.path());
    (folder, context)
}

/// Runs a tool.
pub(crate) async fn run(context: &ToolContext, tool: &str, input: Value) -> ToolOutput {
    Toolbox::standard().run(tool, RawObject::of(&input).unwrap(), context).await
}

/// What the host gets.
pub(crate) fn result(output: &ToolOutput) -> Value {
    output.tool_use_result.to_value().unwrap()
}

/// Judges a command in the root of the session.
pub(crate) fn judge_command(permissions: &Permissions, root: &Path, command: &str) -> Verdict {
    judge(permissions, root, "Bash", &json!({ "command": command }))
}

/// Judges a call.
pub(crate) fn judge(permissions: &Permissions, root: &Path, tool: &str, input: &Value) -> Verdict {
    let input = RawObject::of(input).unwrap();
    match Toolbox::standard().get(tool) {
        Some(tool) => permissions.judge(tool.as_ref(), &input, root),
        None => permissions.judge_external(tool, &input, root),
    }
}
