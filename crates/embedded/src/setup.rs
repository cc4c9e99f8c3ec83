//! [`Setup`]: the configuration of an embedded agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use duologue_protocol::permission::PermissionMode;
use serde_json::{Map, Value};

use super::reasoning::Reasoning;
use crate::permission::Rule;
use crate::settings::{SettingSource, Settings, SettingsPlaces};
use crate::setup_from_args;
use duologue_agent::Options;
use duologue_agent::command_line::CommandLine;

/// The configuration of an embedded agent: its flags, as data.
///
/// ```
/// use duologue_embedded::Setup;
///
/// let mut setup = Setup::new(".");
/// setup.allowed = vec!["Bash(git *)".to_owned()];
/// setup.max_turns = Some(8);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// How it is served.
    pub options: Options,
    /// Where it works.
    pub cwd: PathBuf,
    /// Where conversations and the user's settings are.
    pub config: PathBuf,
    /// Whether conversations are kept there.
    pub persists: bool,
    /// The model that is asked for.
    pub model: Option<String>,
    /// The models that answer instead, in this order, when it is overloaded.
    pub fallback_models: Vec<String>,
    /// Effort and thinking.
    pub reasoning: Reasoning,
    /// The permission mode to begin in.
    pub mode: Option<PermissionMode>,
    /// What needs no permission, as rules.
    pub allowed: Vec<String>,
    /// What is never allowed, as rules.
    pub disallowed: Vec<String>,
    /// The tool of an MCP server that is asked for permission in the host's place.
    pub permission_tool: Option<String>,
    /// The built-in tools that there are; all by default.
    pub tools: Option<Vec<String>>,
    /// Further directories.
    pub directories: Vec<PathBuf>,
    /// How often the model may be asked in a turn.
    pub max_turns: Option<u64>,
    /// How many dollars may be usage.
    pub max_budget_usd: Option<f64>,
    /// The shape that answers have.
    pub json_schema: Option<Value>,
    /// Instead of the agent's own system prompt.
    pub system_prompt: Option<String>,
    /// After the system prompt.
    pub append_system_prompt: Option<String>,
    /// Kinds of sub-agent, by name.
    pub agents: Map<String, Value>,
    /// The kind of sub-agent that the main agent itself is.
    pub agent: Option<String>,
    /// MCP servers, by name.
    pub servers: Map<String, Value>,
    /// Further settings: a file, or JSON itself.
    pub settings: Option<String>,
    /// The settings files that count.
    pub sources: Vec<SettingSource>,
    /// Which conversation it is.
    pub start: Start,
    /// The message at which a conversation is resumed.
    pub resume_at: Option<String>,
    /// The only prompt that may be lost by that.
    pub drops_turn: Option<String>,
    /// Whether the host is shown what is written to disk.
    pub mirrors: bool,
    /// Whether command hooks are reported.
    pub hook_events: bool,
    /// Whether the login status is reported in the handshake: `--enable-auth-status`.
    pub auth_status: bool,
    /// Plugins, each with whether its MCP servers count: `--plugin-dir`, `--plugin-dir-no-mcp`.
    pub plugins: Vec<(PathBuf, bool)>,
    /// Whether there are no slash commands and no skills: `--disable-slash-commands`.
    pub no_slash_commands: bool,
    /// Settings that only restrict: a file, or JSON itself.
    pub managed_settings: Option<String>,
    /// The folder whose `.claude` has the project's settings, if it is not the working directory.
    pub project_config_root: Option<PathBuf>,
    /// Whether MCP servers of settings and plugins are left out: `--strict-mcp-config`.
    pub strict_mcp_config: bool,
    /// The title of the session.
    pub name: Option<String>,
    /// Instructions for plan mode.
    pub plan_mode_instructions: Option<String>,
    /// Whether the working directory is kept out of the system prompt.
    pub exclude_dynamic: bool,
    /// Whether instructions, commands, agents, hooks and MCP servers of files are left out: `--bare`.
    pub bare: bool,
    /// Whether the next prompt is suggested after a turn.
    pub prompt_suggestions: bool,
    /// Whether changes of files are kept so that they can be undone.
    pub checkpoints: bool,
    /// Where debug messages go.
    pub debug: Debug,
    /// Rules of a project that the user does not trust. They count once the host reports that the user does.
    pub(crate) distrusted: Vec<Rule>,
}

