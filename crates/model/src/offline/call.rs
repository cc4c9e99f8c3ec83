//! What a step is.

use serde_json::Value;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Something is said.
    Say { asked: String, text: String, pause_ms: u64 },
    /// Something is thought.
    Think { asked: String, text: String },
    /// A tool is called.
    Call(Call),
}

/// A tool that is to be called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    /// In whose words.
    pub(super) asked: String,
    /// What is said before.
    pub(super) intent: String,
    pub(super) tool: String,
    pub(super) input: Value,
}

impl Step {
    pub(super) fn asked(&self) -> &str {
        match self {
            Self::Say { asked, .. } | Self::Think { asked, .. } => asked,
            Self::Call(call) => &call.asked,
        }
    }
}
