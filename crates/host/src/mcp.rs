//! MCP servers that run inside the host. The agent reaches them by `mcp_message` requests.
//!
//! Three ways to make one:
//!
//! - [`server`] and [`tool`]: a few functions become tools, their schemas derived from their inputs;
//! - [`rmcp`](rmcp()): any server of the official MCP SDK;
//! - [`raw`]: a function from JSON-RPC to JSON-RPC.
//!
//! ```
//! use duologue::mcp::{self, McpServer, Outbox};
//! use duologue_protocol::RawObject;
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add {
//!     a: f64,
//!     b: f64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let calc = mcp::server("calc")
//!     .tool(mcp::tool("add", "Adds two numbers", async |input: Add| input.a + input.b).read_only());
//!
//! // What a session does with it:
//! let agent = calc.connect(Outbox::closed());
//! let call = json!({
//!     "jsonrpc": "2.0", "id": 2, "method": "tools/call",
//!     "params": { "name": "add", "arguments": { "a": 2, "b": 3 } },
//! });
//! let answer = agent.handle(RawObject::of(&call)?).await.unwrap();
//! assert_eq!(answer.to_value()?["result"]["content"][0]["text"], "5");
//! # Ok(())
//! # }
//! ```

mod calls;
mod connect;
mod manifest;
mod panics;
mod raw;
mod result;
mod rmcp_server;
mod rpc;
mod schema;
mod server;
mod tool;

#[cfg(test)]
mod tests;

pub use connect::{BoxFuture, McpConnection, McpServer, Outbox, OutboxClosed, reply};
pub use manifest::{MANIFEST_BUDGET, manifest};
pub use raw::{Raw, raw};
pub use result::{IntoToolResult, image, json};
pub use rmcp_server::{Rmcp, rmcp};
pub use server::{Server, server};
pub use tool::{Tool, ToolCall, tool, tool_with};

pub use ::rmcp::model::{CallToolResult, ContentBlock};
