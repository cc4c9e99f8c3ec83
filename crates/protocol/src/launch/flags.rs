//! The flags, and which versions support them.
//!
//! Read out of the CLIs 1.0.128, 2.0.77, 2.1.52, 2.1.197 and newer. Versions between the newest that
//! does not support a flag and the oldest that does were not tested: there the flag is passed, and the CLI decides.

use super::error::LaunchError;
use super::version::CliVersion;

/// A flag of the CLI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// As it is written: `--model`.
    pub(super) name: &'static str,
    /// The newest version that is known not to support it.
    missing_in: Option<CliVersion>,
}

impl Flag {
    /// Whether this version may support it.
    pub(super) fn supported_by(self, version: Option<&CliVersion>) -> bool {
        self.demand(version, self.name).is_ok()
    }

    /// Fails if this version does not support it.
    pub(super) fn demand(
        self,
        version: Option<&CliVersion>,
        option: &'static str,
    ) -> Result<(), LaunchError> {
        self.missing_in.map_or(Ok(()), |missing_in| newer_than(missing_in, version, option))
    }
}

/// Fails if this version is known not to support the option.
pub(super) fn newer_than(
    missing_in: CliVersion,
    version: Option<&CliVersion>,
    option: &'static str,
) -> Result<(), LaunchError> {
    match version {
        Some(&version) if version <= missing_in => {
            Err(LaunchError::Unsupported { option, version, missing_in })
        }
        _ => Ok(()),
    }
}

pub(super) const V1: CliVersion = CliVersion::new(1, 0, 128);
pub(super) const V2_0: CliVersion = CliVersion::new(2, 0, 77);
pub(super) const V2_1_52: CliVersion = CliVersion::new(2, 1, 52);
pub(super) const V2_1_197: CliVersion = CliVersion::new(2, 1, 197);

macro_rules! flags {
    (@missing) => { None };
    (@missing $version:ident) => { Some($version) };
    ($($constant:ident = $name:literal $(after $version:ident)?),* $(,)?) => {
        $(pub(super) const $constant: Flag =
            Flag { name: $name, missing_in: flags!(@missing $($version)?) };)*

        const ALL: &[&str] = &[$($name),*];
    };
}

flags! {
    ADD_DIR = "--add-dir",
    AGENT = "--agent" after V1,
    AGENTS = "--agents",
    ALLOWED_TOOLS = "--allowedTools",
    ALLOW_BYPASS = "--allow-dangerously-skip-permissions" after V1,
    APPEND_SYSTEM_PROMPT = "--append-system-prompt",
    APPEND_SYSTEM_PROMPT_FILE = "--append-system-prompt-file" after V1,
    AWAIT_INITIALIZE = "--await-initialize" after V2_1_197,
    BETAS = "--betas" after V1,
    CONTINUE = "--continue",
    DEBUG = "--debug",
    DEBUG_FILE = "--debug-file" after V2_0,
    DISALLOWED_TOOLS = "--disallowedTools",
    EFFORT = "--effort" after V2_0,
    FALLBACK_MODEL = "--fallback-model",
    FORK_SESSION = "--fork-session",
    HOOK_EVENTS = "--include-hook-events" after V2_1_52,
    INPUT_FORMAT = "--input-format",
    JSON_SCHEMA = "--json-schema" after V1,
    MANAGED_SETTINGS = "--managed-settings" after V2_1_52,
    MANAGED_SETTINGS_IN_INITIALIZE = "--managed-settings-in-initialize" after V2_1_197,
    MAX_BUDGET_USD = "--max-budget-usd" after V1,
    MAX_THINKING_TOKENS = "--max-thinking-tokens" after V1,
    MAX_TURNS = "--max-turns",
    MCP_CONFIG = "--mcp-config",
    MODEL = "--model",
    NO_SESSION_PERSISTENCE = "--no-session-persistence" after V1,
    OUTPUT_FORMAT = "--output-format",
    PARTIAL_MESSAGES = "--include-partial-messages",
    PERMISSION_MODE = "--permission-mode",
    PERMISSION_PROMPTS = "--permission-prompts" after V2_1_197,
    PERMISSION_PROMPT_TOOL = "--permission-prompt-tool",
    PLUGIN_DIR = "--plugin-dir" after V1,
    PLUGIN_DIR_NO_MCP = "--plugin-dir-no-mcp" after V2_1_52,
    PROJECT_CONFIG_ROOT = "--project-config-root" after V2_1_197,
    REPLAY_USER_MESSAGES = "--replay-user-messages",
    RESUME = "--resume",
    RESUME_DROPS_TURN = "--resume-drops-turn" after V2_1_197,
    RESUME_SESSION_AT = "--resume-session-at",
    SESSION_ID = "--session-id",
    SESSION_MIRROR = "--session-mirror" after V2_1_52,
    SETTINGS = "--settings",
    SETTING_SOURCES = "--setting-sources",
    STRICT_MCP_CONFIG = "--strict-mcp-config",
    SYSTEM_PROMPT = "--system-prompt",
    SYSTEM_PROMPT_FILE = "--system-prompt-file",
    TASK_BUDGET = "--task-budget" after V2_1_52,
    THINKING = "--thinking" after V2_0,
    THINKING_DISPLAY = "--thinking-display" after V2_1_52,
    TOOLS = "--tools" after V1,
    VERBOSE = "--verbose",
}

/// What [`Launch::extra_arg`](super::Launch::extra_arg) may not set: the protocol depends on the first
/// ones, and the others have one typed choice.
pub(super) const RESERVED: &[Flag] = &[
    INPUT_FORMAT,
    OUTPUT_FORMAT,
    VERBOSE,
    AWAIT_INITIALIZE,
    MANAGED_SETTINGS_IN_INITIALIZE,
    PERMISSION_PROMPT_TOOL,
    CONTINUE,
    FORK_SESSION,
    RESUME,
    RESUME_DROPS_TURN,
    RESUME_SESSION_AT,
    SESSION_ID,
];

/// All flags that a [`LaunchPlan`](super::LaunchPlan) may hold of its own accord.
///
/// ```
/// assert!(duologue_protocol::launch::known_flags().any(|flag| flag == "--model"));
/// ```
pub fn known_flags() -> impl Iterator<Item = &'static str> {
    ALL.iter().copied()
}
