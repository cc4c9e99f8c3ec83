//! [`AgentRequest`]: the requests of the agent to the host, and their replies. One table.

use crate::hook::{HookInput, HookOutput, McpServerRef};
use crate::id::{AgentId, CallbackId, SessionId, ToolUseId};
use crate::json::{Fault, Number, RawJson, RawObject};
use crate::permission::{PermissionResult, PermissionUpdate};
use crate::text::Text;
use crate::tool::ToolInput;
use crate::wire::{record, words};

use super::host_requests::{McpMessage, McpMessageReply};
use super::{Ack, Opaque, control_requests};

control_requests! {
    /// A request of the agent to the host, by `subtype`.
    AgentRequest, AgentRequestReply {
        /// Ask for permission to call a tool.
        "can_use_tool" => CanUseTool {
            /// The tool.
            tool_name: Text,
            /// Its name for people.
            display_name: Text,
            /// Its input.
            input: RawObject,
            /// What the call does, for people.
            description: Text,
            /// Suggested changes of the permissions.
            permission_suggestions: Vec<PermissionUpdate>,
            /// The path outside the allowed directories.
            blocked_path: Text,
            /// The reason for the question.
            decision_reason: Text,
            /// The kind of reason.
            decision_reason_type: DecisionReasonType,
            /// The reason code.
            decision_reason_code: Text,
            /// Where the rule that asks was set.
            decision_reason_rule_source: Text,
            /// The event of the hook that asks.
            decision_reason_hook_event: Text,
            /// Where the hook that asks was set.
            decision_reason_hook_source: Text,
            /// The plugin of the hook that asks.
            decision_reason_hook_plugin_id: Text,
            /// The rule that asks.
            matched_ask_rule: MatchedAskRule,
            /// The tool's MCP server. Trust by its source, not its name.
            mcp_server: McpServerRef,
            /// A title for the question.
            title: Text,
            /// The sub-agent that calls.
            agent_id: AgentId,
            /// Whether a classifier could allow it.
            classifier_approvable: bool,
            /// Do not offer to allow it permanently.
            suppress_always_allow_rule: bool,
            /// The default answer is deny.
            default_to_no: bool,
            /// The user must answer: it is a question or a plan.
            requires_user_interaction: bool,
            /// The policy of the server requires a question.
            server_policy_ask_only: bool,
            /// The plugin that calls.
            plugin: RawJson,
            /// A text of the server.
            server_prompt: RawJson,
            /// The folder of the computer.
            computer_folder: RawJson,
            /// Where it comes from, in one line.
            provenance_prompt_line: Text,
            /// What kind of tool.
            tool_kind: Text,
            /// The call. Absent up to version 2.0.1.
            tool_use_id: ToolUseId,
        } -> PermissionResult,
        /// Call a hook of the host.
        "hook_callback" => HookCallback {
            /// The callback, by the host's choice.
            callback_id: CallbackId,
            /// The input of the hook.
            input: HookInput,
            /// The tool call; a random id for events that have none.
            tool_use_id: ToolUseId,
            /// When it was asked.
            issued_at: RawJson,
            /// How long the agent waits.
            deadline_ms: Number,
            /// Legacy: the name of the hook.
            hook_name: Text => legacy,
            /// Legacy: the input of the hook.
            hook_data: RawJson => legacy,
        } -> HookOutput,
        /// A message for one of the host's MCP servers.
        "mcp_message" => McpMessage -> McpMessageReply,
        /// An MCP server asks the user something.
        "elicitation" => Elicitation {
            /// The server.
            mcp_server_name: Text,
            /// The question.
            message: Text,
            /// `form` or `url`.
            mode: Text,
            /// Where to answer.
            url: Text,
            /// The id of the question.
            elicitation_id: Text,
            /// What the answer must look like.
            requested_schema: RawObject,
            /// In which order to ask.
            property_order: Vec<Text>,
            /// A title.
            title: Text,
            /// The server's name for people.
            display_name: Text,
            /// More about it.
            description: Text,
        } -> ElicitationReply {
            /// `accept`, `decline` or `cancel`.
            action: Text,
            /// The answer.
            content: RawJson,
        },
        /// A dialog for the user. Do not answer kinds that the host did not declare.
        "request_user_dialog" => RequestUserDialog {
            /// What kind of dialog.
            dialog_kind: Text,
            /// What it shows.
            payload: RawObject,
            /// The tool call it is about.
            tool_use_id: ToolUseId,
        } -> UserDialogReply {
            /// `completed` or `cancelled`.
            behavior: Text,
            /// The choice of the user.
            result: RawJson,
        },
        /// A fresh token for the login.
        "oauth_token_refresh" => OauthTokenRefresh {
            /// What it is for.
            kind: Text,
            /// The state of the old token.
            token_state: RawJson,
            /// The call that was refused.
            refused_call: RawJson,
        } -> OauthTokenRefreshReply {
            /// The token; null if there is none.
            access_token "accessToken": Text,
            /// Why there is none.
            reason: Text,
        },
        /// A fresh token of the host.
        "host_auth_token_refresh" => HostAuthTokenRefresh {
            /// The status with which the old one was refused.
            status: Number,
        } -> HostAuthTokenRefreshReply {
            /// The token; null if there is none.
            auth_token "authToken": Text,
            /// It is the old one.
            material_unchanged "materialUnchanged": bool,
        },
        /// The secret of a remote session.
        "remote_control_work_secret" => RemoteControlWorkSecret {
            /// The session.
            session_id: SessionId,
        } -> RemoteControlWorkSecretReply {
            /// The secret; null if there is none.
            work_secret: Text,
        },
        /// Copy text to the clipboard of the user.
        "ui_copy" => UiCopy {
            /// The text.
            text: Text,
        } -> UiReply,
        /// Read the input line.
        "ui_prompt_read" => UiPromptRead {} -> UiReply,
        /// Put text into the input line.
        "ui_prompt_fill" => UiPromptFill {
            /// The text.
            text: Text,
        } -> UiReply,
        /// Paint the input line.
        "ui_prompt_paint" => UiPromptPaint {} -> UiReply,
        /// Suggest text in the input line.
        "ui_prompt_suggest" => UiPromptSuggest {
            /// The text.
            text: Text,
        } -> UiReply,
        /// Read the selection.
        "ui_read_selection" => UiReadSelection {} -> UiReply,
        /// For hosted sessions. Do not answer.
        "remote_tool_call" => RemoteToolCall {} -> Opaque,
        /// For hosted sessions. Do not answer.
        "remote_plumbing_call" => RemotePlumbingCall {} -> Opaque,
        /// For hosted sessions. Do not answer.
        "remote_tools_probe" => RemoteToolsProbe {} -> Opaque,
        /// For hosted sessions. Do not answer.
        "remote_tools_reannounce" => RemoteToolsReannounce {} -> Opaque,
        /// Legacy: the agent acknowledges an interrupt with a request. Answer it with an acknowledgement.
        "sdk_control_interrupt" => SdkControlInterrupt {} -> Ack => legacy,
    }
}

