//! [`Servers`]: the tools of MCP servers.

mod client;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duologue_protocol::system::{InitMcpServer, McpStatus};
use duologue_protocol::{RawJson, RawObject, Text};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::shared::lock;
use crate::tools::ToolOutput;
use client::Client;
use duologue_agent::Session;

/// How long a server may take to list its tools.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// MCP servers, by name.
#[derive(Debug)]
pub(super) struct Servers {
    /// Those that the host does not serve itself.
    configured: Vec<(String, Value)>,
    cwd: PathBuf,
    known: Mutex<Vec<Server>>,
    /// Held while servers are being connected, so that it happens once.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
struct Server {
    name: String,
    tools: Vec<Value>,
    state: State,
    /// How it is reached; through the host if there is nothing.
    client: Option<Arc<Client>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Connected,
    Failed(String),
}

impl Servers {
    pub(super) fn new(configured: &Map<String, Value>, cwd: &Path) -> Self {
        let configured = configured.iter().filter(|(_, server)| server["type"] != "sdk");
        Self {
            configured: configured.map(|(name, server)| (name.clone(), server.clone())).collect(),
            cwd: cwd.to_owned(),
            known: Mutex::default(),
            connecting: tokio::sync::Mutex::new(()),
        }
    }

    /// Connects what is not connected yet. A server that fails is tried again the next time.
    pub(super) async fn connect(&self, session: &Session) {
        let _one_at_a_time = self.connecting.lock().await;
        for name in session.host_servers() {
            if self.state_of(&name) == Some(State::Connected) {
                continue;
            }
            let listed = timeout(CONNECT_TIMEOUT, session.mcp_tools(&name)).await;
            let listed = listed.map_err(|_| "the server did not answer in time".to_owned());
            let listed = listed.and_then(|listed| listed.map_err(|error| error.to_string()));
            self.note(&name, listed.map(|tools| (tools, None)));
        }
        for (name, config) in &self.configured {
            // One that failed is not tried again.
            if self.state_of(name).is_some() {
                continue;
            }
            let connected = timeout(CONNECT_TIMEOUT, Client::connect(config, &self.cwd)).await;
            let connected = connected.map_err(|_| "the server did not answer in time".to_owned());
            let connected = connected.and_then(|connected| connected);
            self.note(name, connected.map(|(client, tools)| (tools, Some(Arc::new(client)))));
        }
    }

    /// Lists the tools of a server of the host again.
    pub(super) async fn list_again(&self, session: &Session, name: &str) {
        let _one_at_a_time = self.connecting.lock().await;
        if self.state_of(name) != Some(State::Connected) {
            return;
        }
        let listed = timeout(CONNECT_TIMEOUT, session.mcp_tools_again(name)).await;
        let listed = listed.map_err(|_| "the server did not answer in time".to_owned());
        let listed = listed.and_then(|listed| listed.map_err(|error| error.to_string()));
        self.note(name, listed.map(|tools| (tools, None)));
    }

    fn note(&self, name: &str, connected: Result<(Vec<Value>, Option<Arc<Client>>), String>) {
        let (tools, client, state) = match connected {
            Ok((tools, client)) => (tools, client, State::Connected),
            Err(error) => (Vec::new(), None, State::Failed(error)),
        };
        let server = Server { name: name.to_owned(), tools, state, client };
        let mut known = lock(&self.known);
        known.retain(|other| other.name != name);
        known.push(server);
    }

    fn state_of(&self, name: &str) -> Option<State> {
        let known = lock(&self.known);
        known.iter().find(|server| server.name == name).map(|server| server.state.clone())
    }

    /// Whether there is a server of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.state_of(name).is_some()
    }

    /// Their status, for `init`.
    pub(super) fn listed(&self) -> Vec<InitMcpServer> {
        let known = lock(&self.known);
        let listed = known.iter().map(|server| {
            let status = match server.state {
                State::Connected => McpStatus::Connected,
                State::Failed(_) => McpStatus::Failed,
            };
            let mut told = InitMcpServer::new().name(&*server.name).status(status);
            let is_hosts = !self.configured.iter().any(|(name, _)| *name == server.name);
            told.source = is_hosts.then_some("sdk").map(Text::from).into();
            told
        });
        listed.collect()
    }

