//! The built-in tools.
//!
//! A [`Tool`] describes itself and runs. A [`Toolbox`] holds tools: it checks an input as the CLI
//! does before it runs one. What comes out, a [`ToolOutput`], has the shapes that the CLI was recorded
//! to send: a content for the model and a result for the host.
//!
//! Nothing here asks for permission; that is what [`permission`](crate::permission) is for.
//!
//! ```
//! use duologue_embedded::tools::{ToolContext, Toolbox};
//! use duologue_protocol::RawObject;
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let folder = tempfile::tempdir()?;
//! let context = ToolContext::new(folder.path());
//! let toolbox = Toolbox::standard();
//!
//! let input = RawObject::of(&json!({ "command": "echo hello" }))?;
//! let output = toolbox.run("Bash", input, &context).await;
//! assert_eq!(output.content.text(), "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod bash;
mod cancel;
mod context;
mod edit;
mod files;
mod glob;
mod grep;
mod grep_sink;
mod notebook;
mod notebook_edit;
mod output;
mod patch;
mod persist;
mod plan;
mod process;
mod question;
mod read;
mod search;
mod skill;
mod structured;
mod task_stop;
mod tasks;
mod todo;
mod toolbox;
mod validate;
mod web;
mod write;

use std::fmt::Debug;
use std::pin::Pin;

use duologue_protocol::{RawJson, RawObject};
use serde_json::Value;

pub use agent::AgentTool;
pub use bash::BashTool;
pub use cancel::Cancel;
pub use context::ToolContext;
pub use edit::EditTool;
pub use glob::GlobTool;
pub use grep::GrepTool;
pub use notebook_edit::NotebookEditTool;
pub use output::{ToolContent, ToolOutput};
pub use plan::{EnterPlanModeTool, ExitPlanModeTool};
pub use question::AskUserQuestionTool;
pub use read::ReadTool;
pub use search::ToolSearchTool;
pub use skill::SkillTool;
pub use structured::{InvalidSchema, StructuredOutputTool};
pub use task_stop::TaskStopTool;
pub use tasks::{ShellTask, ShellTaskStatus, ShellTasks, TooManyShellTasks};
pub use todo::TodoWriteTool;
pub use toolbox::Toolbox;
pub use web::{WebFetchTool, WebSearchTool};
pub use write::WriteTool;

pub(crate) use files::write_whole;
pub(crate) use process::{Capture, Group};

/// A running tool.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// What a call needs permission for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Nothing: it runs without asking.
    Nothing,
    /// To run this shell command.
    Command(String),
    /// To read this file or folder.
    Read(String),
    /// To change this file.
    Change(String),
    /// To start a sub-agent of this kind.
    Subagent(String),
    /// To read this skill.
    Skill(String),
    /// To read pages of this host.
    Web(String),
    /// An answer that only a person can give.
    Person,
    /// Unknown: it is asked about.
    Unknown,
}

/// How the calls of a sub-agent are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Category {
    /// Reads a file.
    Read,
    /// Searches files.
    Search,
    /// Runs a command.
    Command,
    /// Changes a file.
    Edit,
    /// Anything else.
    Other,
}

/// What the agent does when a tool is called, beside running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Nothing.
    Plain,
    /// It reports a command that takes long or goes to the background.
    Command,
    /// It starts a sub-agent instead of running the tool.
    Subagent,
    /// It searches the tools that there are.
    ToolSearch,
    /// It reads a skill instead of running the tool.
    Skill,
    /// It stops a background task instead of running the tool.
    TaskStop,
    /// It reads a page instead of running the tool.
    WebFetch,
    /// It searches the web instead of running the tool.
    WebSearch,
    /// It enters plan mode.
    EnterPlanMode,
    /// It leaves plan mode.
    ExitPlanMode,
    /// Its input is the result of the turn.
    StructuredOutput,
}

impl Role {
    /// Whether a running call notices an interrupt by itself.
    pub(crate) const fn stops_by_itself(self) -> bool {
        matches!(self, Self::Command | Self::Subagent)
    }
}

/// A text field of an input.
pub(crate) fn text(input: &RawObject, name: &str) -> Option<String> {
    Some(input.get(name)?.as_str()?.as_str().to_owned())
}

/// The same, empty if it is missing.
fn text_or_empty(input: &RawObject, name: &str) -> String {
    text(input, name).unwrap_or_default()
}

/// A tool that a model may call.
///
/// ```
/// use duologue_embedded::tools::{Tool, ToolContext, ToolFuture, ToolOutput};
/// use duologue_protocol::RawObject;
/// use serde_json::{Value, json};
///
/// #[derive(Debug)]
/// struct Greet;
///
/// impl Tool for Greet {
///     fn name(&self) -> &str {
///         "Greet"
///     }
///     fn description(&self) -> &str {
///         "Says hello."
///     }
///     fn input_schema(&self) -> Value {
///         json!({ "type": "object", "properties": { "who": { "type": "string" } }, "required": ["who"] })
///     }
///     fn is_read_only(&self, _: &RawObject) -> bool {
///         true
///     }
///     fn run<'a>(&'a self, input: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
///         Box::pin(async move {
///             let who = input.get("who").and_then(|who| who.as_str()).unwrap_or_default();
///             ToolOutput::text(format!("Hello, {who}!"), json!({ "who": who.as_str() }))
///         })
///     }
/// }
/// ```
pub trait Tool: Debug + Send + Sync {
    /// Its name, as the model calls it.
    fn name(&self) -> &str;

    /// What it does, for the model.
    fn description(&self) -> &str;

    /// What it takes, as JSON Schema. The top level is checked before it runs.
    fn input_schema(&self) -> Value;

    /// Whether it changes nothing, called with this input.
    fn is_read_only(&self, input: &RawObject) -> bool;

    /// Whether it may run beside others, called with this input.
    fn is_concurrency_safe(&self, input: &RawObject) -> bool {
        self.is_read_only(input)
    }

    /// What it needs permission for, called with this input. The default is asked about, and can be allowed by a rule.
    fn access(&self, input: &RawObject) -> Access {
        let _ = input;
        Access::Unknown
    }

    /// What a call does, for people.
    fn summary(&self, input: &RawObject) -> Option<String> {
        text(input, "description")
    }

    /// Its name in `init`, if hosts know it by another one.
    fn name_for_hosts(&self) -> &str {
        self.name()
    }

    /// Whether it works only if there is a person to ask.
    fn needs_person(&self) -> bool {
        false
    }

    /// Whether sub-agents have it, unless their kind lists their tools.
    fn for_subagents(&self) -> bool {
        true
    }

    /// Whether it is offered to the model.
    fn is_offered(&self) -> bool {
        true
    }

    /// How the calls of a sub-agent are counted.
    fn category(&self) -> Category {
        Category::Other
    }

    /// What the agent does when it is called, beside running it.
    fn role(&self) -> Role {
        Role::Plain
    }

    /// Adds to the input of a call what the CLI adds.
    fn complete_input(&self, input: &mut Value, context: &ToolContext) {
        let _ = (input, context);
    }

    /// The content of a result for the model, if that differs from what the host gets.
    fn content_for_model(&self, output: &ToolOutput) -> RawJson {
        output.content.to_json()
    }

    /// Whether it checks its input itself, with better messages.
    fn checks_itself(&self) -> bool {
        false
    }

    /// Runs it. Cancel safe: dropping the future stops everything that it started.
    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a>;
}
