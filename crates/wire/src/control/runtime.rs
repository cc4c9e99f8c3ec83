//! Requests that official hosts make without declaring them.

use crate::id::{SessionId, Uuid};
use crate::json::{Number, RawJson, RawObject};
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::record;

/// Several records with the same kind of tag.
macro_rules! requests {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident = $subtype:literal {
            $($(#[doc = $field_doc:literal])* $field:ident $($wire:literal)?: $ty:ty),* $(,)?
        }
    )*) => {$(
        $crate::wire::record! {
            $(#[doc = $doc])*
            $name ["subtype" = $subtype] {
                $($(#[doc = $field_doc])* $field $($wire)?: $ty,)*
            }
        }
    )*};
}
pub(super) use requests;

requests! {
    /// Use another permission mode for one MCP server.
    SetMcpPermissionModeOverride = "set_mcp_permission_mode_override" {
        /// The server.
        server_name "serverName": Text,
        /// `default`, `auto`, or null for none.
        mode: PermissionMode,
    }
    /// Do not suggest what to ask next.
    SetPromptSuggestionsPaused = "set_prompt_suggestions_paused" {
        /// Whether.
        paused: bool,
    }
    /// Which browser to use.
    SetChromeBrowserHints = "set_chrome_browser_hints" {
        /// The one to prefer.
        preferred_device_id "preferredDeviceId": Text,
        /// Those on this machine.
        local_device_ids "localDeviceIds": Vec<Text>,
        /// Where the host runs.
        host_platform "hostPlatform": Text,
    }
    /// Think of a title.
    GenerateSessionTitle = "generate_session_title" {
        /// What the session is about.
        description: Text,
        /// Keep it.
        persist: bool,
    }
    /// Ask something beside the conversation.
    SideQuestion = "side_question" {
        /// The question.
        question: Text,
        /// What was said before.
        history: RawJson,
    }
    /// Change the working directory.
    SetCwd = "set_cwd" {
        /// Where to.
        path: Text,
        /// The person trusts it.
        trust_accepted: bool,
        /// What the person trusts.
        trusted_directory: Text,
    }
    /// Take over a process that was kept warm.
    ClaimSession = "claim_session" {
        /// The working directory.
        cwd: Text,
        /// The environment.
        env: RawObject,
        /// Further directories.
        additional_directories: Vec<Text>,
        /// The permission mode.
        permission_mode: PermissionMode,
        /// Is added to the system prompt.
        append_system_prompt: Text,
        /// A title.
        title: Text,
        /// Kinds of sub-agent.
        agents: RawJson,
        /// MCP servers in the host.
        sdk_mcp_servers: RawJson,
        /// Answer as to `initialize` too.
        include_initialize: bool,
        /// The person trusts the directory.
        workspace_trust: RawJson,
    }
    /// Let the session be controlled from elsewhere.
    RemoteControl = "remote_control" {
        /// Whether.
        enabled: bool,
        /// Under which name.
        name: Text,
        /// The session to go on with.
        reattach_session_id: SessionId,
        /// Keep it when the process ends.
        keep_session_on_exit: bool,
        /// A secret.
        work_secret: RawJson,
    }
    /// Send feedback.
    SubmitFeedback = "submit_feedback" {}
    /// Send the answers to a survey.
    SubmitSurveyFeedback = "submit_survey_feedback" {}
    /// The person rates a message.
    MessageRated = "message_rated" {
        /// The message.
        message_uuid "messageUuid": Uuid,
        /// How.
        sentiment: Text,
        /// Where.
        surface: Text,
        /// The rating is taken back.
        cleared: bool,
    }
    /// Log in to an MCP server.
    McpAuthenticate = "mcp_authenticate" {
        /// The server.
        server_name "serverName": Text,
        /// Where to return to.
        redirect_uri "redirectUri": Text,
        /// Only there.
        redirect_uri_only "redirectUriOnly": bool,
    }
    /// Log out of an MCP server.
    McpClearAuth = "mcp_clear_auth" {
        /// The server.
        server_name "serverName": Text,
    }
    /// The address to which a login returned.
    McpOauthCallbackUrl = "mcp_oauth_callback_url" {
        /// The server.
        server_name "serverName": Text,
        /// The address.
        callback_url "callbackUrl": Text,
    }
    /// Log in.
    ClaudeAuthenticate = "claude_authenticate" {
        /// By which road.
        login_with_claude_ai "loginWithClaudeAi": bool,
        /// The profile of the console.
        console_profile "consoleProfile": RawJson,
    }
    /// The code that a login gave.
    ClaudeOauthCallback = "claude_oauth_callback" {
        /// The code.
        authorization_code "authorizationCode": Text,
        /// What must match.
        state: Text,
    }
    /// Wait until the login is done.
    ClaudeOauthWaitForCompletion = "claude_oauth_wait_for_completion" {}
    /// Listen to the channel of an MCP server.
    ChannelEnable = "channel_enable" {
        /// The server.
        server_name "serverName": Text,
    }
    /// Start a thorough review.
    UltrareviewLaunch = "ultrareview_launch" {
        /// What stood after the command.
        args: RawJson,
        /// The person agrees to the cost.
        confirm: RawJson,
    }
    /// What the memory dialog shows.
    GetMemoryDialog = "get_memory_dialog" {}
    /// What the skills dialog shows.
    GetSkillsDialog = "get_skills_dialog" {}
    /// What the sandbox dialog shows.
    GetSandboxDialog = "get_sandbox_dialog" {}
    /// What the Chrome dialog shows.
    GetChromeDialog = "get_chrome_dialog" {}
    /// Which browsers are there?
    GetChromeBrowsers = "get_chrome_browsers" {}
    /// Use this browser.
    SelectChromeBrowser = "select_chrome_browser" {
        /// Which.
        device_id: Text,
    }
    /// What the status dialog shows.
    GetStatus = "get_status" {}
    /// What is the plan?
    GetPlan = "get_plan" {}
    /// The conversation as text.
    ExportConversation = "export_conversation" {}
    /// Which sessions are in the cloud?
    ListCloudSessions = "list_cloud_sessions" {}
    /// One of them.
    GetCloudSession = "get_cloud_session" {}
    /// What was said in it.
    GetCloudSessionTranscript = "get_cloud_session_transcript" {}
}

record! {
    /// What came of another mode for one MCP server.
    SetMcpPermissionModeOverrideReply {
        /// What to beware of.
        warning: Text,
    }
}

record! {
    /// A title.
    GenerateSessionTitleReply {
        /// The title; null if none was found.
        title: Text,
    }
}

record! {
    /// The answer to a side question.
    SideQuestionReply {
        /// The answer.
        response: Text,
        /// The CLI wrote it.
        synthetic: bool,
        /// Another model answered.
        refusal_fallback: RawJson,
    }
}

record! {
    /// What came of changing the directory.
    SetCwdReply {
        /// `ok`, `needs_trust` or `rejected`.
        status: Text,
    }
}

record! {
    /// What came of taking a process over.
    ClaimSessionReply {
        /// `ok`.
        status: Text,
        /// The working directory.
        cwd: Text,
        /// The session.
        session_id: SessionId,
        /// How long it had waited.
        parked_ms: Number,
        /// What became of the MCP servers.
        sdk_mcp_settled: RawJson,
        /// The answer as to `initialize`.
        initialize: RawJson,
    }
}

record! {
    /// What the status dialog shows.
    GetStatusReply {
        /// Its sections.
        sections: Vec<StatusSection>,
    }
}

record! {
    /// A section of the status dialog.
    StatusSection {
        /// Its title.
        title: Text,
        /// Its rows.
        rows: Vec<StatusRow>,
    }
}

record! {
    /// A row of the status dialog.
    StatusRow {
        /// What it is about.
        label: Text,
        /// What it says.
        value: Text,
    }
}

record! {
    /// The plan.
    GetPlanReply {
        /// Whether there is one.
        exists: bool,
        /// What it says.
        content: Text,
        /// Where it lies.
        path: Text,
    }
}

record! {
    /// The conversation as text.
    ExportConversationReply {
        /// The text.
        text: Text,
        /// What to call the file.
        default_filename: Text,
    }
}
