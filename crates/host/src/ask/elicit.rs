//! What MCP servers and dialogs ask the person.

use duologue_protocol::RawJson;
use duologue_protocol::control::{ElicitationReply, UserDialogReply};

/// The answer to a question of an MCP server (`Elicitation`).
#[derive(Clone, Debug)]
pub struct ElicitationAnswer(ElicitationReply);

impl ElicitationAnswer {
    /// The person has filled in the form.
    pub fn accept(content: impl Into<RawJson>) -> Self {
        Self(ElicitationReply::new().action("accept").content(content))
    }

    /// The person does not want to.
    pub fn decline() -> Self {
        Self(ElicitationReply::new().action("decline"))
    }

    /// The person has closed the form.
    pub fn cancel() -> Self {
        Self(ElicitationReply::new().action("cancel"))
    }

    pub(crate) fn reply(&self) -> &ElicitationReply {
        &self.0
    }
}

/// The answer to a dialog.
#[derive(Clone, Debug)]
pub struct DialogAnswer(UserDialogReply);

impl DialogAnswer {
    /// The person has answered.
    pub fn completed(result: impl Into<RawJson>) -> Self {
        Self(UserDialogReply::new().behavior("completed").result(result))
    }

    /// The person has closed the dialog.
    pub fn cancelled() -> Self {
        Self(UserDialogReply::new().behavior("cancelled"))
    }

    pub(crate) fn reply(&self) -> &UserDialogReply {
        &self.0
    }
}
