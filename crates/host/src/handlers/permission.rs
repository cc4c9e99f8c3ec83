//! Permission to call a tool.

use std::fmt;

use duologue_protocol::control::CanUseTool;
use duologue_protocol::host_link::Answer;
use duologue_protocol::permission::{PermissionMode, PermissionUpdate};
use duologue_protocol::tool::ToolInput;
use duologue_protocol::{RawObject, RequestId, Text};

/// A request for permission to call a tool.
#[derive(Clone, Debug)]
pub struct PermissionRequest {
    id: RequestId,
    ask: Box<CanUseTool>,
}

impl PermissionRequest {
    pub(crate) fn new(id: RequestId, ask: Box<CanUseTool>) -> Self {
        Self { id, ask }
    }

    /// The id of the request, for [`Session::respond`](crate::Session::respond).
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The tool's name.
    pub fn tool_name(&self) -> &str {
        self.ask.tool_name.as_str().unwrap_or_default()
    }

    /// The call with typed input. If it is not a built-in tool, or its input has another shape, it is
    /// `ToolInput::Other`.
    pub fn tool(&self) -> ToolInput {
        self.ask.typed_input().unwrap_or_else(|_| ToolInput::Other {
            name: Text::from(self.tool_name()),
            input: self.input(),
        })
    }

    /// The tool's input.
    pub fn input(&self) -> RawObject {
        self.ask.input.value().cloned().unwrap_or_default()
    }

    /// The permission rules that the agent suggests to add.
    pub fn suggestions(&self) -> &[PermissionUpdate] {
        self.ask.permission_suggestions.items()
    }

    /// Why the agent asks.
    pub fn reason(&self) -> Option<&str> {
        self.ask.decision_reason.as_str()
    }

    /// The whole request.
    pub fn raw(&self) -> &CanUseTool {
        &self.ask
    }
}

/// The answer to a [`PermissionRequest`].
///
/// ```
/// use duologue::handlers::{Decision, PermissionRequest};
/// use duologue::tool::ToolInput;
///
/// async fn read_only(ask: PermissionRequest) -> Decision {
///     match ask.tool() {
///         ToolInput::Read(_) | ToolInput::Grep(_) => Decision::allow(),
///         ToolInput::Bash(bash) if bash.command.as_str() == Some("git status") => Decision::allow(),
///         _ => Decision::deny("only reading is allowed"),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Decision(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Allow { input: Option<RawObject>, updates: Updates },
    Deny { message: Text, interrupt: bool },
    Later,
}

#[derive(Clone, Debug)]
enum Updates {
    None,
    Suggested,
    These(Vec<PermissionUpdate>),
}

impl Decision {
    /// Allows the call.
    pub const fn allow() -> Self {
        Self(Kind::Allow { input: None, updates: Updates::None })
    }

    /// Allows the call with another input.
    pub const fn allow_with(input: RawObject) -> Self {
        Self(Kind::Allow { input: Some(input), updates: Updates::None })
    }

    /// Allows the call and applies all suggestions of the request, so that the agent does not ask again.
    pub const fn allow_always() -> Self {
        Self(Kind::Allow { input: None, updates: Updates::Suggested })
    }

    /// Allows the call and changes permissions.
    pub fn allow_and_update(updates: impl Into<Vec<PermissionUpdate>>) -> Self {
        Self(Kind::Allow { input: None, updates: Updates::These(updates.into()) })
    }

    /// Allows the call and sets the permission mode.
    pub fn allow_and_set_mode(mode: PermissionMode) -> Self {
        Self::allow_and_update([PermissionUpdate::set_mode(mode)])
    }

    /// Denies the call. The model reads the message and continues.
    pub fn deny(message: impl Into<Text>) -> Self {
        Self(Kind::Deny { message: message.into(), interrupt: false })
    }

    /// Denies the call and ends the turn.
    pub fn deny_and_interrupt(message: impl Into<Text>) -> Self {
        Self(Kind::Deny { message: message.into(), interrupt: true })
    }

    /// Leaves the request open until [`Session::respond`](crate::Session::respond).
    pub const fn later() -> Self {
        Self(Kind::Later)
    }

    /// The answer to send; `None` if the request stays open.
    pub(crate) fn answer(self, ask: &CanUseTool) -> Option<Answer> {
        Some(Answer::of(&match self.0 {
            Kind::Allow { input: Some(input), .. } => ask.allow_with(input),
            Kind::Allow { updates: Updates::None, .. } => ask.allow(),
            Kind::Allow { updates: Updates::Suggested, .. } => ask.allow_always(),
            Kind::Allow { updates: Updates::These(updates), .. } => ask.allow_and_update(updates),
            Kind::Deny { message, interrupt: true } => ask.deny_and_interrupt(message),
            Kind::Deny { message, interrupt: false } => ask.deny(message),
            Kind::Later => return None,
        }))
    }
}

impl fmt::Display for PermissionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool_name(), self.input().as_json())
    }
}
