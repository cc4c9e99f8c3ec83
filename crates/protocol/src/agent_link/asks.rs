//! The open requests of the agent.

use std::collections::BTreeMap;

use crate::control::{AgentRequest, ControlRequestToHost};
use crate::id::RequestId;
use crate::text::Text;

/// The open requests of the agent, oldest first. Taking one out is the only way to end it.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: BTreeMap<u64, Ask>,
    made: u64,
}

#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) id: RequestId,
    pub(crate) request: Box<AgentRequest>,
    /// Whether the host was sent a line, and not only the tool call.
    pub(super) sent: bool,
}

impl Ask {
    /// The tool call that waits for the answer.
    pub(super) fn call(&self) -> Option<&str> {
        match &*self.request {
            AgentRequest::CanUseTool(ask) => ask.tool_use_id.as_str(),
            _ => None,
        }
    }

    /// Whether a user must act before the agent can continue.
    pub(super) fn is_prompt(&self) -> bool {
        matches!(
            &*self.request,
            AgentRequest::CanUseTool(_)
                | AgentRequest::Elicitation(_)
                | AgentRequest::RequestUserDialog(_)
        )
    }
}

impl Asks {
    pub(super) fn add(&mut self, id: RequestId, request: AgentRequest, sent: bool) {
        self.made += 1;
        self.open.insert(self.made, Ask { id, request: Box::new(request), sent });
    }

    pub(super) fn take(&mut self, id: &RequestId) -> Option<Ask> {
        let key = self.open.iter().find(|(_, ask)| ask.id == *id).map(|(key, _)| *key)?;
        self.open.remove(&key)
    }

    /// The oldest request about this call; without an id, the oldest request about any call.
    pub(super) fn about(&self, call: Option<&Text>) -> Option<&Ask> {
        self.open.values().find(|ask| match (ask.call(), call) {
            (Some(asked), Some(call)) => asked == call.as_str(),
            (asked, None) => asked.is_some(),
            (None, Some(_)) => false,
        })
    }

    pub(super) fn about_id(&self, id: &RequestId) -> Option<&Ask> {
        self.open.values().find(|ask| ask.id == *id)
    }

    pub(super) fn drain(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.open).into_values().collect()
    }

    /// Those that a host which joins now must know of.
    pub(super) fn waiting(
        &self,
        is_kind: impl Fn(&AgentRequest) -> bool,
    ) -> Vec<ControlRequestToHost> {
        self.open
            .values()
            .filter(|ask| ask.sent && is_kind(&ask.request))
            .map(|ask| ControlRequestToHost::of(ask.id.clone(), (*ask.request).clone()))
            .collect()
    }

    pub(super) fn wait_for_person(&self) -> bool {
        self.open.values().any(Ask::is_prompt)
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}
