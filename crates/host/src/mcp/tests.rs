#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

mod cancelling;
mod handshake;
mod schemas;
mod services;
mod tools;

use std::sync::Arc;

use duologue_protocol::{RawJson, RawObject};
use serde_json::{Value, json};

use super::connect::{McpConnection, McpServer, Outbox};

/// What the CLI sent in the recording `12-sdk-mcp`, with another version.
const INITIALIZE: &str = r#"{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","title":"Claude Code","description":"Anthropic's agentic coding tool","websiteUrl":"https://claude.com/claude-code","version":"2.1.0"}},"jsonrpc":"2.0","id":0}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"method":"tools/list","jsonrpc":"2.0","id":1}"#;
const ADD: &str = r#"{"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3},"_meta":{"claudecode/toolUseId":"toolu_12a","progressToken":2}},"jsonrpc":"2.0","id":2}"#;
const FAIL: &str = r#"{"method":"tools/call","params":{"name":"fail","arguments":{},"_meta":{"claudecode/toolUseId":"toolu_12b","progressToken":3}},"jsonrpc":"2.0","id":3}"#;
const IMG: &str = r#"{"method":"tools/call","params":{"name":"img","arguments":{},"_meta":{"claudecode/toolUseId":"toolu_12d","progressToken":5}},"jsonrpc":"2.0","id":5}"#;

/// An agent that is served.
struct Agent(Arc<dyn McpConnection>);

impl Agent {
    fn of(server: &impl McpServer) -> Self {
        Self(server.connect(Outbox::closed()))
    }

    /// Sends a message as the wire has it.
    async fn send(&self, message: &str) -> Option<Value> {
        self.0.handle(object(message)).await.map(|answer| answer.to_value().unwrap())
    }

    /// Sends a request, and checks that the answer is one to it.
    async fn ask(&self, id: u64, method: &str, params: Value) -> Value {
        let answer = self.send(&request(id, method, params)).await.unwrap();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{answer}");
        answer
    }

    async fn call(&self, id: u64, tool: &str, arguments: Value) -> Value {
        self.ask(id, "tools/call", json!({ "name": tool, "arguments": arguments })).await
    }
}

fn object(message: &str) -> RawObject {
    RawJson::parse(message).unwrap().read().unwrap()
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}
