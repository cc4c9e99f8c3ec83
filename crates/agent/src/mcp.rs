//! The host's own MCP servers, reached over the wire.

use duologue_protocol::control::{McpMessage, McpMessageReply};
use duologue_protocol::{RawObject, Text};
use serde_json::{Value, json};

use crate::session::{AskError, Session};

/// The version of MCP that the CLI asks for.
pub const MCP_VERSION: &str = "2025-11-25";

impl Session {
    /// Sends a JSON-RPC message to a server of the host, and gives its answer. A notification is
    /// acknowledged with an answer that means nothing.
    ///
    /// # Errors
    /// If the host has no such server, has closed its end, or the turn is interrupted.
    pub async fn mcp(&self, server: &str, message: RawObject) -> Result<RawObject, AskError> {
        let request = McpMessage::new().server_name(server).message(message);
        let reply: McpMessageReply = self.ask_for(request).await?;
        Ok(reply.mcp_response.into_value().unwrap_or_default())
    }

    /// Shakes hands with a server of the host and asks for its tools, as the CLI does.
    ///
    /// # Errors
    /// As [`mcp`](Self::mcp), or if the server refuses.
    pub async fn mcp_tools(&self, server: &str) -> Result<Vec<Value>, AskError> {
        Ok(self.mcp_connect(server).await?.1)
    }

    /// The same, with what the server reports about itself: its `name` and `version`.
    ///
    /// # Errors
    /// As [`mcp`](Self::mcp), or if the server refuses.
    pub async fn mcp_connect(&self, server: &str) -> Result<(Value, Vec<Value>), AskError> {
        let client =
            json!({ "name": "claude-code", "version": &*self.connection.options.info.version });
        let params =
            json!({ "protocolVersion": MCP_VERSION, "capabilities": {}, "clientInfo": client });
        let answer = self.call(server, json!(0), "initialize", params).await?;
        let hello = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.mcp(server, object(&hello)).await?;
        let tools = self.list_tools(server, 1).await?;
        Ok((answer["serverInfo"].clone(), tools))
    }

    /// Lists the tools of a server of the host again, after it reported a change.
    ///
    /// # Errors
    /// As [`mcp`](Self::mcp), or if the server refuses.
    pub async fn mcp_tools_again(&self, server: &str) -> Result<Vec<Value>, AskError> {
        self.list_tools(server, 2).await
    }

    async fn list_tools(&self, server: &str, id: u64) -> Result<Vec<Value>, AskError> {
        let listed = self.call(server, json!(id), "tools/list", json!({})).await?;
        Ok(listed["tools"].as_array().cloned().unwrap_or_default())
    }

    /// Calls a tool of a server of the host; the result is that of MCP, with `content` and `isError`.
    ///
    /// # Errors
    /// As [`mcp`](Self::mcp), or if the server refuses.
    pub async fn mcp_call(
        &self,
        server: &str,
        tool: &str,
        arguments: &RawObject,
        tool_use_id: &str,
    ) -> Result<Value, AskError> {
        let id = Text::from(self.new_id());
        let arguments = arguments.to_value_lossy().unwrap_or_default();
        let meta = json!({ "claudecode/toolUseId": tool_use_id, "progressToken": &*id });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        self.call(server, json!(&*id), "tools/call", params).await
    }

    async fn call(
        &self,
        server: &str,
        id: Value,
        method: &str,
        params: Value,
    ) -> Result<Value, AskError> {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = self.mcp(server, object(&message)).await?.to_value_lossy().unwrap_or_default();
        match answer.get("error") {
            Some(error) => {
                let message = error["message"].as_str().unwrap_or("the MCP server refused");
                Err(AskError::Refused(message.to_owned()))
            }
            None => Ok(answer["result"].clone()),
        }
    }
}

fn object(value: &Value) -> RawObject {
    RawObject::of(value).unwrap_or_default()
}
