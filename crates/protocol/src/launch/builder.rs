//! The options that take more than one value at a time.

use std::ffi::OsString;

use crate::control::{
    AgentDefinition, HookMatcher, McpServerConfig, SdkMcpServerConfig, SdkMcpServerManifest,
};
use crate::text::Text;

use super::environment::EnvChange;
use super::options::Launch;

impl Launch {
    /// Creates options with nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A kind of sub-agent.
    ///
    /// ```
    /// use duologue_protocol::control::AgentDefinition;
    /// use duologue_protocol::launch::Launch;
    ///
    /// let critic = AgentDefinition::new().description("Finds faults").prompt("Find faults.");
    /// let plan = Launch::new().define_agent("critic", critic).plan(None)?;
    /// assert!(plan.initialize.agents.value().unwrap().get("critic").is_some());
    /// # Ok::<(), duologue_protocol::launch::LaunchError>(())
    /// ```
    #[must_use]
    pub fn define_agent(mut self, name: impl Into<Text>, agent: AgentDefinition) -> Self {
        self.agents.insert(name, agent);
        self
    }

    /// Runs the second tool when the model calls the first.
    #[must_use]
    pub fn tool_alias(mut self, called: impl Into<Text>, meant: impl Into<Text>) -> Self {
        self.tool_aliases.insert(called, meant.into());
        self
    }

    /// Callbacks of the host for an event such as `PreToolUse`.
    ///
    /// A matcher that blocks on failure needs a CLI with `hook_on_failure_supported` in its answer to
    /// `initialize`: older ones ignore it.
    ///
    /// ```
    /// use duologue_protocol::CallbackId;
    /// use duologue_protocol::control::HookMatcher;
    /// use duologue_protocol::launch::Launch;
    ///
    /// let matcher = HookMatcher::new()
    ///     .matcher("Bash")
    ///     .hook_callback_ids([CallbackId::from("hook_0")])
    ///     .timeout(30u32);
    /// let plan = Launch::new().hook("PreToolUse", matcher).plan(None)?;
    /// assert!(plan.initialize.hooks.value().unwrap().get("PreToolUse").is_some());
    /// # Ok::<(), duologue_protocol::launch::LaunchError>(())
    /// ```
    #[must_use]
    pub fn hook(mut self, event: impl Into<Text>, matcher: HookMatcher) -> Self {
        self.hooks.push((event.into(), matcher));
        self
    }

    /// An MCP server that the agent starts or reaches.
    ///
    /// ```
    /// use duologue_protocol::control::McpServerConfig;
    /// use duologue_protocol::launch::Launch;
    ///
    /// let plan = Launch::new()
    ///     .mcp_server("files", McpServerConfig::stdio("mcp-files", ["--root", "."]))
    ///     .mcp_server("docs", McpServerConfig::http("https://docs.example/mcp"))
    ///     .plan(None)?;
    /// assert!(plan.args[3].to_str().unwrap().starts_with("--mcp-config={"));
    /// # Ok::<(), duologue_protocol::launch::LaunchError>(())
    /// ```
    #[must_use]
    pub fn mcp_server(mut self, name: impl Into<Text>, server: McpServerConfig) -> Self {
        self.mcp_servers.insert(name, server);
        self
    }

    /// An MCP server that the host serves, by `mcp_message` requests.
    #[must_use]
    pub fn sdk_mcp_server(mut self, name: impl Into<Text>) -> Self {
        let name = name.into();
        if self.sdk_mcp_servers.get(&name).is_none() {
            self.sdk_mcp_servers.insert(name, None::<SdkMcpServerConfig>);
        }
        self
    }

    /// An MCP server that the host serves, with settings for it.
    #[must_use]
    pub fn sdk_mcp_server_with(
        mut self,
        name: impl Into<Text>,
        config: SdkMcpServerConfig,
    ) -> Self {
        self.sdk_mcp_servers.insert(name, config);
        self
    }

    /// The handshake of an MCP server that the host serves, done beforehand. It saves round trips.
    #[must_use]
    pub fn sdk_mcp_server_manifest(
        mut self,
        name: impl Into<Text>,
        manifest: SdkMcpServerManifest,
    ) -> Self {
        self.sdk_mcp_server_manifests.insert(name, manifest);
        self
    }

    /// Sets an environment variable. It overrides other options.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), EnvChange::Set(value.into())));
        self
    }

    /// Removes a variable from the environment.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.push((name.into(), EnvChange::Remove));
        self
    }

    /// A flag that has no option of its own: `--name`. The dashes may be left out.
    #[must_use]
    pub fn extra_flag(mut self, name: impl Into<String>) -> Self {
        self.extra_args.push((name.into(), None));
        self
    }

    /// A flag with a value that has no option of its own: `--name=value`. The dashes may be left out.
    ///
    /// ```
    /// use duologue_protocol::launch::Launch;
    ///
    /// let plan = Launch::new().extra_arg("workload", "--nightly").plan(None)?;
    /// assert!(plan.args.iter().any(|arg| arg == "--workload=--nightly"));
    /// # Ok::<(), duologue_protocol::launch::LaunchError>(())
    /// ```
    #[must_use]
    pub fn extra_arg(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.extra_args.push((name.into(), Some(value.into())));
        self
    }

    /// Whether [`permission_prompts`](Self::permission_prompts) or a permission tool is set.
    pub fn has_permission_prompts(&self) -> bool {
        self.permission_prompts.is_some() || self.permission_prompt_tool.is_some()
    }

    /// The limit that [`max_budget_usd`](Self::max_budget_usd) has set.
    pub const fn budget(&self) -> Option<f64> {
        self.max_budget_usd
    }

    /// Whether a hook or a setting needs the handshake to be answered before anything is asked.
    pub fn needs_handshake(&self) -> bool {
        !self.hooks.is_empty() || !self.sdk_mcp_servers.is_empty()
    }

    /// What to start if the conversation does not exist: only
    /// [`Conversation::ResumeOrNew`](super::Conversation::ResumeOrNew) has it.
    ///
    /// ```
    /// use duologue_protocol::launch::{Conversation, Launch};
    ///
    /// let id = "6f2b1c1e-93a5-4c0e-8a51-1d5d0a7f3c11";
    /// let launch = Launch::new().conversation(Conversation::ResumeOrNew(id.into()));
    /// let plan = launch.fallback().unwrap().plan(None)?;
    /// assert!(plan.args.iter().any(|arg| *arg == *format!("--session-id={id}")));
    /// # Ok::<(), duologue_protocol::launch::LaunchError>(())
    /// ```
    #[must_use]
    pub fn fallback(&self) -> Option<Self> {
        let conversation = self.conversation.fallback()?;
        Some(self.clone().conversation(conversation))
    }
}
