//! Answers, typed by the request they belong to.

use crate::hook::HookOutput;
use crate::json::RawJson;
use crate::permission::PermissionResult;
use crate::text::Text;
use crate::wire::{Wire, record};

use super::agent_request::*;
use super::mcp::{McpMessage, McpMessageReply};
use crate::legacy::SdkControlInterrupt;

/// A control request and the type of its answer.
///
/// ```
/// use duologue_wire::control::{ControlRequest, SetModel};
///
/// assert_eq!(SetModel::SUBTYPE, "set_model");
/// ```
pub trait ControlRequest: Wire {
    /// Its `subtype`.
    const SUBTYPE: &'static str;
    /// What it is answered with.
    type Reply: Wire;
}

record! {
    /// An answer that only says that it went well.
    Ack {}
}

/// An answer whose shape is nobody's business but the surface's that asked.
pub type Opaque = RawJson;

/// An enum of answers, read by the subtype of the request.
macro_rules! reply_table {
    (
        $(#[doc = $doc:literal])*
        $table:ident { $($subtype:literal => $name:ident($reply:ty),)* }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $table {
            $(
                #[doc = concat!("The answer to `", $subtype, "`.")]
                $name(Box<$reply>),
            )*
        }

        impl $table {
            /// Reads an answer as the one that belongs to a request of this subtype; `None` if
            /// there is no such request. An answer without payload reads as an empty object.
            pub fn read(
                subtype: &str,
                payload: Option<&$crate::json::RawJson>,
            ) -> Option<Result<Self, $crate::json::Fault>> {
                let empty = $crate::json::RawJson::from(serde_json::json!({}));
                let payload = payload.unwrap_or(&empty);
                match subtype {
                    $($subtype => {
                        Some(payload.read().map(|reply| Self::$name(Box::new(reply))))
                    })*
                    _ => None,
                }
            }

            /// Walks the answer and reports what is unknown in it.
            pub fn survey(&self, report: impl FnMut(&str, $crate::wire::Finding<'_>)) {
                match self {
                    $(Self::$name(reply) => $crate::wire::Survey::of(reply, report),)*
                }
            }

            /// The answer as JSON text.
            pub fn to_json(&self) -> String {
                match self {
                    $(Self::$name(reply) => $crate::wire::Wire::to_json(reply),)*
                }
            }
        }
    };
}
pub(super) use reply_table;

/// The table of the agent's requests: subtype, type, and the type of the answer.
macro_rules! agent_requests {
    ($($subtype:literal => $name:ident -> $reply:ty,)*) => {
        $(
            impl From<$name> for AgentRequest {
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
            /// What the host answered to a request of the agent.
            AgentRequestReply {
                $($subtype => $name($reply),)*
                "mcp_message" => McpMessage(McpMessageReply),
            }
        }
    };
}

// `mcp_message` goes both ways: the host's table has its types.
agent_requests! {
    "can_use_tool" => CanUseTool -> PermissionResult,
    "hook_callback" => HookCallback -> HookOutput,
    "elicitation" => Elicitation -> ElicitationReply,
    "request_user_dialog" => RequestUserDialog -> UserDialogReply,
    "oauth_token_refresh" => OauthTokenRefresh -> OauthTokenRefreshReply,
    "host_auth_token_refresh" => HostAuthTokenRefresh -> HostAuthTokenRefreshReply,
    "remote_control_work_secret" => RemoteControlWorkSecret -> RemoteControlWorkSecretReply,
    "ui_copy" => UiCopy -> UiReply,
    "ui_prompt_read" => UiPromptRead -> UiReply,
    "ui_prompt_fill" => UiPromptFill -> UiReply,
    "ui_prompt_paint" => UiPromptPaint -> UiReply,
    "ui_prompt_suggest" => UiPromptSuggest -> UiReply,
    "ui_read_selection" => UiReadSelection -> UiReply,
    "remote_tool_call" => RemoteToolCall -> Opaque,
    "remote_plumbing_call" => RemotePlumbingCall -> Opaque,
    "remote_tools_probe" => RemoteToolsProbe -> Opaque,
    "remote_tools_reannounce" => RemoteToolsReannounce -> Opaque,
    "sdk_control_interrupt" => SdkControlInterrupt -> Ack,
}

record! {
    /// The answer to a question of an MCP server.
    ElicitationReply {
        /// `accept`, `decline` or `cancel`.
        action: Text,
        /// The answer.
        content: RawJson,
    }
}

record! {
    /// What became of a dialog.
    UserDialogReply {
        /// `completed` or `cancelled`.
        behavior: Text,
        /// What the person chose.
        result: RawJson,
    }
}

record! {
    /// A fresh token for the login.
    OauthTokenRefreshReply {
        /// The token; null if there is none.
        access_token "accessToken": Text,
        /// Why there is none.
        reason: Text,
    }
}

record! {
    /// A fresh token of the host.
    HostAuthTokenRefreshReply {
        /// The token; null if there is none.
        auth_token "authToken": Text,
        /// It is the old one.
        material_unchanged "materialUnchanged": bool,
    }
}

record! {
    /// The secret of a remote session.
    RemoteControlWorkSecretReply {
        /// The secret; null if there is none.
        work_secret: Text,
    }
}

record! {
    /// What a surface of the host did.
    UiReply {
        /// The text was copied.
        copied: bool,
        /// What stands in the input line, or is selected.
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
