//! What the host asks of the agent, and what each request is answered with: one table.

use crate::wire::union;

use super::files::*;
use super::initialize::{Initialize, InitializeReply};
use super::internal::*;
use super::mcp::*;
use super::reply::{Ack, ControlRequest, Opaque, reply_table};
use super::runtime::*;
use super::session::*;
use super::settings::*;
use super::usage::*;

/// The table of the host's requests: subtype, type, and the type of the answer.
macro_rules! host_requests {
    ($($(#[doc = $doc:literal])* $subtype:literal => $name:ident -> $reply:ty,)*) => {
        union! {
            /// What the host asks of the agent, by `subtype`.
            HostRequest by "subtype" closed {
                $($(#[doc = $doc])* $subtype => $name(Box<$name>),)*
            }
        }

        $(
            impl From<$name> for HostRequest {
                fn from(request: $name) -> Self {
                    Self::$name(Box::new(request))
                }
            }

            impl ControlRequest for $name {
                const SUBTYPE: &'static str = $subtype;
                type Reply = $reply;
            }
        )*

        reply_table! {
            /// What the agent answered to a request of the host.
            HostRequestReply { $($subtype => $name($reply),)* }
        }
    };
}

host_requests! {
    /// The handshake.
    "initialize" => Initialize -> InitializeReply,
    /// Stop the turn.
    "interrupt" => Interrupt -> InterruptReply,
    /// Change the permission mode.
    "set_permission_mode" => SetPermissionMode -> SetPermissionModeReply,
    /// Change the model.
    "set_model" => SetModel -> SetModelReply,
    /// Change how much the model may think.
    "set_max_thinking_tokens" => SetMaxThinkingTokens -> Ack,
    /// Change settings, as if given as flags.
    "apply_flag_settings" => ApplyFlagSettings -> Ack,
    /// Write settings to a file.
    "update_settings" => UpdateSettings -> Ack,
    /// What are the settings?
    "get_settings" => GetSettings -> GetSettingsReply,
    /// How are the MCP servers?
    "mcp_status" => McpStatusRequest -> McpStatusReply,
    /// Replace MCP servers.
    "mcp_set_servers" => McpSetServers -> McpSetServersReply,
    /// Connect to an MCP server again.
    "mcp_reconnect" => McpReconnect -> Ack,
    /// Switch an MCP server on or off.
    "mcp_toggle" => McpToggle -> Ack,
    /// A message from one of the host's MCP servers.
    "mcp_message" => McpMessage -> McpMessageReply,
    /// Call a tool of an MCP server.
    "mcp_call" => McpCall -> McpCallReply,
    /// Read a resource of an MCP server.
    "mcp_read_resource" => McpReadResource -> McpReadResourceReply,
    /// Put files back.
    "rewind_files" => RewindFiles -> RewindFilesReply,
    /// Take a prompt back that waits.
    "cancel_async_message" => CancelAsyncMessage -> CancelAsyncMessageReply,
    /// Count a file as read.
    "seed_read_state" => SeedReadState -> Ack,
    /// Read a file.
    "read_file" => ReadFile -> ReadFileReply,
    /// Which files could be meant?
    "file_suggestions" => FileSuggestions -> FileSuggestionsReply,
    /// What fills the context?
    "get_context_usage" => GetContextUsage -> GetContextUsageReply,
    /// What was used, and how much is left?
    "get_usage" => GetUsage -> GetUsageReply,
    /// What did the session cost, in words?
    "get_session_cost" => GetSessionCost -> GetSessionCostReply,
    /// What is the version?
    "get_binary_version" => GetBinaryVersion -> GetBinaryVersionReply,
    /// Which models are there?
    "list_models" => ListModels -> ListModelsReply,
    /// Which permission rules are there?
    "list_permission_rules" => ListPermissionRules -> ListPermissionRulesReply,
    /// Which hooks are there?
    "get_hooks_listing" => GetHooksListing -> GetHooksListingReply,
    /// Load the plugins again.
    "reload_plugins" => ReloadPlugins -> ReloadPluginsReply,
    /// Look for skills again.
    "reload_skills" => ReloadSkills -> ReloadSkillsReply,
    /// Look for output styles again.
    "reload_output_styles" => ReloadOutputStyles -> ReloadOutputStylesReply,
    /// Work in this repository too.
    "register_repo_root" => RegisterRepoRoot -> RegisterRepoRootReply,
    /// Give a session a title.
    "rename_session" => RenameSession -> Ack,
    /// Give the session a colour.
    "set_color" => SetColor -> Ack,
    /// Stop a task.
    "stop_task" => StopTask -> Ack,
    /// Put running tasks into the background.
    "background_tasks" => BackgroundTasks -> BackgroundTasksReply,
    /// What has a task printed?
    "get_task_output" => GetTaskOutput -> GetTaskOutputReply,
    /// Whether anybody is looking.
    "set_has_subscribers" => SetHasSubscribers -> Ack,
    /// Another mode for one MCP server.
    "set_mcp_permission_mode_override" => SetMcpPermissionModeOverride -> SetMcpPermissionModeOverrideReply,
    /// Do not suggest what to ask next.
    "set_prompt_suggestions_paused" => SetPromptSuggestionsPaused -> Ack,
    /// Which browser to use.
    "set_chrome_browser_hints" => SetChromeBrowserHints -> Ack,
    /// Think of a title.
    "generate_session_title" => GenerateSessionTitle -> GenerateSessionTitleReply,
    /// Ask something beside the conversation.
    "side_question" => SideQuestion -> SideQuestionReply,
    /// Change the working directory.
    "set_cwd" => SetCwd -> SetCwdReply,
    /// Take over a process that was kept warm.
    "claim_session" => ClaimSession -> ClaimSessionReply,
    /// Let the session be controlled from elsewhere.
    "remote_control" => RemoteControl -> Opaque,
    /// Send feedback.
    "submit_feedback" => SubmitFeedback -> Opaque,
    /// Send the answers to a survey.
    "submit_survey_feedback" => SubmitSurveyFeedback -> Opaque,
    /// The person rates a message.
    "message_rated" => MessageRated -> Ack,
    /// Log in to an MCP server.
    "mcp_authenticate" => McpAuthenticate -> Opaque,
    /// Log out of an MCP server.
    "mcp_clear_auth" => McpClearAuth -> Opaque,
    /// The address to which a login returned.
    "mcp_oauth_callback_url" => McpOauthCallbackUrl -> Opaque,
    /// Log in.
    "claude_authenticate" => ClaudeAuthenticate -> Opaque,
    /// The code that a login gave.
    "claude_oauth_callback" => ClaudeOauthCallback -> Opaque,
    /// Wait until the login is done.
    "claude_oauth_wait_for_completion" => ClaudeOauthWaitForCompletion -> Opaque,
    /// Listen to the channel of an MCP server.
    "channel_enable" => ChannelEnable -> Opaque,
    /// Start a thorough review.
    "ultrareview_launch" => UltrareviewLaunch -> Opaque,
    /// What the memory dialog shows.
    "get_memory_dialog" => GetMemoryDialog -> Opaque,
    /// What the skills dialog shows.
    "get_skills_dialog" => GetSkillsDialog -> Opaque,
    /// What the sandbox dialog shows.
    "get_sandbox_dialog" => GetSandboxDialog -> Opaque,
    /// What the Chrome dialog shows.
    "get_chrome_dialog" => GetChromeDialog -> Opaque,
    /// Which browsers are there?
    "get_chrome_browsers" => GetChromeBrowsers -> Opaque,
    /// Use this browser.
    "select_chrome_browser" => SelectChromeBrowser -> Opaque,
    /// What the status dialog shows.
    "get_status" => GetStatus -> GetStatusReply,
    /// What is the plan?
    "get_plan" => GetPlan -> GetPlanReply,
    /// The conversation as text.
    "export_conversation" => ExportConversation -> ExportConversationReply,
    /// Which sessions are in the cloud?
    "list_cloud_sessions" => ListCloudSessions -> Opaque,
    /// One of them.
    "get_cloud_session" => GetCloudSession -> Opaque,
    /// What was said in it.
    "get_cloud_session_transcript" => GetCloudSessionTranscript -> Opaque,
    /// End the session.
    "end_session" => EndSession -> Ack,
    /// What is in a directory?
    "list_directory" => ListDirectory -> Opaque,
    /// What has changed in the work tree?
    "get_workspace_diff" => GetWorkspaceDiff -> GetWorkspaceDiffReply,
    /// Run a command as a task.
    "start_shell_task" => StartShellTask -> Opaque,
    /// How much the agent does by itself.
    "set_proactivity_level" => SetProactivityLevel -> Ack,
    /// Add a working directory.
    "add_directory" => AddDirectory -> Opaque,
    /// Go on in another session.
    "fork_conversation" => ForkConversation -> Opaque,
    /// Go back in the conversation.
    "rewind_conversation" => RewindConversation -> Opaque,
    /// Something may have happened elsewhere.
    "poll_event" => PollEvent -> Opaque,
    /// Take a file.
    "stage_file" => StageFile -> Opaque,
    /// The tasks of an MCP server changed.
    "mcp_tasks_changed" => McpTasksChanged -> Opaque,
    /// Hand the turn over.
    "turn_handoff" => TurnHandoff -> Opaque,
    /// Hooks of a device.
    "register_device_hooks" => RegisterDeviceHooks -> Opaque,
    /// A template for hooks of a device.
    "upload_device_hook_template" => UploadDeviceHookTemplate -> Opaque,
    /// Tools that run elsewhere.
    "remote_tools_announce" => RemoteToolsAnnounce -> Opaque,
    /// A plugin's surface: attach.
    "ui_attach" => UiAttach -> Opaque,
    /// A plugin's surface: detach.
    "ui_detach" => UiDetach -> Opaque,
    /// A plugin's surface: render.
    "ui_render" => UiRender -> Opaque,
    /// A plugin's surface: press.
    "ui_press" => UiPress -> Opaque,
    /// A plugin's surface: its code.
    "ui_client_module" => UiClientModule -> Opaque,
    /// A plugin's surface: press, in the host.
    "ui_client_press" => UiClientPress -> Opaque,
    /// A plugin's surface: a message.
    "ui_message" => UiMessage -> Opaque,
    /// A plugin's surface: a fault in the host.
    "ui_client_fault" => UiClientFault -> Opaque,
    /// A plugin's surface: input.
    "ui_input" => UiInput -> Opaque,
    /// A plugin's surface: select.
    "ui_select" => UiSelect -> Opaque,
    /// A plugin's surface: all panes.
    "ui_panes" => UiPanesRequest -> Opaque,
    /// A plugin's surface: show a pane.
    "ui_pane_show" => UiPaneShow -> Opaque,
    /// A plugin's surface: focus a pane.
    "ui_pane_focus" => UiPaneFocus -> Opaque,
    /// A plugin's surface: close.
    "ui_close" => UiClose -> Opaque,
    /// A plugin's surface: scroll.
    "ui_scroll" => UiScrollRequest -> Opaque,
    /// A plugin's surface: focus.
    "ui_focus" => UiFocusRequest -> Opaque,
    /// A plugin's surface: the input line was edited.
    "ui_prompt_edit" => UiPromptEdit -> Opaque,
    /// A plugin's surface: complete the input line.
    "ui_prompt_autocomplete" => UiPromptAutocomplete -> Opaque,
}
