//! The values that options take.

use std::path::PathBuf;

use crate::json::RawObject;
use crate::wire::words;

/// A separator between the texts of a [`SystemPrompt::Custom`]: the texts before it are the same for every session and may
/// be cached, those after it are not.
pub const SYSTEM_PROMPT_DYNAMIC_BOUNDARY: &str = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__";

/// The system prompt.
///
/// The official SDKs send an *empty* prompt where none is given. Here that is
/// [`Empty`](Self::Empty), and the default is the CLI's own.
///
/// ```
/// use duologue_protocol::launch::{Launch, SystemPrompt};
///
/// let plan = Launch::new().system_prompt("You are a poet.").plan(None)?;
/// assert_eq!(plan.initialize.system_prompt.items(), ["You are a poet."]);
/// let plan = Launch::new().system_prompt(SystemPrompt::Append("Be brief.".into())).plan(None)?;
/// assert_eq!(plan.initialize.append_system_prompt.as_str(), Some("Be brief."));
/// # Ok::<(), duologue_protocol::launch::LaunchError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemPrompt {
    /// The CLI's own.
    #[default]
    Default,
    /// The CLI's own, followed by this text.
    Append(String),
    /// The CLI's own, followed by the content of this file.
    AppendFile(PathBuf),
    /// These texts instead. See [`SYSTEM_PROMPT_DYNAMIC_BOUNDARY`].
    Custom(Vec<String>),
    /// The content of this file instead.
    File(PathBuf),
    /// Nothing.
    Empty,
}

impl From<&str> for SystemPrompt {
    fn from(text: &str) -> Self {
        Self::Custom(vec![text.to_owned()])
    }
}

impl From<String> for SystemPrompt {
    fn from(text: String) -> Self {
        Self::Custom(vec![text])
    }
}

/// Which built-in tools there are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tools {
    /// Those that the CLI has by default.
    Default,
    /// These.
    List(Vec<String>),
    /// None.
    None,
}

/// Which skills may be used without asking.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skills {
    /// All of them.
    All,
    /// These: the name of the skill's folder, or `plugin:skill`.
    List(Vec<String>),
}

/// Who answers when the agent asks for permission.
///
/// If nothing is chosen, calls that need permission are denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionPrompts {
    /// The host, by `can_use_tool` requests. Questions and plans need it, too.
    Host,
    /// Calls that need permission are denied.
    Deny,
}

/// How the model thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// As much as it finds right.
    Adaptive {
        /// How it is shown.
        display: Option<ThinkingDisplay>,
    },
    /// At most this many tokens.
    Budget {
        /// How many.
        tokens: u32,
        /// How it is shown.
        display: Option<ThinkingDisplay>,
    },
    /// Not at all.
    Disabled,
}

impl Thinking {
    /// As much as it finds right.
    pub const fn adaptive() -> Self {
        Self::Adaptive { display: None }
    }

    /// At most this many tokens.
    pub const fn budget(tokens: u32) -> Self {
        Self::Budget { tokens, display: None }
    }

    /// The same, shown this way. Thinking that is off is not shown.
    #[must_use]
    pub fn display(mut self, how: impl Into<ThinkingDisplay>) -> Self {
        if let Self::Adaptive { display } | Self::Budget { display, .. } = &mut self {
            *display = Some(how.into());
        }
        self
    }
}

words! {
    /// How thinking is shown.
    ThinkingDisplay {
        /// In short.
        Summarized = "summarized",
        /// Not at all.
        Omitted = "omitted",
    }
}

words! {
    /// How hard the model works.
    Effort {
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Very much.
        Xhigh = "xhigh",
        /// As much as it can.
        Max = "max",
    }
}

words! {
    /// Which settings files are read.
    SettingSource {
        /// The user's.
        User = "user",
        /// The project's.
        Project = "project",
        /// The project's, not checked in.
        Local = "local",
    }
}

words! {
    /// How the previews of questions are written.
    QuestionPreview {
        /// As Markdown.
        Markdown = "markdown",
        /// As HTML.
        Html = "html",
    }
}

/// Settings that count as if they had been given as flags.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Settings {
    /// These.
    Object(RawObject),
    /// Those in this file.
    File(PathBuf),
}

impl From<RawObject> for Settings {
    fn from(settings: RawObject) -> Self {
        Self::Object(settings)
    }
}

/// A plugin on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plugin {
    /// Its folder.
    pub path: PathBuf,
    /// Do not look for MCP servers in it.
    pub skip_mcp_discovery: bool,
}

impl Plugin {
    /// The plugin in this folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), skip_mcp_discovery: false }
    }

    /// The same, without looking for MCP servers in it.
    #[must_use]
    pub const fn without_mcp(mut self) -> Self {
        self.skip_mcp_discovery = true;
        self
    }
}

/// How plugins or managed settings reach the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// As flags.
    #[default]
    Flags,
    /// In `initialize`, which must then be the first line: see
    /// [`LaunchPlan::initialize_first`](super::LaunchPlan::initialize_first).
    Initialize,
}
