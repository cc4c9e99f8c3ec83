//! [`ToHost`]: every line of an agent's stdout.

use crate::control::{ControlRequestToHost, ControlResponse};
use crate::id::{SessionId, Uuid};
use crate::legacy::ErrorLine;
use crate::lines::*;
use crate::system::System;
use crate::wire::union;

union! {
    /// A line to the host, by `type`.
    ToHost by "type" {
        /// The answer while it is being written.
        "stream_event" => StreamEvent(Box<StreamLine>),
        /// A finished block of the answer.
        "assistant" => Assistant(Box<Assistant>),
        /// What a tool gave back, a marker, or the replay of a prompt.
        "user" => User(Box<User>),
        /// The end of a turn.
        "result" => Result(Box<TurnResult>),
        /// What the agent says about itself.
        "system" => System(System),
        /// The agent asks for something.
        "control_request" => ControlRequest(Box<ControlRequestToHost>),
        /// The answer to a request of the host.
        "control_response" => ControlResponse(Box<ControlResponse>),
        /// The agent takes its request back.
        "control_cancel_request" => ControlCancelRequest(Box<ControlCancelRequest>),
        /// Nothing, to keep the connection alive.
        "keep_alive" => KeepAlive(Box<KeepAlive>),
        /// A tool is still running.
        "tool_progress" => ToolProgress(Box<ToolProgress>),
        /// What some tool calls came to.
        "tool_use_summary" => ToolUseSummary(Box<ToolUseSummary>),
        /// How logging in goes.
        "auth_status" => AuthStatus(Box<AuthStatus>),
        /// How much of a rate limit is left.
        "rate_limit_event" => RateLimitEvent(Box<RateLimitEvent>),
        /// What the person may want to ask next.
        "prompt_suggestion" => PromptSuggestion(Box<PromptSuggestion>),
        /// The conversation starts anew.
        "conversation_reset" => ConversationReset(Box<ConversationReset>),
        /// What becomes of a prompt.
        "command_lifecycle" => CommandLifecycle(Box<CommandLifecycle>),
        /// The goal that the agent works towards.
        "active_goal" => ActiveGoal(Box<ActiveGoalLine>),
        /// When the context will be compacted.
        "autocompact_state" => AutocompactState(Box<AutocompactStateLine>),
        /// Entries of the transcript on disk.
        "transcript_mirror" => TranscriptMirror(Box<TranscriptMirror>),
        /// Text of a condensed output.
        "streamlined_text" => StreamlinedText(Box<StreamlinedText>),
        /// Tool calls of a condensed output.
        "streamlined_tool_use_summary" => StreamlinedToolUseSummary(Box<StreamlinedToolUseSummary>),
        /// Legacy: something went wrong.
        "error" => Error(Box<ErrorLine>),
    }
}

/// An id that most lines have, but not all.
macro_rules! ids {
    ($message:expr, $id:ident) => {
        match $message {
            ToHost::StreamEvent(line) => line.$id.value(),
            ToHost::Assistant(line) => line.$id.value(),
            ToHost::User(line) => line.$id.value(),
            ToHost::Result(line) => line.$id.value(),
            ToHost::System(line) => line.$id(),
            ToHost::ToolProgress(line) => line.$id.value(),
            ToHost::ToolUseSummary(line) => line.$id.value(),
            ToHost::AuthStatus(line) => line.$id.value(),
            ToHost::RateLimitEvent(line) => line.$id.value(),
            ToHost::PromptSuggestion(line) => line.$id.value(),
            ToHost::ConversationReset(line) => line.$id.value(),
            ToHost::CommandLifecycle(line) => line.$id.value(),
            ToHost::ActiveGoal(line) => line.$id.value(),
            ToHost::AutocompactState(line) => line.$id.value(),
            ToHost::StreamlinedText(line) => line.$id.value(),
            ToHost::StreamlinedToolUseSummary(line) => line.$id.value(),
            ToHost::Error(line) => line.$id.value(),
            ToHost::ControlRequest(_)
            | ToHost::ControlResponse(_)
            | ToHost::ControlCancelRequest(_)
            | ToHost::KeepAlive(_)
            | ToHost::TranscriptMirror(_)
            | ToHost::Unknown(_) => None,
        }
    };
}

impl ToHost {
    /// The `subtype` that decides what the line means, where there is one: that of a system line, a
    /// result, a control request, or the type of a stream event.
    pub fn subtype(&self) -> Option<&str> {
        match self {
            Self::System(system) => Some(system.tag()),
            Self::Result(result) => result.subtype.as_str(),
            Self::ControlRequest(request) => request.request.value().map(|request| request.tag()),
            Self::ControlResponse(response) => response.response.value().map(|body| body.tag()),
            Self::StreamEvent(line) => line.event.value().map(|event| event.tag()),
            _ => None,
        }
    }

    /// Names the line.
    pub fn uuid(&self) -> Option<&Uuid> {
        ids!(self, uuid)
    }

    /// The conversation that the line belongs to.
    pub fn session_id(&self) -> Option<&SessionId> {
        ids!(self, session_id)
    }

    /// Whether this version knows the type and the subtype.
    pub(crate) fn is_understood(&self) -> bool {
        match self {
            Self::Unknown(_) => false,
            Self::System(system) => system.is_known(),
            Self::Result(result) => result.subtype.value().is_some_and(ResultSubtype::is_known),
            Self::ControlRequest(line) => line.request.value().is_some_and(|body| body.is_known()),
            Self::ControlResponse(line) => {
                line.response.value().is_some_and(|body| body.is_known())
            }
            Self::StreamEvent(line) => line.event.value().is_none_or(StreamEvent::is_known),
            _ => true,
        }
    }

    /// Whether only the oldest descriptions of the protocol have this line.
    pub fn is_legacy(&self) -> bool {
        matches!(self, Self::Error(_) | Self::System(System::Result(_)))
    }
}
