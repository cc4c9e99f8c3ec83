//! [`server`]: a server made of tools.

use std::sync::Arc;

use duologue_protocol::{RawJson, RawObject, Text};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

use super::calls::Calls;
use super::connect::{BoxFuture, McpConnection, McpServer, Outbox};
use super::panics::caught;
use super::result::failure;
use super::rpc::{self, Incoming};
use super::tool::{Tool, ToolCall};

/// A server made of tools. Made by [`server`].
#[derive(Clone, Debug)]
pub struct Server {
    about: Arc<About>,
}

#[derive(Clone, Debug)]
struct About {
    name: Text,
    version: String,
    instructions: Option<String>,
    tools: Vec<Tool>,
}

/// Makes a server that has no tools yet.
///
/// ```
/// use duologue::mcp;
///
/// let dice = mcp::server("dice")
///     .version("1.0.0")
///     .instructions("Roll dice instead of guessing.")
///     .tool(mcp::tool("roll", "Rolls a die", async |_: ()| "4"));
/// ```
pub fn server(name: impl Into<Text>) -> Server {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let about = About { name: name.into(), version, instructions: None, tools: Vec::new() };
    Server { about: Arc::new(about) }
}

impl Server {
    /// Its version. Without it, that of this crate.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.about).version = version.into();
        self
    }

    /// What the model should know about the tools as a whole.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.about).instructions = Some(instructions.into());
        self
    }

    /// Adds a tool. It replaces one of the same name.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        let tools = &mut Arc::make_mut(&mut self.about).tools;
        match tools.iter_mut().find(|known| known.name() == tool.name()) {
            Some(known) => *known = tool,
            None => tools.push(tool),
        }
        self
    }

    /// Its tools.
    pub fn tools(&self) -> &[Tool] {
        &self.about.tools
    }
}

impl McpServer for Server {
    fn name(&self) -> &str {
        &self.about.name
    }

    fn connect(&self, _: Outbox) -> Arc<dyn McpConnection> {
        Arc::new(Connection { about: Arc::clone(&self.about), calls: Arc::default() })
    }
}

struct Connection {
    about: Arc<About>,
    calls: Arc<Calls>,
}

impl McpConnection for Connection {
    fn handle(&self, message: RawObject) -> BoxFuture<Option<RawObject>> {
        let answer = match Incoming::of(&message) {
            Incoming::Request { id, method } if method == "tools/call" => {
                return self.call(id, &message);
            }
            Incoming::Request { id, method } => Some(self.about.answer(&id, &method, &message)),
            Incoming::Notification { method } => {
                if method == "notifications/cancelled"
                    && let Some(id) = rpc::cancelled_request(&message)
                {
                    self.calls.cancel(&id);
                }
                None
            }
            Incoming::Response => None,
            Incoming::Invalid => Some(rpc::invalid()),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.calls.close();
    }
}

impl Connection {
    fn call(&self, id: Value, message: &RawObject) -> BoxFuture<Option<RawObject>> {
        let params = message.get("params").unwrap_or_default();
        let name = params.get("name").and_then(|name| name.as_str()).unwrap_or_default();
        let Some(tool) = self.about.tools.iter().find(|tool| name == tool.name()).cloned() else {
            let error = rpc::error(&id, rpc::INVALID_PARAMS, &format!("Unknown tool: {name}"));
            return Box::pin(std::future::ready(Some(error)));
        };
        let arguments = params.get("arguments").filter(|arguments| !arguments.is_null());
        let arguments = arguments.unwrap_or_else(|| RawJson::from(json!({})));
        let about_call = ToolCall::new(&params);
        let mut call = match self.calls.open(&id, || {}) {
            Ok(call) => call,
            Err(answer) => return Box::pin(std::future::ready(Some(answer))),
        };
        // Dropping this future drops the tool's, and so does an answer from elsewhere.
        Box::pin(async move {
            tokio::select! {
                biased;
                answer = call.answered() => Some(answer),
                result = caught(|| tool.call(arguments, about_call)) => {
                    let result = result.unwrap_or_else(|said| {
                        failure(format!("The tool \"{}\" panicked: {said}", tool.name()))
                    });
                    Some(match serde_json::to_value(&result) {
                        Ok(result) => rpc::result(&id, result),
                        Err(error) => rpc::error(&id, rpc::INTERNAL_ERROR, &error.to_string()),
                    })
                }
            }
        })
    }
}

impl About {
    fn answer(&self, id: &Value, method: &str, message: &RawObject) -> RawObject {
        match method {
            "initialize" => rpc::result(id, self.initialize(message)),
            "ping" => rpc::result(id, json!({})),
            "tools/list" => {
                let tools: Vec<_> = self.tools.iter().map(Tool::description).collect();
                rpc::result(id, json!({ "tools": tools }))
            }
            _ => rpc::error(id, rpc::METHOD_NOT_FOUND, &format!("Unknown method: {method}")),
        }
    }

    fn initialize(&self, message: &RawObject) -> Value {
        let asked = message.get("params").and_then(|params| params.get("protocolVersion"));
        let asked = asked.and_then(|version| version.as_str()).unwrap_or_default();
        let version = ProtocolVersion::KNOWN_VERSIONS
            .iter()
            .find(|known| known.has_initialize() && asked == known.as_str())
            .unwrap_or(&ProtocolVersion::LATEST_WITH_INITIALIZE);
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": self.name.as_str(), "version": self.version },
        });
        if let Some(instructions) = &self.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result
    }
}
