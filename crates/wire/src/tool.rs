//! Typed views of the inputs of built-in tools.
//!
//! A tool's input travels as raw JSON, since a model may write anything. These types read it.

mod files;
mod plan;
mod question;
mod work;

pub use files::*;
pub use plan::*;
pub use question::*;
pub use work::*;

use crate::json::{Fault, RawObject};
use crate::text::Text;

/// The input of a tool call, typed where the tool is a built-in one.
///
/// ```
/// use duologue_wire::{RawObject, tool::ToolInput};
/// use serde_json::json;
///
/// let input = RawObject::of(&json!({ "command": "ls -la", "timeout": 5000 }))?;
/// let ToolInput::Bash(bash) = ToolInput::read("Bash", &input)? else { panic!() };
/// assert_eq!(bash.command.as_str(), Some("ls -la"));
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolInput {
    /// Run a command.
    Bash(Bash),
    /// Read a file.
    Read(Read),
    /// Write a file.
    Write(Write),
    /// Change a file.
    Edit(Edit),
    /// Find files by name.
    Glob(Glob),
    /// Find text in files.
    Grep(Grep),
    /// Change a notebook.
    NotebookEdit(NotebookEdit),
    /// Start a sub-agent: `Agent`, or `Task` by its older name.
    Agent(Agent),
    /// Write down what is to be done.
    TodoWrite(TodoWrite),
    /// Fetch a page.
    WebFetch(WebFetch),
    /// Search the web.
    WebSearch(WebSearch),
    /// Ask the person.
    AskUserQuestion(AskUserQuestion),
    /// Propose a plan.
    ExitPlanMode(ExitPlanMode),
    /// Another tool: an MCP tool, or one that this version does not know.
    Other {
        /// Its name.
        name: Text,
        /// Its input.
        input: RawObject,
    },
}

impl ToolInput {
    /// Reads the input of the tool of that name.
    ///
    /// # Errors
    /// If a field of a built-in tool has the wrong JSON type.
    pub fn read(name: &str, input: &RawObject) -> Result<Self, Fault> {
        Ok(match name {
            "Bash" => Self::Bash(input.read()?),
            "Read" => Self::Read(input.read()?),
            "Write" => Self::Write(input.read()?),
            "Edit" => Self::Edit(input.read()?),
            "Glob" => Self::Glob(input.read()?),
            "Grep" => Self::Grep(input.read()?),
            "NotebookEdit" => Self::NotebookEdit(input.read()?),
            "Agent" | "Task" => Self::Agent(input.read()?),
            "TodoWrite" => Self::TodoWrite(input.read()?),
            "WebFetch" => Self::WebFetch(input.read()?),
            "WebSearch" => Self::WebSearch(input.read()?),
            "AskUserQuestion" => Self::AskUserQuestion(input.read()?),
            "ExitPlanMode" => Self::ExitPlanMode(input.read()?),
            other => Self::Other { name: Text::from(other), input: input.clone() },
        })
    }
}
