//! [`manifest`]: the handshake of a server, done in advance.

use std::time::Duration;

use duologue_protocol::RawObject;
use duologue_protocol::control::SdkMcpServerManifest;
use serde_json::{Value, json};

use super::connect::McpConnection;

/// The default time limit of [`manifest`]. Waiting longer than the handshake itself would gain nothing.
pub const MANIFEST_BUDGET: Duration = Duration::from_millis(250);

/// The newest version of MCP that has a handshake.
pub(super) const PROTOCOL_VERSION: &str = "2025-11-25";

/// Does the handshake with a server in advance. Sent with `initialize`, it saves the agent those round trips:
/// its first message to the server is then a `tools/call`. Use the connection that will serve the agent.
///
/// Returns `None` if the server takes longer than `budget`, fails, or lists its tools on several pages. The
/// agent then does the handshake itself.
///
/// Not cancel safe. If the future is dropped, the server may have seen a part of the handshake.
///
/// ```
/// # #[cfg(feature = "mcp")] mod example {
/// use duologue::mcp::{self, MANIFEST_BUDGET, McpServer, Outbox};
///
/// # #[tokio::main(flavor = "current_thread")] pub async fn main() {
/// let dice = mcp::server("dice").tool(mcp::tool("roll", "Rolls a die", async |_: ()| "4"));
/// let connection = dice.connect(Outbox::closed());
/// let manifest = mcp::manifest(&*connection, MANIFEST_BUDGET).await.unwrap();
/// let tools = manifest.tools_list_result.value().unwrap().to_value().unwrap();
/// assert_eq!(tools["tools"][0]["name"], "roll");
/// # }
/// # }
/// # #[cfg(feature = "mcp")] example::main();
/// ```
pub async fn manifest(
    connection: &dyn McpConnection,
    budget: Duration,
) -> Option<SdkMcpServerManifest> {
    tokio::time::timeout(budget, capture(connection)).await.ok()?
}

async fn capture(connection: &dyn McpConnection) -> Option<SdkMcpServerManifest> {
    let initialize = json!({
        "jsonrpc": "2.0",
        "id": "sdk-manifest-capture:1",
        "method": "initialize",
        "params": {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "duologue", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let initialize_result = ask(connection, &initialize).await?;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    connection.handle(RawObject::of(&initialized).ok()?).await;
    let list = json!({ "jsonrpc": "2.0", "id": "sdk-manifest-capture:2", "method": "tools/list" });
    let tools = ask(connection, &list).await?;
    if tools.get("nextCursor").is_some_and(|cursor| !cursor.is_null()) {
        return None;
    }
    let manifest = SdkMcpServerManifest::new();
    Some(manifest.initialize_result(initialize_result).tools_list_result(tools))
}

async fn ask(connection: &dyn McpConnection, request: &Value) -> Option<RawObject> {
    let response = connection.handle(RawObject::of(request).ok()?).await?;
    response.get("result")?.read().ok()
}
