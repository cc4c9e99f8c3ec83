//! Every option of [`Launch`] as a method of the builder, from the same table.

use std::ffi::OsString;
use std::path::PathBuf;

use duologue_protocol::control::{
    AgentDefinition, Initialize, McpServerConfig, SdkMcpServerConfig,
};
use duologue_protocol::launch::{
    ArgvBudget, Conversation, Delivery, Effort, PermissionPrompts, Plugin, QuestionPreview,
    SettingSource, Settings, Skills, SystemPrompt, Thinking, Tools,
};
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::{RawObject, Text};

use super::builder::SessionBuilder;

macro_rules! forward {
    (@setter one $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(self, value: impl Into<$ty>) -> Self {
            self.map_launch(|launch| launch.$name(value))
        }
    };
    (@setter plain $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(self, value: $ty) -> Self {
            self.map_launch(|launch| launch.$name(value))
        }
    };
    (@setter many $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(self, values: impl IntoIterator<Item: Into<$ty>>) -> Self {
            self.map_launch(|launch| launch.$name(values))
        }
    };
    (@setter listed $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(self, values: impl IntoIterator<Item: Into<$ty>>) -> Self {
            self.map_launch(|launch| launch.$name(values))
        }
    };
    (@setter switch $name:ident $ty:ty; $($doc:literal)*) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(self, value: $ty) -> Self {
            self.map_launch(|launch| launch.$name(value))
        }
    };
    (@setter kept $name:ident $ty:ty; $($doc:literal)*) => {};

    ($($(#[doc = $doc:literal])* $name:ident: $kind:ident $ty:ty),* $(,)?) => {
        /// # Launch options
        impl SessionBuilder {
            $(forward!(@setter $kind $name $ty; $($doc)*);)*
        }
    };
}

duologue_protocol::__launch_options!(forward);

/// # Launch options with more than one value
impl SessionBuilder {
    /// Defines a kind of sub-agent.
    #[must_use]
    pub fn define_agent(self, name: impl Into<Text>, agent: AgentDefinition) -> Self {
        self.map_launch(|launch| launch.define_agent(name, agent))
    }

    /// Sets an alias: when the model calls the first tool, the second one runs.
    #[must_use]
    pub fn tool_alias(self, called: impl Into<Text>, meant: impl Into<Text>) -> Self {
        self.map_launch(|launch| launch.tool_alias(called, meant))
    }

    /// Adds an MCP server that the agent starts or connects to. For one in this program, see
    /// [`mcp`](Self::mcp).
    #[must_use]
    pub fn mcp_server(self, name: impl Into<Text>, server: McpServerConfig) -> Self {
        self.map_launch(|launch| launch.mcp_server(name, server))
    }

    /// Sets the settings of an MCP server in this program, by its name.
    #[must_use]
    pub fn mcp_settings(self, name: impl Into<Text>, config: SdkMcpServerConfig) -> Self {
        self.map_launch(|launch| launch.sdk_mcp_server_with(name, config))
    }

    /// Sets a variable of the agent's environment.
    #[must_use]
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.map_launch(|launch| launch.env(name, value))
    }

    /// Removes a variable from the agent's environment.
    #[must_use]
    pub fn env_remove(self, name: impl Into<OsString>) -> Self {
        self.map_launch(|launch| launch.env_remove(name))
    }

    /// Adds a flag that has no method here: `--name`.
    #[must_use]
    pub fn extra_flag(self, name: impl Into<String>) -> Self {
        self.map_launch(|launch| launch.extra_flag(name))
    }

    /// Adds a flag with a value that has no method here: `--name=value`.
    #[must_use]
    pub fn extra_arg(self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.map_launch(|launch| launch.extra_arg(name, value))
    }
}
