//! [`Elicitor`]: questions of MCP servers for the user, which the host answers.

use std::sync::{Arc, Mutex};

use duologue_agent::Session;
use duologue_protocol::control::{Elicitation, ElicitationReply};
use duologue_protocol::{RawObject, Text};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability,
};
use rmcp::service::{RequestContext, RoleClient};
use serde_json::Value;

use crate::shared::lock;

/// Passes the questions of servers on to the host.
#[derive(Clone, Debug, Default)]
pub(super) struct Elicitor(Arc<Mutex<Option<Session>>>);

impl Elicitor {
    /// The session whose host answers.
    pub(super) fn set_session(&self, session: &Session) {
        lock(&self.0).get_or_insert_with(|| session.clone());
    }

    /// What a server of this name talks to.
    pub(super) fn handler(&self, server: &str) -> Handler {
        Handler { elicitor: self.clone(), server: server.to_owned() }
    }

    async fn ask(&self, server: &str, asked: &Value) -> Option<ElicitationReply> {
        let session = lock(&self.0).clone()?;
        let text = |name: &str| asked[name].as_str().map(Text::from);
        let is_url = asked["mode"] == "url" || asked["url"].is_string();
        let mut request = Elicitation::new()
            .mcp_server_name(server)
            .message(text("message").unwrap_or_default())
            .mode(if is_url { "url" } else { "form" });
        request.url = text("url").into();
        request.elicitation_id = text("elicitationId").into();
        request.requested_schema =
            asked.get("requestedSchema").and_then(|schema| RawObject::of(schema).ok()).into();
        session.ask_for(request).await.ok()
    }
}

/// The client's side of a server.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    elicitor: Elicitor,
    server: String,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        info.capabilities = capabilities;
        info
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        let asked = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.elicitor.ask(&self.server, &asked).await;
        let action = answer.as_ref().and_then(|answer| answer.action.as_str()).map(str::to_owned);
        let action = match action.as_deref() {
            Some("accept") => ElicitationAction::Accept,
            Some("cancel") => ElicitationAction::Cancel,
            _ => ElicitationAction::Decline,
        };
        let content = answer.and_then(|answer| answer.content.into_value());
        let content = content.and_then(|content| content.to_value_lossy().ok());
        let result = ElicitResult::new(action);
        Ok(match content {
            Some(content @ Value::Object(_)) => result.with_content(content),
            _ => result,
        })
    }
}
