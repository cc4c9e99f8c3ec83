//! The requests of the agent, and the handlers that answer them.
//!
//! Each kind of request has a request type and an answer type. Handlers are given to the
//! [`SessionBuilder`](crate::SessionBuilder). A request without a handler is denied.
//!
//! | request | handler | answer |
//! |---|---|---|
//! | [`PermissionRequest`] | [`on_permission`](crate::SessionBuilder::on_permission) | [`Decision`] |
//! | [`QuestionRequest`] | [`on_question`](crate::SessionBuilder::on_question) | [`QuestionAnswer`] |
//! | [`PlanRequest`] | [`on_plan`](crate::SessionBuilder::on_plan) | [`PlanDecision`] |
//! | [`HookCall`] | [`hook`](crate::SessionBuilder::hook) | [`HookOutput`](duologue_protocol::hook::HookOutput) |
//! | [`Elicitation`] | [`on_elicitation`](crate::SessionBuilder::on_elicitation) | [`ElicitationAnswer`] |
//! | [`RequestUserDialog`] | [`on_dialog`](crate::SessionBuilder::on_dialog) | [`DialogAnswer`] |
//! | MCP messages | [`mcp`](crate::SessionBuilder::mcp) | see [the module](crate::mcp) |
//! | any other | [`on_request`](crate::SessionBuilder::on_request) | a payload or an error |
//!
//! [`answer_within`](crate::SessionBuilder::answer_within) limits the time for all of them, except hooks, which
//! have a timeout of their own.

mod elicitation;
mod hook;
mod permission;
mod question;
mod serve;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::{Elicitation, RequestUserDialog};
use duologue_protocol::{RawJson, RawObject};

#[cfg(feature = "mcp")]
use crate::mcp;
use crate::mcp::McpServer;

pub use duologue_protocol::hook::HookEvent;
pub use elicitation::{DialogAnswer, ElicitationAnswer};
pub use hook::{Hook, HookCall};
pub use permission::{Decision, PermissionRequest};
pub use question::{PlanDecision, PlanRequest, QuestionAnswer, QuestionRequest};

pub(crate) use serve::{LeftOpen, Server, callback_name};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(crate) type Handler<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<A> + Send + Sync>;

pub(crate) fn boxed<T>(future: impl Future<Output = T> + Send + 'static) -> BoxFuture<T> {
    Box::pin(future)
}

/// The handlers of a session. Requests without a handler are denied.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) permission: Option<Handler<PermissionRequest, Decision>>,
    pub(crate) question: Option<Handler<QuestionRequest, QuestionAnswer>>,
    pub(crate) plan: Option<Handler<PlanRequest, PlanDecision>>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) mcp: Vec<Arc<dyn McpServer>>,
    /// Tools that were added one by one.
    #[cfg(feature = "mcp")]
    pub(crate) tools: Option<mcp::Server>,
    pub(crate) elicitation: Option<Handler<Elicitation, ElicitationAnswer>>,
    pub(crate) dialog: Option<Handler<RequestUserDialog, DialogAnswer>>,
    pub(crate) dialog_kinds: Vec<String>,
    pub(crate) other: HashMap<String, Handler<RawObject, Result<RawJson, String>>>,
    /// Requests without a handler stay open, for the program to answer.
    pub(crate) by_hand: bool,
    /// The time limit for each answer.
    pub(crate) answer_within: Option<Duration>,
    /// The time limit for MCP messages, if it differs.
    pub(crate) mcp_within: Option<Duration>,
}

/// The name of the MCP server that holds tools that were added one by one.
#[cfg(feature = "mcp")]
const TOOLS: &str = "tools";

impl Handlers {
    /// Adds a tool to the server that holds tools that were added one by one.
    #[cfg(feature = "mcp")]
    pub(crate) fn add_tool(&mut self, tool: mcp::Tool) {
        let tools = self.tools.take().unwrap_or_else(|| mcp::server(TOOLS));
        self.tools = Some(tools.tool(tool));
    }

    /// All MCP servers.
    pub(crate) fn mcp_servers(&self) -> Vec<Arc<dyn McpServer>> {
        #[cfg_attr(not(feature = "mcp"), expect(unused_mut, reason = "there are no tools to add"))]
        let mut servers = self.mcp.clone();
        #[cfg(feature = "mcp")]
        if let Some(tools) = &self.tools {
            servers.push(Arc::new(tools.clone()));
        }
        servers
    }

    /// Whether the agent should ask this host for permissions.
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
            .field(
                "mcp",
                &self
                    .mcp_servers()
                    .iter()
                    .map(|server| server.name().to_owned())
                    .collect::<Vec<_>>(),
            )
            .field("by_hand", &self.by_hand)
            .finish_non_exhaustive()
    }
}
