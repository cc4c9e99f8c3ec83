//! Who answers what.

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
    /// Tools that were added one by one.
    #[cfg(feature = "mcp")]
    pub(crate) tools: Option<mcp::Server>,
    pub(crate) elicitation: Option<Handler<Elicitation, ElicitationAnswer>>,
    pub(crate) dialog: Option<Handler<RequestUserDialog, DialogAnswer>>,
    pub(crate) dialog_kinds: Vec<String>,
    pub(crate) other: HashMap<String, Handler<RawObject, Result<RawJson, String>>>,
    /// What nobody answers here stays open, for the program to answer.
    pub(crate) by_hand: bool,
    /// How long a person may take.
    pub(crate) deadline: Option<Duration>,
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
