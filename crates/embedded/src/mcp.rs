//! [`Servers`]: the tools of MCP servers.

mod client;
mod elicitation;

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
use elicitation::Elicitor;

/// How long a server may take to list its tools.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// MCP servers, by name.
#[derive(Debug)]
pub(super) struct Servers {
    /// Those that the host does not serve itself.
    configured: Mutex<Vec<(String, Value)>>,
    /// Those that the host turned off.
    disabled: Mutex<Vec<String>>,
    cwd: PathBuf,
    known: Mutex<Vec<Server>>,
    /// Held while servers are being connected, so that it happens once.
    connecting: tokio::sync::Mutex<()>,
    elicitor: Elicitor,
}

#[derive(Clone, Debug)]
struct Server {
    name: String,
    tools: Vec<Value>,
    /// What it reports about itself: `name` and `version`.
    info: Value,
    state: State,
    /// How it is reached; through the host if there is nothing.
    client: Option<Arc<Client>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Connected,
    Failed(String),
}

/// What a server reports about itself, its tools, and how it is reached.
type Connected = (Value, Vec<Value>, Option<Arc<Client>>);

impl Servers {
    pub(super) fn new(configured: &Map<String, Value>, cwd: &Path) -> Self {
        let configured = configured.iter().filter(|(_, server)| server["type"] != "sdk");
        let configured = configured.map(|(name, server)| (name.clone(), server.clone())).collect();
        Self {
            configured: Mutex::new(configured),
            disabled: Mutex::default(),
            cwd: cwd.to_owned(),
            known: Mutex::default(),
            connecting: tokio::sync::Mutex::new(()),
            elicitor: Elicitor::default(),
        }
    }

    /// Connects what is not connected yet. A server that fails is tried again the next time.
    pub(super) async fn connect(&self, session: &Session) {
        let _one_at_a_time = self.connecting.lock().await;
        self.elicitor.set_session(session);
        for name in session.host_servers() {
            if self.state_of(&name) == Some(State::Connected) || self.is_disabled(&name) {
                continue;
            }
            let listed = timeout(CONNECT_TIMEOUT, session.mcp_connect(&name)).await;
            let listed = listed.map_err(|_| "the server did not answer in time".to_owned());
            let listed = listed.and_then(|listed| listed.map_err(|error| error.to_string()));
            self.note(&name, listed.map(|(info, tools)| (info, tools, None)));
        }
        let configured = lock(&self.configured).clone();
        for (name, config) in &configured {
            // One that failed is not tried again.
            if self.state_of(name).is_some() || self.is_disabled(name) {
                continue;
            }
            let connecting = Client::connect(name, config, &self.cwd, &self.elicitor);
            let connected = timeout(CONNECT_TIMEOUT, connecting).await;
            let connected = connected.map_err(|_| "the server did not answer in time".to_owned());
            let connected = connected.and_then(|connected| connected);
            self.note(
                name,
                connected.map(|(client, info, tools)| (info, tools, Some(Arc::new(client)))),
            );
        }
    }

    /// Lists the tools of a server of the host again.
    pub(super) async fn list_again(&self, session: &Session, name: &str) {
        let _one_at_a_time = self.connecting.lock().await;
        if self.state_of(name) != Some(State::Connected) {
            return;
        }
        let info = lock(&self.known)
            .iter()
            .find(|server| server.name == name)
            .map(|server| server.info.clone());
        let listed = timeout(CONNECT_TIMEOUT, session.mcp_tools_again(name)).await;
        let listed = listed.map_err(|_| "the server did not answer in time".to_owned());
        let listed = listed.and_then(|listed| listed.map_err(|error| error.to_string()));
        self.note(name, listed.map(|tools| (info.unwrap_or_default(), tools, None)));
    }

    fn note(&self, name: &str, connected: Result<Connected, String>) {
        let (info, tools, client, state) = match connected {
            Ok((info, tools, client)) => (info, tools, client, State::Connected),
            Err(error) => (Value::Null, Vec::new(), None, State::Failed(error)),
        };
        let server = Server { name: name.to_owned(), tools, info, state, client };
        let mut known = lock(&self.known);
        known.retain(|other| other.name != name);
        known.push(server);
    }

    fn state_of(&self, name: &str) -> Option<State> {
        let known = lock(&self.known);
        known.iter().find(|server| server.name == name).map(|server| server.state.clone())
    }

    fn is_disabled(&self, name: &str) -> bool {
        lock(&self.disabled).iter().any(|disabled| disabled == name)
    }

    fn config_of(&self, name: &str) -> Option<Value> {
        let configured = lock(&self.configured);
        configured.iter().find(|(known, _)| known == name).map(|(_, config)| config.clone())
    }