impl CanUseTool {
    /// Its input as the built-in tool of that name takes it.
    ///
    /// # Errors
    /// If a field has the wrong JSON type.
    pub fn typed_input(&self) -> Result<ToolInput, Fault> {
        let input = self.input.value().cloned().unwrap_or_default();
        ToolInput::read(self.tool_name.as_str().unwrap_or_default(), &input)
    }
}

words! {
    /// Why permission is asked for or denied.
    DecisionReasonType {
        /// A rule.
        Rule = "rule",
        /// The permission mode.
        Mode = "mode",
        /// A part of a compound command.
        SubcommandResults = "subcommandResults",
        /// The tool that answers for permissions.
        PermissionPromptTool = "permissionPromptTool",
        /// A hook.
        Hook = "hook",
        /// An agent in the background cannot ask.
        AsyncAgent = "asyncAgent",
        /// The sandbox would be left.
        SandboxOverride = "sandboxOverride",
        /// The path is outside the working directories.
        WorkingDir = "workingDir",
        /// A safety check.
        SafetyCheck = "safetyCheck",
        /// The classifier of auto mode.
        Classifier = "classifier",
        /// Something else.
        Other_ = "other",
    }
}

record! {
    /// A rule that asks.
    MatchedAskRule {
        /// Where it was set.
        source: Text,
        /// The tool.
        tool_name: Text,
        /// What of it.
        rule_content: Text,
    }
}

record! {
    /// What a surface of the host did.
    UiReply {
        /// The text was copied.
        copied: bool,
        /// The text of the input line, or of the selection.
        text: Text,
        /// Where the cursor is.
        cursor: RawJson,
        /// The input line was filled.
        filled: bool,
        /// The input line was painted.
        painted: bool,
        /// The suggestion was shown.
        shown: bool,
        /// The surface in which something is selected.
        instance_id: RawJson,
    }
}

impl From<McpMessage> for AgentRequest {
    fn from(request: McpMessage) -> Self {
        Self::McpMessage(Box::new(request))
    }
}