/// Where debug messages go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Debug {
    /// Nowhere.
    #[default]
    Off,
    /// To stderr.
    Stderr,
    /// To this file.
    File(PathBuf),
}

/// Which conversation it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// A new one.
    #[default]
    New,
    /// The newest of this directory, if there is one.
    Newest {
        /// A copy of it.
        fork: bool,
    },
    /// The one of this id.
    Old {
        /// Its id.
        id: String,
        /// A copy of it.
        fork: bool,
    },
}

impl Setup {
    /// An agent that works in this directory as this command line of `claude` would have it, and keeps nothing on
    /// disk: with the options that a host would have started a process with, a test sees the same rules.
    ///
    /// ```
    /// use duologue_embedded::Setup;
    ///
    /// let setup = Setup::with_args("/tmp", ["--disallowedTools", "Bash", "--max-turns", "2"])?;
    /// assert_eq!(setup.disallowed, ["Bash"]);
    /// assert!(Setup::with_args("/tmp", ["--max-turns", "many"]).is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// If the command line is not valid.
    pub fn with_args(
        cwd: impl Into<PathBuf>,
        args: impl IntoIterator<Item: Into<OsString>>,
    ) -> Result<Self, String> {
        let text = |arg: OsString| arg.to_string_lossy().into_owned();
        let line = CommandLine::parse(args.into_iter().map(|arg| text(arg.into())))?;
        // The one variable that the CLI has to protect root.
        let var = |name: &str| (name == "IS_SANDBOX").then(|| std::env::var(name).ok())?;
        let setup =
            setup_from_args::setup(&line, &cwd.into(), &var).map_err(|error| error.message)?;
        let places = SettingsPlaces::new(setup.project_root(), &setup.config);
        setup.check_settings(&Settings::load(&places, &[], setup.settings.as_deref()))?;
        Ok(setup)
    }

    /// Reads the settings files that count.
    pub(crate) fn load_settings(&self) -> Settings {
        let places = SettingsPlaces::new(self.project_root(), &self.config);
        let mut settings = Settings::load(&places, &self.sources, self.settings.as_deref());
        if self.bare {
            settings.hooks.clear();
        }
        if let Some(managed) = &self.managed_settings {
            settings.restrict(managed, &self.cwd);
        }
        settings
    }

    /// The folder whose `.claude` has the project's settings.
    pub(crate) fn project_root(&self) -> &Path {
        self.project_config_root.as_deref().unwrap_or(&self.cwd)
    }

    /// Refuses `--settings` that cannot be read: rules in them must not be ignored.
    pub(crate) fn check_settings(&self, settings: &Settings) -> Result<(), String> {
        let (Some(given), Some(fault)) = (&self.settings, &settings.flag_fault) else {
            return Ok(());
        };
        let file = self.cwd.join(given);
        Err(match given.trim_start().starts_with('{') || file.exists() {
            true => format!("Error: Invalid settings: {fault}"),
            false => format!("Error: Settings file not found: {}", file.display()),
        })
    }

    /// An agent that works in this directory, asks its host, and keeps nothing on disk.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            options: Options::new(),
            config: cwd.join(".duologue"),
            cwd,
            persists: false,
            model: None,
            fallback_models: Vec::new(),
            reasoning: Reasoning::default(),
            mode: None,
            allowed: Vec::new(),
            disallowed: Vec::new(),
            permission_tool: None,
            tools: None,
            directories: Vec::new(),
            max_turns: None,
            max_budget_usd: None,
            json_schema: None,
            system_prompt: None,
            append_system_prompt: None,
            agents: Map::new(),
            agent: None,
            servers: Map::new(),
            settings: None,
            sources: Vec::new(),
            start: Start::New,
            resume_at: None,
            drops_turn: None,
            mirrors: false,
            hook_events: false,
            auth_status: false,
            plugins: Vec::new(),
            no_slash_commands: false,
            managed_settings: None,
            project_config_root: None,
            strict_mcp_config: false,
            name: None,
            plan_mode_instructions: None,
            exclude_dynamic: false,
            bare: false,
            prompt_suggestions: false,
            checkpoints: false,
            debug: Debug::Off,
            distrusted: Vec::new(),
        }
    }
}
