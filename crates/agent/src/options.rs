//! How an agent is served.

use std::time::Duration;

use duologue_protocol::control::{AgentInfo, ModelInfo, SlashCommand};
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::system::InitPlugin;
use duologue_protocol::{SessionId, Text};

use crate::fault::Fault;
use crate::legacy::Dialect;

/// The version of Claude Code that agents imitate and report. Hosts decide by it what they may ask.
pub const VERSION: &str = "2.1.325";

/// How an agent is served.
///
/// ```
/// use duologue_agent::{Dialect, Options};
///
/// let options = Options::new().partial(true).lenient(true).dialect(Dialect::Legacy);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What the agent reports about itself.
    pub info: Info,
    /// MCP servers that the host serves.
    pub host_servers: Vec<Text>,
    /// Whether the host answers permission requests.
    pub prompts: bool,
    /// Whether answers are streamed while they are written.
    pub partial: bool,
    /// Whether prompts are repeated to the host.
    pub replay: bool,
    /// Whether the handshake must come first.
    pub await_initialize: bool,
    /// Whether the state of the session is reported.
    pub state_events: bool,
    /// Whether it is reported to the library that drives the agent only.
    pub hidden_state_events: bool,
    /// Whether the text of sub-agents in the foreground is sent.
    pub forward_subagent_text: bool,
    /// Whether the mode `bypassPermissions` may be set.
    pub may_bypass: bool,
    /// Whether legacy input forms are accepted.
    pub lenient: bool,
    /// The forms that lines are written in.
    pub dialect: Dialect,
    /// The fault that is injected.
    pub fault: Option<Fault>,
    /// The seed of ids; random without one.
    pub seed: Option<u64>,
    /// How long an agent may take to notice an interrupt.
    pub grace: Duration,
}

/// What an agent reports about itself in `init` and in the handshake.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// The conversation.
    pub session_id: Option<SessionId>,
    /// The version.
    pub version: Text,
    /// The model.
    pub model: Text,
    /// The working directory.
    pub cwd: Text,
    /// The permission mode.
    pub permission_mode: PermissionMode,
    /// The tools.
    pub tools: Vec<Text>,
    /// The slash commands.
    pub commands: Vec<SlashCommand>,
    /// The kinds of sub-agent.
    pub agents: Vec<AgentInfo>,
    /// The models.
    pub models: Vec<ModelInfo>,
    /// Where the API key comes from.
    pub api_key_source: Text,
    /// How answers are styled.
    pub output_style: Text,
    /// Where the transcript is.
    pub transcript_path: Text,
}

/// What the agent lists in `init` and in the handshake, and may change while it runs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The slash commands.
    pub commands: Vec<SlashCommand>,
    /// The kinds of sub-agent.
    pub agents: Vec<AgentInfo>,
    /// The names of the skills.
    pub skills: Vec<Text>,
    /// The plugins, as `init` has them.
    pub plugins: Vec<InitPlugin>,
    /// How answers are styled.
    pub output_style: Text,
    /// The names of the output styles.
    pub output_styles: Vec<Text>,
}

impl Default for Info {
    fn default() -> Self {
        Self {
            session_id: None,
            version: Text::from_static(VERSION),
            model: Text::from_static("duologue"),
            cwd: Text::from_static("."),
            permission_mode: PermissionMode::Default,
            tools: Vec::new(),
            commands: Vec::new(),
            agents: Vec::new(),
            models: Vec::new(),
            api_key_source: Text::from_static("none"),
            output_style: Text::from_static("default"),
            transcript_path: Text::default(),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            info: Info::default(),
            host_servers: Vec::new(),
            prompts: true,
            partial: false,
            replay: false,
            await_initialize: false,
            state_events: false,
            hidden_state_events: false,
            forward_subagent_text: false,
            may_bypass: false,
            lenient: false,
            dialect: Dialect::Current,
            fault: None,
            seed: None,
            grace: Duration::from_millis(250),
        }
    }
}

/// A setter for a switch.
macro_rules! switches {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {$(
        $(#[doc = $doc])*
        #[must_use]
        pub const fn $name(mut self, on: bool) -> Self {
            self.$name = on;
            self
        }
    )*};
}

impl Options {
    /// As the real CLI behaves, with a host that answers permission requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the agent reports about itself.
    #[must_use]
    pub fn info(mut self, info: Info) -> Self {
        self.info = info;
        self
    }

    /// Sets the id of the conversation.
    #[must_use]
    pub fn session_id(mut self, id: impl Into<SessionId>) -> Self {
        self.info.session_id = Some(id.into());
        self
    }

    switches! {
        /// Whether the host answers permission requests: `--permission-prompt-tool stdio`. Without it,
        /// what would be asked is denied.
        prompts,
        /// Whether answers are streamed while they are written: `--include-partial-messages`.
        partial,
        /// Whether prompts are repeated: `--replay-user-messages`.
        replay,
        /// Whether the handshake must come before all else: `--await-initialize`.
        await_initialize,
        /// Whether the state of the session is reported.
        state_events,
        /// Whether it is reported to the library that drives the agent, not to its users.
        hidden_state_events,
        /// Whether the text of sub-agents in the foreground is sent.
        forward_subagent_text,
        /// Whether the mode `bypassPermissions` may be set.
        may_bypass,
        /// Whether legacy input is accepted.
        lenient,
    }

    /// The host serves an MCP server of this name. Most hosts declare it in the handshake.
    #[must_use]
    pub fn host_server(mut self, name: impl Into<Text>) -> Self {
        self.host_servers.push(name.into());
        self
    }

    /// The forms that lines are written in.
    #[must_use]
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Injects a fault.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Where ids come from. The same seed gives the same ids; without one they are random.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How long an agent may take to notice an interrupt before its turn is dropped.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}
