//! Tools, really executed.
//!
//! A [`Tool`] says what it takes and does it. A [`Toolbox`] holds them: it checks an input as the CLI
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
mod output;
mod patch;
mod persist;
mod plan;
mod process;
mod question;
mod read;
mod search;
mod structured;
mod tasks;
mod todo;
mod toolbox;
mod validate;
mod write;

use std::fmt::Debug;
use std::pin::Pin;

use duologue_protocol::RawObject;
use serde_json::Value;

pub use agent::AgentTool;
pub use bash::BashTool;
pub use cancel::Cancel;
pub use context::ToolContext;
pub use edit::EditTool;
pub use glob::GlobTool;
pub use grep::GrepTool;
pub use output::{ToolContent, ToolOutput};
pub use plan::{EnterPlanModeTool, ExitPlanModeTool};
pub use question::AskUserQuestionTool;
pub use read::ReadTool;
pub use search::ToolSearchTool;
pub use structured::{InvalidSchema, StructuredOutputTool};
pub use tasks::{ShellTask, ShellTaskStatus, ShellTasks, TooManyShellTasks};
pub use todo::TodoWriteTool;
pub use toolbox::Toolbox;
pub use write::WriteTool;

pub(crate) use files::write_whole;
pub(crate) use glob::split as search_root;
pub(crate) use process::{Capture, Group};

/// What a tool does, while it does it.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

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

    /// Whether it looks at its input itself, and tells better what is wrong with it.
    fn checks_itself(&self) -> bool {
        false
    }

    /// Does it. To drop the future is to stop: nothing that it started goes on.
    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a>;
}