    /// Whether there is a server of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.state_of(name).is_some() || self.is_disabled(name) || self.config_of(name).is_some()
    }

    /// Why a server could not be connected.
    pub(super) fn failure(&self, name: &str) -> Option<String> {
        match self.state_of(name) {
            Some(State::Failed(error)) => Some(error),
            _ => None,
        }
    }

    /// Turns a server off or on.
    pub(super) fn toggle(&self, name: &str, is_on: bool) {
        let mut disabled = lock(&self.disabled);
        disabled.retain(|other| other != name);
        if !is_on {
            disabled.push(name.to_owned());
        }
        drop(disabled);
        self.forget(name);
    }

    /// Adds or replaces a server that the host configures while it runs.
    pub(super) fn configure(&self, name: &str, config: &Value) {
        let mut config = config.clone();
        config["scope"] = json!("dynamic");
        let mut configured = lock(&self.configured);
        if configured.iter().any(|(known, old)| known == name && *old == config) {
            return;
        }
        configured.retain(|(known, _)| known != name);
        configured.push((name.to_owned(), config));
        drop(configured);
        self.forget(name);
    }

    /// Removes a server that the host has configured.
    pub(super) fn remove(&self, name: &str) {
        lock(&self.configured).retain(|(known, _)| known != name);
        lock(&self.disabled).retain(|other| other != name);
        self.forget(name);
    }

    /// The servers that the host has configured while it runs.
    pub(super) fn dynamic(&self) -> Vec<String> {
        let configured = lock(&self.configured);
        let dynamic = configured.iter().filter(|(_, config)| config["scope"] == "dynamic");
        dynamic.map(|(name, _)| name.clone()).collect()
    }

    /// Adds the servers of plugins.
    pub(super) fn add(&self, servers: Vec<(String, Value)>) {
        let mut configured = lock(&self.configured);
        for (name, config) in servers {
            if !configured.iter().any(|(known, _)| *known == name) {
                configured.push((name, config));
            }
        }
    }

    /// Where a server is configured.
    fn source(&self, name: &str) -> String {
        match self.config_of(name) {
            None => "sdk".to_owned(),
            Some(config) => config["scope"].as_str().unwrap_or("dynamic").to_owned(),
        }
    }

    /// Their status, for `init`.
    pub(super) fn listed(&self) -> Vec<InitMcpServer> {
        let known = lock(&self.known).clone();
        let disabled = lock(&self.disabled).clone();
        let connected = known.iter().map(|server| {
            let status = match server.state {
                State::Connected => McpStatus::Connected,
                State::Failed(_) => McpStatus::Failed,
            };
            (server.name.clone(), status)
        });
        let disabled = disabled.into_iter().map(|name| (name, McpStatus::Disabled));
        let listed = connected.chain(disabled).map(|(name, status)| {
            InitMcpServer::new().name(&*name).status(status).source(self.source(&name))
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
        let known = lock(&self.known).clone();
        let disabled = lock(&self.disabled).clone();
        let connected = known.iter().map(|server| {
            let mut status = json!({ "name": server.name });
            match &server.state {
                State::Connected => {
                    status["status"] = json!("connected");
                    if !server.info.is_null() {
                        status["serverInfo"] = server.info.clone();
                    }
                    self.describe(&mut status);
                    status["tools"] = server.tools.iter().map(described).collect();
                }
                State::Failed(error) => {
                    status["status"] = json!("failed");
                    status["error"] = json!(error);
                    self.describe(&mut status);
                }
            }
            status
        });
        let disabled = disabled.iter().map(|name| {
            let mut status = json!({ "name": name, "status": "disabled" });
            self.describe(&mut status);
            status
        });
        connected.chain(disabled).collect()
    }

    /// Adds how a server is configured.
    fn describe(&self, status: &mut Value) {
        let name = status["name"].as_str().unwrap_or_default().to_owned();
        let source = self.source(&name);
        let mut config = match self.config_of(&name) {
            Some(config) => config,
            None => json!({ "type": "sdk", "name": name }),
        };
        if let Some(config) = config.as_object_mut() {
            config.remove("scope");
            config.entry("type").or_insert_with(|| json!("stdio"));
        }
        status["transport"] = config["type"].clone();
        status["config"] = config;
        status["scope"] = json!(match source.as_str() {
            "plugin" | "sdk" => "dynamic",
            scope => scope,
        });
        status["source"] = json!(source);
    }

    /// Uses the handshake of a server of the host that was done beforehand. Returns what became of it.
    pub(super) fn park(&self, name: &str, manifest: &Value) -> &'static str {
        if self.state_of(name).is_some() {
            return "already_connected";
        }
        let (hello, listed) = (&manifest["initializeResult"], &manifest["toolsListResult"]);
        if !hello.is_object() {
            return "malformed";
        }
        if hello["protocolVersion"] != duologue_agent::MCP_VERSION {
            return "protocol_version_mismatch";
        }
        match listed["tools"].as_array() {
            Some(tools) => {
                self.note(name, Ok((hello["serverInfo"].clone(), tools.clone(), None)));
                "parked"
            }
            // The tools are asked for, as without it.
            None => "parked",
        }
    }

    /// Calls a tool; the result is that of MCP.
    pub(super) async fn call(
        &self,
        session: &Session,
        found: &Found,
        input: &RawObject,
        call: &str,
    ) -> Result<Value, String> {
        match &found.client {
            Some(client) => client.call(&found.tool, input).await,
            None => {
                let called = session.mcp_call(&found.server, &found.tool, input, call).await;
                called.map_err(|error| error.to_string())
            }
        }
    }

    /// Calls a tool.
    pub(super) async fn run(
        &self,
        session: &Session,
        found: &Found,
        input: &RawObject,
        call: &str,
    ) -> ToolOutput {
        match self.call(session, found, input, call).await {
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

/// A tool, for `mcp_status`.
fn described(tool: &Value) -> Value {
    let mut annotations = Map::new();
    for (hint, name) in [
        ("readOnlyHint", "readOnly"),
        ("destructiveHint", "destructive"),
        ("openWorldHint", "openWorld"),
    ] {
        if tool["annotations"][hint] == true {
            annotations.insert(name.to_owned(), json!(true));
        }
    }
    json!({ "name": tool["name"], "annotations": annotations })
}

/// Whether a server can be reached: for `mcp list`.
pub(super) async fn check(name: &str, config: &Value, cwd: &Path) -> Result<(), String> {
    let elicitor = Elicitor::default();
    let connecting = Client::connect(name, config, cwd, &elicitor);
    let connected = timeout(CONNECT_TIMEOUT, connecting).await;
    connected.map_err(|_| "the server did not answer in time".to_owned())?.map(drop)
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
