//! May this tool be called?

use std::fmt;

use duologue_protocol::control::CanUseTool;
use duologue_protocol::permission::{PermissionMode, PermissionResult, PermissionUpdate};
use duologue_protocol::tool::ToolInput;
use duologue_protocol::{RawObject, RequestId, Text};

/// The agent asks whether it may call a tool.
#[derive(Clone, Debug)]
pub struct PermissionRequest {
    id: RequestId,
    ask: Box<CanUseTool>,
}

impl PermissionRequest {
    pub(crate) fn new(id: RequestId, ask: Box<CanUseTool>) -> Self {
        Self { id, ask }
    }

    /// Names the request, for [`Session::respond`](crate::Session::respond).
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The tool's name.
    pub fn tool_name(&self) -> &str {
        self.ask.tool_name.as_str().unwrap_or_default()
    }

    /// The call, as the built-in tool of that name takes it. What is no built-in tool, or does not
    /// look like one, is `ToolInput::Other`.
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

    /// What could be allowed for good.
    pub fn suggestions(&self) -> &[PermissionUpdate] {
        self.ask.permission_suggestions.items()
    }

    /// Why it is asked.
    pub fn reason(&self) -> Option<&str> {
        self.ask.decision_reason.as_str()
    }

    /// Everything that was asked.
    pub fn raw(&self) -> &CanUseTool {
        &self.ask
    }
}

/// The answer to a [`PermissionRequest`].
///
/// ```
/// use duologue::ask::{Decision, PermissionRequest};
/// use duologue::protocol::tool::ToolInput;
///
/// async fn look_but_do_not_touch(ask: PermissionRequest) -> Decision {
///     match ask.tool() {
///         ToolInput::Read(_) | ToolInput::Grep(_) => Decision::allow(),
///         ToolInput::Bash(bash) if bash.command.as_str() == Some("git status") => Decision::allow(),
///         _ => Decision::deny("look, but do not touch"),
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
    /// Yes, as it was asked.
    pub const fn allow() -> Self {
        Self(Kind::Allow { input: None, updates: Updates::None })
    }

    /// Yes, with another input.
    pub const fn allow_with(input: RawObject) -> Self {
        Self(Kind::Allow { input: Some(input), updates: Updates::None })
    }

    /// Yes, now and always: all suggestions of the request are taken.
    pub const fn allow_always() -> Self {
        Self(Kind::Allow { input: None, updates: Updates::Suggested })
    }

    /// Yes, and change the permissions.
    pub fn allow_and_update(updates: impl Into<Vec<PermissionUpdate>>) -> Self {
        Self(Kind::Allow { input: None, updates: Updates::These(updates.into()) })
    }

    /// Yes, and go on in this mode.
    pub fn allow_and_set_mode(mode: PermissionMode) -> Self {
        Self::allow_and_update([PermissionUpdate::set_mode(mode)])
    }

    /// No; the model reads the message and goes on.
    pub fn deny(message: impl Into<Text>) -> Self {
        Self(Kind::Deny { message: message.into(), interrupt: false })
    }

    /// No, and the turn ends.
    pub fn deny_and_interrupt(message: impl Into<Text>) -> Self {
        Self(Kind::Deny { message: message.into(), interrupt: true })
    }

    /// Not now: the request stays open until [`Session::respond`](crate::Session::respond).
    pub const fn later() -> Self {
        Self(Kind::Later)
    }

    /// The answer as it stands on the wire; `None` for later.
    pub(crate) fn result(self, ask: &CanUseTool) -> Option<PermissionResult> {
        Some(match self.0 {
            Kind::Allow { input: Some(input), .. } => ask.allow_with(input),
            Kind::Allow { updates: Updates::None, .. } => ask.allow(),
            Kind::Allow { updates: Updates::Suggested, .. } => ask.allow_always(),
            Kind::Allow { updates: Updates::These(updates), .. } => ask.allow_and_update(updates),
            Kind::Deny { message, interrupt: true } => ask.deny_and_interrupt(message),
            Kind::Deny { message, interrupt: false } => ask.deny(message),
            Kind::Later => return None,
        })
    }
}

impl fmt::Display for PermissionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool_name(), self.input().as_json())
    }
}