    /// Forgets a server, so that it is connected again.
    pub(super) fn forget(&self, name: &str) {
        lock(&self.known).retain(|server| server.name != name);
    }

    /// Their tools, as the Messages API takes them.
    pub(super) fn definitions(&self) -> Vec<Value> {
        let known = lock(&self.known);
        let tools = known.iter().flat_map(|server| {
            server.tools.iter().map(|tool| {
                let schema = tool.get("inputSchema").cloned();
                json!({
                    "name": full_name(&server.name, tool["name"].as_str().unwrap_or_default()),
                    "description": tool["description"].as_str().unwrap_or_default(),
                    "input_schema": schema.unwrap_or_else(|| json!({ "type": "object" })),
                })
            })
        });
        tools.collect()
    }

    /// Finds a tool of a server by the name that the model uses.
    pub(super) fn find(&self, full: &str) -> Option<Found> {
        let known = lock(&self.known);
        known.iter().find_map(|server| {
            let tool = server.tools.iter().find(|tool| {
                full_name(&server.name, tool["name"].as_str().unwrap_or_default()) == full
            })?;
            Some(Found {
                server: server.name.clone(),
                tool: tool["name"].as_str().unwrap_or_default().to_owned(),
                is_read_only: tool["annotations"]["readOnlyHint"] == true,
                client: server.client.clone(),
            })
        })
    }

    /// Their status, for `mcp_status`.
    pub(super) fn status(&self) -> Vec<Value> {
        let known = lock(&self.known);
        let status = known.iter().map(|server| {
            let tools: Vec<Value> = server
                .tools
                .iter()
                .map(|tool| json!({ "name": tool["name"], "annotations": tool.get("annotations").cloned().unwrap_or_else(|| json!({})) }))
                .collect();
            match &server.state {
                State::Connected => {
                    json!({ "name": server.name, "status": "connected", "tools": tools })
                }
                State::Failed(error) => {
                    json!({ "name": server.name, "status": "failed", "error": error })
                }
            }
        });
        status.collect()
    }

    /// Calls a tool.
    pub(super) async fn run(
        &self,
        session: &Session,
        found: &Found,
        input: &RawObject,
        call: &str,
    ) -> ToolOutput {
        let result = match &found.client {
            Some(client) => client.call(&found.tool, input).await,
            None => {
                let called = session.mcp_call(&found.server, &found.tool, input, call).await;
                called.map_err(|error| error.to_string())
            }
        };
        match result {
            Ok(result) => tool_output(&result),
            Err(error) => ToolOutput::failed(error),
        }
    }
}

/// A tool of a server.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) is_read_only: bool,
    client: Option<Arc<Client>>,
}

impl Found {
    /// Whether the host itself serves it.
    pub(super) const fn is_hosts(&self) -> bool {
        self.client.is_none()
    }

    /// What people are shown: its name, as a word.
    pub(super) fn title(&self) -> String {
        let words = self.tool.replace(['_', '-'], " ");
        let mut characters = words.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(characters).collect()
    }
}

/// The name by which the model calls a tool: `mcp__server__tool`.
fn full_name(server: &str, tool: &str) -> String {
    let plain = |text: &str| -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        text.chars().map(plain).collect()
    };
    format!("mcp__{}__{}", plain(server), plain(tool))
}

/// The result of MCP, as a tool's.
fn tool_output(result: &Value) -> ToolOutput {
    let content = result["content"].as_array().cloned().unwrap_or_default();
    let blocks: Vec<Value> = content.iter().map(block).collect();
    if result["isError"] == true {
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        return ToolOutput::failed(texts.join("\n"));
    }
    let for_host = RawJson::from(json!(blocks));
    ToolOutput::blocks(blocks.into_iter().map(RawJson::from).collect(), for_host)
}

/// A block of MCP, as the Messages API has it.
fn block(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("image") => json!({ "type": "image", "source": {
            "type": "base64", "data": block["data"], "media_type": block["mimeType"],
        }}),
        Some("text") => json!({ "type": "text", "text": block["text"] }),
        Some("resource") => {
            let text = block["resource"]["text"].as_str().unwrap_or_default();
            json!({ "type": "text", "text": Text::from(text).as_str() })
        }
        _ => json!({ "type": "text", "text": block.to_string() }),
    }
}
