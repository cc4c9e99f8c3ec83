//! [`Toolbox`]: the tools there are.

use std::sync::Arc;

use duologue_agent::canonical_tool_name;
use duologue_protocol::RawObject;
use serde_json::{Value, json};

use super::{
    AgentTool, AskUserQuestionTool, BashTool, EditTool, EnterPlanModeTool, ExitPlanModeTool,
    GlobTool, GrepTool, NotebookEditTool, ReadTool, Role, SkillTool, TaskStopTool, TodoWriteTool,
    Tool, ToolContext, ToolOutput, WebFetchTool, WebSearchTool, WriteTool, validate,
};

/// The tools there are, by name.
///
/// ```
/// use duologue_embedded::tools::Toolbox;
///
/// let toolbox = Toolbox::standard().only(["Read", "Grep"]);
/// assert_eq!(toolbox.names().collect::<Vec<_>>(), ["Grep", "Read"]);
/// assert_eq!(toolbox.definitions()[0]["name"], "Grep");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// All that this crate has, but `StructuredOutput`, which needs a schema.
    pub fn standard() -> Self {
        Self::new()
            .with(AgentTool)
            .with(AskUserQuestionTool)
            .with(BashTool)
            .with(EditTool)
            .with(EnterPlanModeTool)
            .with(ExitPlanModeTool)
            .with(GlobTool)
            .with(GrepTool)
            .with(NotebookEditTool)
            .with(ReadTool)
            .with(SkillTool)
            .with(TaskStopTool)
            .with(TodoWriteTool)
            .with(WebFetchTool)
            .with(WebSearchTool)
            .with(WriteTool)
    }

    /// The same, and this tool, in place of one of the same name.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.retain(|other| other.name() != tool.name());
        self.tools.push(Arc::new(tool));
        self
    }

    /// Only the tools of these names, as `--tools` selects them.
    #[must_use]
    pub fn only<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().map(canonical_tool_name).collect();
        self.tools.retain(|tool| names.contains(&tool.name()));
        self
    }

    /// Only the tools for which this is true.
    #[must_use]
    pub fn only_those(mut self, keep: impl Fn(&dyn Tool) -> bool) -> Self {
        self.tools.retain(|tool| keep(tool.as_ref()));
        self
    }

    /// Whether a tool has this role.
    pub fn has_role(&self, role: Role) -> bool {
        self.tools.iter().any(|tool| tool.role() == role)
    }

    /// All but the tool of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.tools.retain(|tool| tool.name() != canonical_tool_name(name));
        self
    }

    /// The tool of this name. `Task` is the older name of `Agent`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == canonical_tool_name(name))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }

    /// The tools as the Messages API takes them.
    pub fn definitions(&self) -> Vec<Value> {
        let definition = |tool: &Arc<dyn Tool>| {
            json!({
                "name": tool.name(),
                "description": tool.description(),
                "input_schema": tool.input_schema(),
            })
        };
        self.tools.iter().map(definition).collect()
    }

    /// What is wrong with a call, if anything: no such tool, or an input that it does not take.
    pub fn check(&self, name: &str, input: &RawObject) -> Option<ToolOutput> {
        match self.get(name) {
            None => Some(ToolOutput::no_such_tool(name)),
            Some(tool) => validate::check(tool.as_ref(), input),
        }
    }

    /// Checks the input, then runs the tool of this name.
    pub async fn run(&self, name: &str, input: RawObject, context: &ToolContext) -> ToolOutput {
        if let Some(wrong) = self.check(name, &input) {
            return wrong;
        }
        match self.get(name) {
            Some(tool) => tool.run(input, context).await,
            None => ToolOutput::no_such_tool(name),
        }
    }
}
