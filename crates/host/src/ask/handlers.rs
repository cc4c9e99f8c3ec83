//! Who answers what.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::{Elicitation, RequestUserDialog};
use duologue_protocol::{RawJson, RawObject};

use crate::mcp::McpServer;

use super::elicit::{DialogAnswer, ElicitationAnswer};
use super::hook::Hook;
use super::permission::{Decision, PermissionRequest};
use super::person::{PlanDecision, PlanRequest, QuestionAnswer, QuestionRequest};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(crate) type Handler<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<A> + Send + Sync>;

pub(crate) fn boxed<T>(future: impl Future<Output = T> + Send + 'static) -> BoxFuture<T> {
    Box::pin(future)
}

/// Who answers what. Nobody by default, which means no.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) permission: Option<Handler<PermissionRequest, Decision>>,
    pub(crate) question: Option<Handler<QuestionRequest, QuestionAnswer>>,
    pub(crate) plan: Option<Handler<PlanRequest, PlanDecision>>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) mcp: Vec<Arc<dyn McpServer>>,
    pub(crate) elicitation: Option<Handler<Elicitation, ElicitationAnswer>>,
    pub(crate) dialog: Option<Handler<RequestUserDialog, DialogAnswer>>,
    pub(crate) dialog_kinds: Vec<String>,
    pub(crate) other: HashMap<String, Handler<RawObject, Result<RawJson, String>>>,
    /// What nobody answers here stays open, for the program to answer.
    pub(crate) by_hand: bool,
    /// How long a person may take.
    pub(crate) deadline: Option<Duration>,
}

impl Handlers {
    /// Whether the host wants to be asked for permission.
    pub(crate) fn wants_permissions(&self) -> bool {
        self.by_hand || self.permission.is_some() || self.question.is_some() || self.plan.is_some()
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("permission", &self.permission.is_some())
            .field("question", &self.question.is_some())
            .field("plan", &self.plan.is_some())
            .field("hooks", &self.hooks)
            .field("mcp", &self.mcp.iter().map(|server| server.name()).collect::<Vec<_>>())
            .field("by_hand", &self.by_hand)
            .finish_non_exhaustive()
    }
}
