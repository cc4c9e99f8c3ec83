//! [`Client`]: what the client can do.

use agent_client_protocol::v1::schema::{ClientCapabilities, InitializeRequest};
use serde_json::Value;

/// The capabilities of the client that make a difference here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// It shows forms.
    pub(crate) forms: bool,
    /// It opens URLs.
    pub(crate) urls: bool,
    /// It shows notices.
    pub(crate) notices: bool,
    /// It shows compactions.
    pub(crate) compaction: bool,
    /// It runs logins in a terminal.
    pub(crate) terminal_auth: bool,
    /// It shows the output of commands in a terminal of its own: the extension `terminal_output`.
    pub(crate) terminal_output: bool,
}

impl Client {
    pub(crate) fn of(request: &InitializeRequest) -> Self {
        let ClientCapabilities { session, auth, elicitation, meta, .. } =
            &request.client_capabilities;
        let session = session.as_ref();
        let elicitation = elicitation.as_ref();
        let extension = |name: &str| {
            meta.as_ref()
                .and_then(|meta| meta.get(name))
                .and_then(Value::as_bool)
                .unwrap_or_default()
        };
        Self {
            forms: elicitation.is_some_and(|it| it.form.is_some()),
            urls: elicitation.is_some_and(|it| it.url.is_some()),
            notices: session.is_some_and(|it| it.notices.is_some()),
            compaction: session.is_some_and(|it| it.compaction.is_some()),
            terminal_auth: auth.terminal || extension("terminal-auth"),
            terminal_output: extension("terminal_output"),
        }
    }
}
