//! [`Verdict`]: what the rules of an agent decide about a call.

use std::path::PathBuf;

use duologue_protocol::Text;
use duologue_protocol::control::{CanUseTool, DecisionReasonType};
use duologue_protocol::hook::McpServerRef;
use duologue_protocol::permission::PermissionUpdate;

/// Whether a tool may run.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever reads a verdict has to handle each")]
pub enum Verdict {
    /// It may run.
    Allow(Reason),
    /// It may not run.
    Deny(Denial),
    /// The host is asked.
    Ask(Box<Ask>),
}

impl Verdict {
    /// A denial. The model reads the message.
    pub fn deny(message: impl Into<String>, reason: Reason) -> Self {
        Self::Deny(Denial { message: message.into(), reason })
    }

    /// Whether it may run without asking.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }
}

/// What decided: `reason_type` on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A rule.
    Rule,
    /// The permission mode.
    Mode,
    /// Every part of a command line.
    SubcommandResults,
    /// A path outside of the allowed directories.
    WorkingDir,
    /// A file or folder that needs an explicit approval.
    SafetyCheck,
    /// The tool needs no permission.
    NeverAsked,
    /// Something else.
    Other,
}

impl Reason {
    /// Its name on the wire: `subcommandResults`. A tool that needs no permission has no reason.
    pub const fn as_str(self) -> Option<&'static str> {
        Some(match self {
            Self::Rule => "rule",
            Self::Mode => "mode",
            Self::SubcommandResults => "subcommandResults",
            Self::WorkingDir => "workingDir",
            Self::SafetyCheck => "safetyCheck",
            Self::Other => "other",
            Self::NeverAsked => return None,
        })
    }
}

/// Why a tool may not run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Denial {
    /// What the model reads.
    pub message: String,
    /// What decided.
    pub reason: Reason,
}

/// A question to the host: the fields of `can_use_tool` that depend on rules.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "rules fill it in with `..Ask::default()`")]
pub struct Ask {
    /// What the person may allow permanently. Absent where the CLI sends none.
    pub suggestions: Option<Vec<PermissionUpdate>>,
    /// The path in question.
    pub blocked_path: Option<PathBuf>,
    /// Why the host is asked, for people.
    pub decision_reason: Option<String>,
    /// What decided that the host is asked.
    pub decision_reason_type: Option<Reason>,
    /// What the call does, for people.
    pub description: Option<String>,
    /// What the tool is called, for people.
    pub display_name: Option<String>,
    /// The MCP server of the tool.
    pub mcp_server: Option<McpServerRef>,
    /// Whether only a person can answer.
    pub requires_user_interaction: bool,
    /// Whether the CLI marks it so: everything but commands and questions.
    pub server_policy_ask_only: bool,
    /// What the model reads if the host cannot be asked.
    pub message: String,
}

impl Ask {
    /// A question about a tool that no rule allows. The words of the message are the CLI's own.
    pub fn for_tool(tool: &str) -> Self {
        let message =
            format!("Claude requested permissions to use {tool}, but you haven't granted it yet.");
        Self { message, ..Self::default() }
    }

    /// The request to the host. The emitter fills in the call.
    pub fn to_request(&self) -> CanUseTool {
        let text = |text: &Option<String>| text.as_deref().map(Text::from);
        let mut request = CanUseTool::new();
        request.permission_suggestions = self.suggestions.clone().into();
        let path = self.blocked_path.as_ref().map(|path| path.to_string_lossy().into_owned());
        request.blocked_path = text(&path).into();
        request.decision_reason = text(&self.decision_reason).into();
        request.description = text(&self.description).into();
        request.display_name = text(&self.display_name).into();
        request.mcp_server = self.mcp_server.clone().into();
        let kind = self.decision_reason_type.and_then(Reason::as_str);
        request.decision_reason_type = kind.map(DecisionReasonType::from).into();
        if self.requires_user_interaction {
            request = request.requires_user_interaction(true);
        }
        if self.server_policy_ask_only {
            request = request.server_policy_ask_only(true);
        }
        request
    }
}
