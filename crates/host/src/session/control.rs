//! Every control request, as a method.

use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::*;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::{Map, Number, RawJson, RawObject, Text, Uuid};

use crate::error::Error;

use super::inner::Inner;

/// Sends control requests to the agent: at any time, also during a turn, from any task.
///
/// Each request has a timeout of a minute; [`within`](Self::within) changes that. When the agent goes away,
/// all open requests fail at once, with the end of its stderr. If the future of a request is dropped, the
/// request is cancelled.
///
/// ```no_run
/// # async fn example(session: duologue::Session) -> Result<(), duologue::Error> {
/// use std::time::Duration;
///
/// let control = session.control();
/// control.set_model("haiku").await?;
/// let usage = control.within(Duration::from_secs(5)).get_context_usage().await?;
/// println!("{:?} tokens", usage.total_tokens);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Control {
    pub(crate) inner: Arc<Inner>,
    pub(crate) timeout: Option<Duration>,
}

impl Control {
    /// Returns a handle with another timeout for each request.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Self {
        Self { inner: Arc::clone(&self.inner), timeout: Some(timeout) }
    }

    /// Returns a handle without a timeout.
    #[must_use]
    pub fn without_limit(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), timeout: None }
    }

    /// Sends a request by its type, for what has no method here.
    ///
    /// Not cancel safe. If the future is dropped, the request is withdrawn, but may have taken effect.
    ///
    /// # Errors
    /// If the agent refuses, does not answer in time, or is gone.
    pub async fn ask<R>(&self, request: R) -> Result<R::Reply, Error>
    where
        R: ControlRequest + Into<HostRequest>,
    {
        self.inner.request(request, self.timeout).await
    }

    /// Sends a request that has no type here: a subtype and its fields.
    ///
    /// Not cancel safe, as [`ask`](Self::ask).
    ///
    /// # Errors
    /// If the fields are not a JSON object, or as [`ask`](Self::ask).
    pub async fn request(
        &self,
        subtype: &str,
        fields: &serde_json::Value,
    ) -> Result<Option<RawJson>, Error> {
        let malformed = |fault| Error::Malformed { subtype: subtype.to_owned(), fault };
        let mut all = serde_json::Map::new();
        all.insert("subtype".to_owned(), subtype.into());
        match fields {
            serde_json::Value::Object(fields) => all.extend(fields.clone()),
            serde_json::Value::Null => {}
            other => {
                RawObject::of(other).map_err(malformed)?;
            }
        }
        let request = RawObject::of(&all).map_err(malformed)?;
        let success = self.inner.request_raw(subtype, request, self.timeout).await?;
        Ok(success.response.value().cloned())
    }
}

/// Methods that create a request and send it.
macro_rules! methods {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident($($arg:ident: $ty:ty),*) -> $reply:ty = $request:expr;
    )*) => {
        impl Control {$(
            $(#[doc = $doc])*
            ///
            /// Not cancel safe, as [`ask`](Self::ask).
            ///
            /// # Errors
            /// If the agent refuses, does not answer in time, or is gone.
            pub async fn $name(&self $(, $arg: $ty)*) -> Result<$reply, Error> {
                self.ask($request).await
            }
        )*}
    };
}

