//! Everything a host can ask of an agent, as methods.

use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::*;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::{Map, Number, RawJson, RawObject, Text, Uuid};

use crate::error::Error;

use super::inner::Inner;

/// Asks the agent for things: at any time, also in the middle of a turn, from any task.
///
/// Each request may take a minute; [`within`](Self::within) changes that. All requests that are open
/// fail at once when the agent goes away, with the end of its stderr.
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
    /// The same, with another time limit for each request.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Self {
        Self { inner: Arc::clone(&self.inner), timeout: Some(timeout) }
    }

    /// The same, without a time limit.
    #[must_use]
    pub fn without_limit(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), timeout: None }
    }

    /// Asks for something by its type: for what has no method here.
    ///
    /// # Errors
    /// If the agent refuses, does not answer in time, or is gone.
    pub async fn ask<R>(&self, request: R) -> Result<R::Reply, Error>
    where
        R: ControlRequest + Into<HostRequest>,
    {
        self.inner.request(request, self.timeout).await
    }

    /// Asks for something that has no type here: a subtype and its fields.
    ///
    /// # Errors
    /// If the fields are no JSON object, or as [`ask`](Self::ask).
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

/// Methods that make a request and ask it.
macro_rules! methods {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident($($arg:ident: $ty:ty),*) -> $reply:ty = $request:expr;
    )*) => {
        impl Control {$(
            $(#[doc = $doc])*
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
    /// Shakes hands again: what can this agent do?
    reinitialize() -> InitializeReply = Initialize::new();
    /// Changes the permission mode.
    set_permission_mode(mode: PermissionMode) -> SetPermissionModeReply =
        SetPermissionMode::new().mode(mode);
    /// Changes the model.
    set_model(model: impl Into<Text>) -> SetModelReply = SetModel::new().model(model);
    /// Goes back to the default model.
    reset_model() -> SetModelReply = SetModel::new();
    /// Changes how much the model may think; `None` for as much as it likes.
    set_max_thinking_tokens(tokens: Option<u32>) -> Ack = {
        let mut request = SetMaxThinkingTokens::new();
        request.max_thinking_tokens = duologue_protocol::Field::from(tokens.map(Number::from)).or_null();
        request
    };
    /// Changes settings, as if they had been given as flags. A null clears one.
    apply_flag_settings(settings: RawObject) -> Ack = ApplyFlagSettings::new().settings(settings);
    /// Writes settings to a file: `localSettings` or `userSettings`.
    update_settings(source: impl Into<Text>, settings: RawObject) -> Ack =
        UpdateSettings::new().source(source).settings(settings);
    /// What are the settings?
    get_settings() -> GetSettingsReply = GetSettings::new();
    /// How are the MCP servers?
    mcp_status() -> McpStatusReply = McpStatusRequest::new();
    /// Replaces the MCP servers that were added at run time.
    mcp_set_servers(servers: Map<McpServerConfig>) -> McpSetServersReply =
        McpSetServers::new().servers(servers);
    /// Connects to an MCP server again.
    mcp_reconnect(server: impl Into<Text>) -> Ack = McpReconnect::new().server_name(server);
    /// Switches an MCP server on or off.
    mcp_toggle(server: impl Into<Text>, enabled: bool) -> Ack =
        McpToggle::new().server_name(server).enabled(enabled);
    /// Sends a message of one of the host's MCP servers.
    mcp_message(server: impl Into<Text>, message: RawObject) -> McpMessageReply =
        McpMessage::new().server_name(server).message(message);
    /// Calls a tool of an MCP server, without the model.
    mcp_call(tool: impl Into<Text>, arguments: RawObject) -> McpCallReply =
        McpCall::new().tool(tool).arguments(arguments);
    /// Reads a resource of an MCP server.
    mcp_read_resource(server: impl Into<Text>, uri: impl Into<Text>) -> McpReadResourceReply =
        McpReadResource::new().server_name(server).uri(uri);
    /// Another permission mode for one MCP server.
    set_mcp_permission_mode_override(
        request: SetMcpPermissionModeOverride
    ) -> SetMcpPermissionModeOverrideReply = request;
    /// Puts files back to where they were at this prompt. Needs `file_checkpointing`.
    rewind_files(prompt: impl Into<Uuid>) -> RewindFilesReply =
        RewindFiles::new().user_message_id(prompt);
    /// What would [`rewind_files`](Self::rewind_files) do?
    rewind_files_dry_run(prompt: impl Into<Uuid>) -> RewindFilesReply =
        RewindFiles::new().user_message_id(prompt).dry_run(true);
    /// Takes a prompt back that waits.
    cancel_async_message(prompt: impl Into<Uuid>) -> CancelAsyncMessageReply =
        CancelAsyncMessage::new().message_uuid(prompt);
    /// Counts a file as read, as of this time (milliseconds since 1970).
    seed_read_state(path: impl Into<Text>, mtime: u64) -> Ack =
        SeedReadState::new().path(path).mtime(mtime);
    /// Reads a file as the agent sees it.
    read_file(path: impl Into<Text>) -> ReadFileReply = ReadFile::new().path(path);
    /// Which files could be meant?
    file_suggestions(query: impl Into<Text>) -> FileSuggestionsReply =
        FileSuggestions::new().query(query);
    /// What fills the context?
    get_context_usage() -> GetContextUsageReply = GetContextUsage::new();
    /// What was used, and how much is left?
    get_usage() -> GetUsageReply = GetUsage::new();
    /// What did the session cost, in words?
    get_session_cost() -> GetSessionCostReply = GetSessionCost::new();
    /// What is the version?
    get_binary_version() -> GetBinaryVersionReply = GetBinaryVersion::new();
    /// Which models are there?
    list_models() -> ListModelsReply = ListModels::new();
    /// Which permission rules are there?
    list_permission_rules() -> ListPermissionRulesReply = ListPermissionRules::new();
    /// Which hooks are there?
    get_hooks_listing() -> GetHooksListingReply = GetHooksListing::new();
    /// Loads the plugins again.
    reload_plugins() -> ReloadPluginsReply = ReloadPlugins::new();
    /// Looks for skills again.
    reload_skills() -> ReloadSkillsReply = ReloadSkills::new();
    /// Looks for output styles again.
    reload_output_styles() -> ReloadOutputStylesReply = ReloadOutputStyles::new();
    /// Works in this repository, too.
    register_repo_root(directory: impl Into<Text>) -> RegisterRepoRootReply =
        RegisterRepoRoot::new().directory(directory);
    /// Gives the session a title.
    rename_session(title: impl Into<Text>) -> Ack = RenameSession::new().title(title);
    /// Gives the session a colour.
    set_color(color: impl Into<Text>) -> Ack = SetColor::new().color(color);
    /// Stops a task.
    stop_task(task: impl Into<Text>) -> Ack = StopTask::new().task_id(task);
    /// Puts what runs into the background; all, or this tool call.
    background_tasks(tool_use: Option<Text>) -> BackgroundTasksReply = {
        let mut request = BackgroundTasks::new();
        request.tool_use_id = tool_use.map(Into::into).into();
        request
    };
    /// What has a task printed?
    get_task_output(task: impl Into<Text>) -> GetTaskOutputReply =
        GetTaskOutput::new().task_id(task);
    /// Whether anybody is looking.
    set_has_subscribers(has: bool) -> Ack = SetHasSubscribers::new().has_subscribers(has);
    /// Thinks of a title.
    generate_session_title(description: impl Into<Text>) -> GenerateSessionTitleReply =
        GenerateSessionTitle::new().description(description);
    /// Asks something beside the conversation.
    side_question(question: impl Into<Text>) -> SideQuestionReply =
        SideQuestion::new().question(question);
    /// What the status dialog shows.
    get_status() -> GetStatusReply = GetStatus::new();
    /// What is the plan?
    get_plan() -> GetPlanReply = GetPlan::new();
    /// The conversation as text.
    export_conversation() -> ExportConversationReply = ExportConversation::new();
    /// What has changed in the work tree?
    get_workspace_diff() -> GetWorkspaceDiffReply = GetWorkspaceDiff::new();
    /// Ends the session from within: the agent acknowledges and exits.
    end_session() -> Ack = EndSession::new();
}
