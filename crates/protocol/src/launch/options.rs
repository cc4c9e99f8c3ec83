//! [`Launch`]: the options, as one table.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::control::{
    AgentDefinition, HookMatcher, Initialize, McpServerConfig, SdkMcpServerConfig,
    SdkMcpServerManifest,
};
use crate::json::RawObject;
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::Map;

use super::argv::ArgvBudget;
use super::choice::{
    Delivery, Effort, PermissionPrompts, Plugin, QuestionPreview, SettingSource, Settings, Skills,
    SystemPrompt, Thinking, Tools,
};
use super::conversation::Conversation;
use super::environment::EnvChange;

/// Makes the struct and the setters. `one`: the last value counts. `many`: each call adds to the
/// list. `listed`: each call replaces the list, and an empty list is not the same as none.
/// `plain` and `switch`: as `one`, without a conversion; a `switch` always has a value. `kept`: set by a method in `builder.rs`.
macro_rules! options {
    (@type one $ty:ty) => { Option<$ty> };
    (@type plain $ty:ty) => { Option<$ty> };
    (@type many $ty:ty) => { Vec<$ty> };
    (@type listed $ty:ty) => { Option<Vec<$ty>> };
    (@type switch $ty:ty) => { $ty };
    (@type kept $ty:ty) => { $ty };

    (@setter one $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(mut self, value: impl Into<$ty>) -> Self {
            self.$name = Some(value.into());
            self
        }
    };
    (@setter plain $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(mut self, value: $ty) -> Self {
            self.$name = Some(value);
            self
        }
    };
    (@setter many $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(mut self, values: impl IntoIterator<Item: Into<$ty>>) -> Self {
            self.$name.extend(values.into_iter().map(Into::into));
            self
        }
    };
    (@setter listed $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(mut self, values: impl IntoIterator<Item: Into<$ty>>) -> Self {
            self.$name = Some(values.into_iter().map(Into::into).collect());
            self
        }
    };
    (@setter switch $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(mut self, value: $ty) -> Self {
            self.$name = value;
            self
        }
    };
    (@setter kept $name:ident $ty:ty; $($doc:literal)*) => {};

    ($($(#[doc = $option_doc:literal])* $name:ident: $kind:ident $ty:ty),* $(,)?) => {
        /// How an agent is started: every option of the official SDKs, as data.
        ///
        /// Nothing is sent for an option that is not set, so the CLI's default applies. Options with lists add to the list, unless
        /// their documentation states that they replace it.
        ///
        /// ```
        /// use duologue_protocol::launch::{Effort, Launch, Thinking};
        ///
        /// let plan = Launch::new()
        ///     .model("opus")
        ///     .fallback_models(["sonnet", "haiku"])
        ///     .effort(Effort::High)
        ///     .thinking(Thinking::adaptive())
        ///     .max_turns(20)
        ///     .plan(None)?;
        /// assert!(plan.args.iter().any(|arg| arg == "--fallback-model=sonnet,haiku"));
        /// # Ok::<(), duologue_protocol::launch::LaunchError>(())
        /// ```
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Launch {
            $(pub(super) $name: options!(@type $kind $ty),)*
        }

        impl Launch {
            $(options!(@setter $kind $name $ty; $($option_doc)*);)*
        }
    };
}

/// All options, for a macro to make something of them: here the struct and its setters, in a host
/// the setters of its builder.
#[doc(hidden)]
#[macro_export]
macro_rules! __launch_options {
    ($then:ident) => {
        $then! {
            /// The model: a name or an alias such as `sonnet`.
            model: one String,
            /// The models to try, in this order, when the model is overloaded or not available.
            fallback_models: many String,
            /// The kind of agent that the main conversation is held with.
            agent: one String,
            agents: kept Map<AgentDefinition>,

            /// The system prompt. A text replaces the CLI's own prompt.
            system_prompt: one SystemPrompt,
            /// Keep facts about this machine out of the system prompt, so that all users can share its cache. Only with the CLI's
            /// own prompt.
            exclude_dynamic_sections: plain bool,
            /// Whether the system prompt is built once. False: for every request.
            system_prompt_snapshot: plain bool,
            /// Replaces the instructions of plan mode.
            plan_mode_instructions: one Text,

            /// Which built-in tools there are.
            tools: plain Tools,
            /// What needs no permission, as rules: `Read`, `Bash(git log *)`, `mcp__server__tool`.
            allowed_tools: many String,
            /// What is never allowed, as rules.
            disallowed_tools: many String,
            tool_aliases: kept Map<Text>,
            /// How the previews of questions are written.
            question_preview: one QuestionPreview,
            /// Which skills need no permission.
            skills: plain Skills,

            /// How the agent decides what it may do.
            permission_mode: one PermissionMode,
            /// Makes [`PermissionMode::BypassPermissions`] possible, now and later. Dangerous: the agent
            /// then does everything without asking. Refused by the CLI for the root user.
            allow_dangerously_skip_permissions: switch bool,
            /// Who answers when the agent asks for permission.
            permission_prompts: plain PermissionPrompts,
            /// An MCP tool that answers when the agent asks for permission, instead of the host.
            permission_prompt_tool: one String,
            hooks: kept Vec<(Text, HookMatcher)>,

            mcp_servers: kept Map<McpServerConfig>,
            /// Files with MCP servers, as `--mcp-config` reads them.
            mcp_config_files: many PathBuf,
            /// Use no MCP servers but those given here.
            strict_mcp_config: switch bool,
            sdk_mcp_servers: kept Map<Option<SdkMcpServerConfig>>,
            sdk_mcp_server_manifests: kept Map<SdkMcpServerManifest>,

            /// How the model thinks.
            thinking: plain Thinking,
            /// The maximum number of thinking tokens; 0 for none. The older form of [`thinking`](Self::thinking).
            max_thinking_tokens: plain u32,
            /// How hard the model works.
            effort: one Effort,
            /// How many steps a turn may take.
            max_turns: plain u32,
            /// How many dollars the session may cost.
            max_budget_usd: plain f64,
            /// The token budget of the task, as the model sees it.
            task_budget: plain u64,
            /// Beta features of the API.
            betas: many String,
            /// What the structured output must look like, as JSON Schema.
            json_schema: plain RawObject,

            /// Settings that count as if they had been given as flags.
            settings: one Settings,
            /// The sandbox of commands: merged over the `sandbox` of the [`settings`](Self::settings).
            sandbox: plain RawObject,
            /// Settings that cannot be changed.
            managed_settings: plain RawObject,
            /// How managed settings reach the agent.
            managed_settings_delivery: switch Delivery,
            /// Which settings files are read. An empty list: none, so that only what is given here
            /// counts. Replaces an older list.
            setting_sources: listed SettingSource,
            /// The folder whose project settings are trusted: an absolute path.
            project_config_root: one PathBuf,
            /// Further folders in which the agent may work.
            add_dirs: many PathBuf,
            /// Plugins to load.
            plugins: many Plugin,
            /// How plugins reach the agent.
            plugin_delivery: switch Delivery,

            /// Which conversation the agent holds.
            conversation: switch Conversation,
            /// Keep the conversation off the disk.
            no_session_persistence: switch bool,
            /// Send what is written to the transcript to the host as well.
            session_mirror: switch bool,
            /// A title for a new conversation.
            title: one Text,

            /// Stream answers while they are being written.
            partial_messages: switch bool,
            /// Report when the hooks of settings files run.
            hook_events: switch bool,
            /// Forward the messages of subagents.
            forward_subagent_text: plain bool,
            /// Suggest what to ask next.
            prompt_suggestions: plain bool,
            /// Report the progress of subagents.
            agent_progress_summaries: plain bool,
            /// Echo prompts when they are taken.
            replay_user_messages: switch bool,
            /// Report when the session becomes busy or idle.
            session_state_events: switch bool,
            /// The dialogs that the host can show. Replaces an older list.
            supported_dialog_kinds: listed Text,
            /// The host can stop single tasks, so that an interrupt spares them.
            per_task_stop_affordance: plain bool,
            /// The host stamps `client_composed` on every prompt: no `@path`, no slash commands. See
            /// [`LaunchPlan::verbatim_prompts`](crate::launch::LaunchPlan::verbatim_prompts).
            verbatim_prompts: switch bool,
            /// Keep copies of changed files, so that they can be rewound.
            file_checkpointing: switch bool,

            /// Write a debug log.
            debug: switch bool,
            /// Write the debug log to this file.
            debug_file: one PathBuf,
            /// The working directory. The host starts the process there.
            cwd: one PathBuf,
            /// The configuration directory of the agent, instead of the user's. Several agents that share one may damage it.
            config_dir: one PathBuf,
            /// The name of the program that starts the agent, for the API.
            client_app: one String,
            /// The name of the program that starts the agent, in transcripts. The CLI's default is `sdk-cli`.
            entrypoint: one String,
            /// Leave the [marks of an outer Claude Code](crate::launch::OUTER_MARKS) in the environment.
            keep_outer_marks: switch bool,
            env: kept Vec<(OsString, EnvChange)>,
            extra_args: kept Vec<(String, Option<OsString>)>,
            /// Let the CLI wait for `initialize` before it starts up. It must then be the first line.
            await_initialize: switch bool,
            /// Further fields of `initialize`, which have no option of their own. Options override them.
            initialize: plain Initialize,
            /// How long the command line may be.
            argv_budget: switch ArgvBudget,
        }
    };
}

__launch_options!(options);
