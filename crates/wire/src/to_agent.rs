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
        /// The host asks for something.
        "control_request" => ControlRequest(Box<ControlRequestToAgent>),
        /// The answer to a request of the agent.
        "control_response" => ControlResponse(Box<ControlResponse>),
        /// The host takes its request back.
        "control_cancel_request" => ControlCancelRequest(Box<ControlCancelRequest>),
        /// Nothing, to keep the connection alive.
        "keep_alive" => KeepAlive(Box<KeepAlive>),
        /// New values for some environment variables. Only a few are taken: tokens of the host.
        "update_environment_variables" => UpdateEnvironmentVariables(Box<UpdateEnvironmentVariables>) {
            /// The variables.
            variables: Map<Text>,
            /// With it, an answer comes back.
            request_id: RequestId,
        },
        /// Run a command in the person's name.
        "bash_command" => BashCommand(Box<BashCommand>) {
            /// The command.
            command: Text,
            /// Where.
            cwd: Text,
            /// Names it.
            uuid: Uuid,
            /// The conversation.
            session_id: SessionId,
        },
        /// A notification for the model.
        "queued_notification" => QueuedNotification(Box<QueuedNotification>) {
            /// The notification.
            notification: QueuedNotificationBody,
            /// Names the line.
            uuid: Uuid,
            /// The conversation.
            session_id: SessionId,
        },
        /// A notice of another session.
        "session_notice" => SessionNotice(Box<SessionNotice>) {
            /// Names it.
            uuid: Uuid,
            /// What kind of notice.
            notice_class: Text,
            /// The other session.
            from_session_id: SessionId,
            /// What it says.
            content: RawJson,
            /// Always true.
            is_synthetic "isSynthetic": bool,
            /// How it came in.
            inbound_origin: Text,
            /// The conversation.
            session_id: SessionId,
        },
        /// Something the model is to have said.
        "assistant" => Assistant(Box<Assistant>),
        /// Something the agent is to have said about itself.
        "system" => System(Box<System>),
        /// Start a workflow.
        "workflow_launch" => WorkflowLaunch(Box<WorkflowLaunch>) {
            /// Names the line.
            uuid: Uuid,
            /// The conversation.
            session_id: SessionId,
        },
        /// Legacy: allow the tool call that waits.
        "approve" => Approve(Box<Approve>) => legacy,
        /// Legacy: do not allow it.
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

    /// Whether this version knows the type and the subtype.
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

    /// Whether only the oldest descriptions of the protocol have this line.
    pub fn is_legacy(&self) -> bool {
        is_legacy(self)
    }
}

record! {
    /// A notification for the model.
    QueuedNotificationBody {
        /// Names it.
        notification_id: Text,
        /// Where it comes from.
        origin: Origin,
        /// What it says.
        content: RawJson,
        /// Its place in the queue.
        priority: crate::lines::Priority,
        /// When it was queued.
        queued_at: RawJson,
        /// Why it was.
        fire_reason: Text,
        /// Who wrote it.
        own_session_author: RawJson,
    }
}
