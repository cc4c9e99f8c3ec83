//! Elicitations of MCP servers, and dialogs.

use duologue_protocol::RawJson;
use duologue_protocol::control::{ElicitationReply, UserDialogReply};
use duologue_protocol::host_link::Answer;

/// The answer to an elicitation of an MCP server.
#[derive(Clone, Debug)]
pub struct ElicitationAnswer(ElicitationReply);

impl ElicitationAnswer {
    /// The user has filled in the form.
    pub fn accept(content: impl Into<RawJson>) -> Self {
        Self(ElicitationReply::new().action("accept").content(content))
    }

    /// The user declines.
    pub fn decline() -> Self {
        Self(ElicitationReply::new().action("decline"))
    }

    /// The user has closed the form.
    pub fn cancel() -> Self {
        Self(ElicitationReply::new().action("cancel"))
    }

    pub(super) fn answer(&self) -> Answer {
        Answer::of(&self.0)
    }
}

/// The answer to a dialog.
#[derive(Clone, Debug)]
pub struct DialogAnswer(UserDialogReply);

impl DialogAnswer {
    /// The user has answered.
    pub fn completed(result: impl Into<RawJson>) -> Self {
        Self(UserDialogReply::new().behavior("completed").result(result))
    }

    /// The user has closed the dialog.
    pub fn cancelled() -> Self {
        Self(UserDialogReply::new().behavior("cancelled"))
    }

    pub(super) fn answer(&self) -> Answer {
        Answer::of(&self.0)
    }
}
