//! [`ToAgent`]: every line of an agent's stdin.

use crate::control::{ControlRequestToAgent, ControlResponse};
use crate::id::{RequestId, SessionId, Uuid};
use crate::json::RawJson;
use crate::legacy::{Abort, Approve, DenyLine, ToolResultLine};
use crate::lines::{Assistant, Prompt};
use crate::message::Origin;
use crate::system::System;
use crate::text::Text;
use crate::to_host::{ControlCancelRequest, KeepAlive, is_legacy};
use crate::wire::{Map, record, union};

union! {
    /// A line to the agent, by `type`.
    ToAgent by "type" {
        /// A prompt.
        "user" => Prompt(Box<Prompt>),
        /// A request of the host.
        "control_request" => ControlRequest(Box<ControlRequestToAgent>),
        /// The response to a request of the agent.
        "control_response" => ControlResponse(Box<ControlResponse>),
        /// The host cancels its request.
        "control_cancel_request" => ControlCancelRequest(Box<ControlCancelRequest>),
        /// A keep-alive without content.
        "keep_alive" => KeepAlive(Box<KeepAlive>),
        /// New values for some environment variables. Only a few are taken: tokens of the host.
        "update_environment_variables" => UpdateEnvironmentVariables(Box<UpdateEnvironmentVariables>) {
            /// The variables.
            variables: Map<Text>,
            /// With it, an answer comes back.
            request_id: RequestId,
        },
        /// Run a command for the user.
        "bash_command" => BashCommand(Box<BashCommand>) {
            /// The command.
            command: Text,
            /// Where.
            cwd: Text,
            /// Its id.
            uuid: Uuid,
            /// The session.
            session_id: SessionId,
        },
        /// A notification for the model.
        "queued_notification" => QueuedNotification(Box<QueuedNotification>) {
            /// The notification.
            notification: QueuedNotificationBody,
            /// The id of this line.
            uuid: Uuid,
            /// The session.
            session_id: SessionId,
        },
        /// A notice of another session.
        "session_notice" => SessionNotice(Box<SessionNotice>) {
            /// Its id.
            uuid: Uuid,
            /// What kind of notice.
            notice_class: Text,
            /// The other session.
            from_session_id: SessionId,
            /// The text.
            content: RawJson,
            /// Always true.
            is_synthetic "isSynthetic": bool,
            /// How it came in.
            inbound_origin: Text,
            /// The session.
            session_id: SessionId,
        },
        /// An assistant message to add to the conversation.
        "assistant" => Assistant(Box<Assistant>),
        /// A system line to add to the conversation.
        "system" => System(Box<System>),
        /// Start a workflow.
        "workflow_launch" => WorkflowLaunch(Box<WorkflowLaunch>) {
            /// The id of this line.
            uuid: Uuid,
            /// The session.
            session_id: SessionId,
        },
        /// Legacy: allow the pending tool call.
        "approve" => Approve(Box<Approve>) => legacy,
        /// Legacy: deny it.
        "deny" => Deny(Box<DenyLine>) => legacy,
        /// Legacy: the result of a tool.
        "tool_result" => ToolResult(Box<ToolResultLine>) => legacy,
        /// Legacy: stop the turn.
        "abort" => Abort(Box<Abort>) => legacy,
    }
}

impl ToAgent {
    /// The `subtype` that decides what the line means, where there is one.
    pub fn subtype(&self) -> Option<&str> {
        match self {
            Self::ControlRequest(request) => request.request.value().map(|request| request.tag()),
            Self::ControlResponse(response) => response.response.value().map(|body| body.tag()),
            Self::System(system) => Some(system.tag()),
            _ => None,
        }
    }

    /// Whether the type and the subtype are known.
    pub(crate) fn is_understood(&self) -> bool {
        match self {
            Self::Unknown(_) => false,
            Self::System(system) => system.is_known(),
            Self::ControlRequest(line) => line.request.value().is_some_and(|body| body.is_known()),
            Self::ControlResponse(line) => {
                line.response.value().is_some_and(|body| body.is_known())
            }
            _ => true,
        }
    }

    /// Whether only the legacy descriptions of the protocol have this line.
    pub fn is_legacy(&self) -> bool {
        is_legacy(self)
    }
}

record! {
    /// A notification for the model.
    QueuedNotificationBody {
        /// Its id.
        notification_id: Text,
        /// Where it comes from.
        origin: Origin,
        /// The text.
        content: RawJson,
        /// Its priority in the queue.
        priority: crate::lines::Priority,
        /// When it was queued.
        queued_at: RawJson,
        /// Why it was.
        fire_reason: Text,
        /// Who wrote it.
        own_session_author: RawJson,
    }
}