methods! {
    /// Sends the handshake again, and returns what the agent supports.
    reinitialize() -> InitializeReply = Initialize::new();
    /// Changes the permission mode.
    set_permission_mode(mode: PermissionMode) -> SetPermissionModeReply =
        SetPermissionMode::new().mode(mode);
    /// Changes the model.
    set_model(model: impl Into<Text>) -> SetModelReply = SetModel::new().model(model);
    /// Changes the model back to the default.
    reset_model() -> SetModelReply = SetModel::new();
    /// Changes how many tokens the model may use for thinking; `None` removes the limit.
    set_max_thinking_tokens(tokens: Option<u32>) -> Ack = {
        let mut request = SetMaxThinkingTokens::new();
        request.max_thinking_tokens = duologue_protocol::Field::from(tokens.map(Number::from)).or_null();
        request
    };
    /// Changes settings as if they were given as flags. A null clears a setting.
    apply_flag_settings(settings: RawObject) -> Ack = ApplyFlagSettings::new().settings(settings);
    /// Writes settings to a file: `localSettings` or `userSettings`.
    update_settings(source: impl Into<Text>, settings: RawObject) -> Ack =
        UpdateSettings::new().source(source).settings(settings);
    /// Returns the settings.
    get_settings() -> GetSettingsReply = GetSettings::new();
    /// Returns the status of the MCP servers.
    mcp_status() -> McpStatusReply = McpStatusRequest::new();
    /// Replaces the MCP servers that were added at run time.
    mcp_set_servers(servers: Map<McpServerConfig>) -> McpSetServersReply =
        McpSetServers::new().servers(servers);
    /// Reconnects an MCP server.
    mcp_reconnect(server: impl Into<Text>) -> Ack = McpReconnect::new().server_name(server);
    /// Enables or disables an MCP server.
    mcp_toggle(server: impl Into<Text>, enabled: bool) -> Ack =
        McpToggle::new().server_name(server).enabled(enabled);
    /// Sends a message from one of the host's MCP servers.
    mcp_message(server: impl Into<Text>, message: RawObject) -> McpMessageReply =
        McpMessage::new().server_name(server).message(message);
    /// Calls a tool of an MCP server, without the model.
    mcp_call(tool: impl Into<Text>, arguments: RawObject) -> McpCallReply =
        McpCall::new().tool(tool).arguments(arguments);
    /// Reads a resource of an MCP server.
    mcp_read_resource(server: impl Into<Text>, uri: impl Into<Text>) -> McpReadResourceReply =
        McpReadResource::new().server_name(server).uri(uri);
    /// Sets a permission mode for one MCP server.
    set_mcp_permission_mode_override(
        request: SetMcpPermissionModeOverride
    ) -> SetMcpPermissionModeOverrideReply = request;
    /// Restores files to their state at this prompt. Needs `file_checkpointing`.
    rewind_files(prompt: impl Into<Uuid>) -> RewindFilesReply =
        RewindFiles::new().user_message_id(prompt);
    /// Returns what [`rewind_files`](Self::rewind_files) would do.
    rewind_files_dry_run(prompt: impl Into<Uuid>) -> RewindFilesReply =
        RewindFiles::new().user_message_id(prompt).dry_run(true);
    /// Cancels a prompt that waits.
    cancel_async_message(prompt: impl Into<Uuid>) -> CancelAsyncMessageReply =
        CancelAsyncMessage::new().message_uuid(prompt);
    /// Marks a file as read at this time (milliseconds since 1970).
    seed_read_state(path: impl Into<Text>, mtime: u64) -> Ack =
        SeedReadState::new().path(path).mtime(mtime);
    /// Reads a file as the agent sees it.
    read_file(path: impl Into<Text>) -> ReadFileReply = ReadFile::new().path(path);
    /// Returns the files that match a query.
    file_suggestions(query: impl Into<Text>) -> FileSuggestionsReply =
        FileSuggestions::new().query(query);
    /// Returns what uses the context.
    get_context_usage() -> GetContextUsageReply = GetContextUsage::new();
    /// Returns the usage, and what is left of the limits.
    get_usage() -> GetUsageReply = GetUsage::new();
    /// Returns the cost of the session as text.
    get_session_cost() -> GetSessionCostReply = GetSessionCost::new();
    /// Returns the version of the agent.
    get_binary_version() -> GetBinaryVersionReply = GetBinaryVersion::new();
    /// Lists the models.
    list_models() -> ListModelsReply = ListModels::new();
    /// Lists the permission rules.
    list_permission_rules() -> ListPermissionRulesReply = ListPermissionRules::new();
    /// Lists the hooks.
    get_hooks_listing() -> GetHooksListingReply = GetHooksListing::new();
    /// Reloads the plugins.
    reload_plugins() -> ReloadPluginsReply = ReloadPlugins::new();
    /// Reloads the skills.
    reload_skills() -> ReloadSkillsReply = ReloadSkills::new();
    /// Reloads the output styles.
    reload_output_styles() -> ReloadOutputStylesReply = ReloadOutputStyles::new();
    /// Adds a repository to work in.
    register_repo_root(directory: impl Into<Text>) -> RegisterRepoRootReply =
        RegisterRepoRoot::new().directory(directory);
    /// Sets the title of the session.
    rename_session(title: impl Into<Text>) -> Ack = RenameSession::new().title(title);
    /// Sets the colour of the session.
    set_color(color: impl Into<Text>) -> Ack = SetColor::new().color(color);
    /// Stops a task.
    stop_task(task: impl Into<Text>) -> Ack = StopTask::new().task_id(task);
    /// Moves running tool calls to the background: all, or this one.
    background_tasks(tool_use: Option<Text>) -> BackgroundTasksReply = {
        let mut request = BackgroundTasks::new();
        request.tool_use_id = tool_use.map(Into::into).into();
        request
    };
    /// Returns the output of a task.
    get_task_output(task: impl Into<Text>) -> GetTaskOutputReply =
        GetTaskOutput::new().task_id(task);
    /// Reports whether the session has viewers.
    set_has_subscribers(has: bool) -> Ack = SetHasSubscribers::new().has_subscribers(has);
    /// Generates a title for the session.
    generate_session_title(description: impl Into<Text>) -> GenerateSessionTitleReply =
        GenerateSessionTitle::new().description(description);
    /// Asks a question outside of the conversation.
    side_question(question: impl Into<Text>) -> SideQuestionReply =
        SideQuestion::new().question(question);
    /// Returns what the status dialog shows.
    get_status() -> GetStatusReply = GetStatus::new();
    /// Returns the plan.
    get_plan() -> GetPlanReply = GetPlan::new();
    /// Returns the conversation as text.
    export_conversation() -> ExportConversationReply = ExportConversation::new();
    /// Returns the changes in the work tree.
    get_workspace_diff() -> GetWorkspaceDiffReply = GetWorkspaceDiff::new();
    /// Ends the session: the agent acknowledges and exits.
    end_session() -> Ack = EndSession::new();
}
