//! How an agent is started: every option as data, and what it becomes.
//!
//! A [`Launch`] collects options. [`Launch::plan`] turns them into a [`LaunchPlan`]: arguments,
//! changes of the environment, the [`Initialize`](crate::control::Initialize) request, and files
//! for what is too long for a command line. Nothing is started here: a host does that.
//!
//! ```
//! use duologue_protocol::launch::{CliVersion, Conversation, Launch, PermissionPrompts};
//!
//! let launch = Launch::new()
//!     .model("sonnet")
//!     .permission_prompts(PermissionPrompts::Host)
//!     .allowed_tools(["Read", "Bash(git log *)"])
//!     .conversation(Conversation::Continue);
//! let version = CliVersion::parse("2.1.52 (Claude Code)");
//! let plan = launch.plan(version.as_ref())?;
//! assert!(plan.args.iter().any(|arg| arg == "--model=sonnet"));
//! assert!(plan.args.iter().any(|arg| arg == "--continue"));
//! # Ok::<(), duologue_protocol::launch::LaunchError>(())
//! ```
//!
//! # Guarantees
//!
//! - A value of the caller is one argument, `--flag=value`, and never becomes a flag.
//!   [`Launch::extra_flag`] and [`Launch::extra_arg`] are the deliberate exceptions.
//! - Options that contradict each other, or that the CLI does not support, are refused before anything is started. The error
//!   names the option.
//! - An option is passed in the way that the CLI version supports: a flag, the environment or `initialize`. Without a version,
//!   in the newest way.
//! - A value that is too long for a command line is passed in `initialize` or in a file.
//! - The variables that an outer Claude Code leaves in the environment are removed.

mod argv;
mod builder;
mod check;
mod choice;
mod conversation;
mod environment;
mod error;
mod flags;
mod handshake;
mod options;
mod plan;
mod shadowed;
mod to_flags;
mod version;

pub use argv::ArgvBudget;
pub use choice::{
    Delivery, Effort, PermissionPrompts, Plugin, QuestionPreview, SYSTEM_PROMPT_DYNAMIC_BOUNDARY,
    SettingSource, Settings, Skills, SystemPrompt, Thinking, ThinkingDisplay, Tools,
};
pub use conversation::{Conversation, Cut};
pub use environment::{EnvChange, OUTER_MARKS};
pub use error::LaunchError;
pub use flags::known_flags;
pub use options::Launch;
pub use plan::{LaunchPlan, PlannedFile};
pub use shadowed::Shadowed;
pub use version::CliVersion;
