//! MCP servers that run inside the host. The agent reaches them by `mcp_message` requests.
//!
//! Three ways to make one:
//!
//! - [`server`] and [`tool`]: functions become tools, with schemas derived from their input types;
//! - [`rmcp`](rmcp()): any server of the official MCP SDK;
//! - [`raw`]: a function from JSON-RPC to JSON-RPC.
//!
//! The first two need the feature `mcp`, which is on by default. Without it, neither `rmcp` nor `schemars`
//! is compiled.
//!
//! ```
//! # #[cfg(feature = "mcp")] mod example {
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
//! # #[tokio::main(flavor = "current_thread")] pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
//! # }
//! # #[cfg(feature = "mcp")] example::main().unwrap();
//! ```

mod connect;
mod manifest;
mod panics;
mod raw;
mod rpc;

#[cfg(feature = "mcp")]
mod calls;
#[cfg(feature = "mcp")]
mod result;
#[cfg(feature = "mcp")]
mod rmcp_server;
#[cfg(feature = "mcp")]
mod schema;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod tool;

#[cfg(all(test, feature = "mcp"))]
mod tests;

pub use connect::{BoxFuture, McpConnection, McpServer, Outbox, OutboxClosed, reply};
pub use manifest::{MANIFEST_BUDGET, manifest};
pub use raw::{Raw, raw};

#[cfg(feature = "mcp")]
pub use {
    ::rmcp::model::{CallToolResult, ContentBlock},
    result::{IntoToolResult, image, json},
    rmcp_server::{Rmcp, rmcp},
    server::{Server, server},
    tool::{CallContext, Tool, tool, tool_with},
};
