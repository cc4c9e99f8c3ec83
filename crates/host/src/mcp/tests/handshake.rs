//! The handshake: recorded, odd, repeated, done beforehand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::super::{self as mcp, MANIFEST_BUDGET, McpServer, Outbox};
use super::services::Service;
use super::*;

fn empty() -> mcp::Server {
    mcp::server("calc").version("1.0.0")
}

#[tokio::test]
async fn the_recorded_handshake() {
    let agent = Agent::of(&empty());
    let expected = json!({ "jsonrpc": "2.0", "id": 0, "result": {
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "calc", "version": "1.0.0" },
    }});
    // The CLI repeats it at will: recording `12d-sdk-mcp-no-handler`.
    for _ in 0..3 {
        assert_eq!(agent.send(INITIALIZE).await.unwrap(), expected);
        assert_eq!(agent.send(INITIALIZED).await, None);
        let list = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } });
        assert_eq!(agent.send(LIST).await.unwrap(), list);
    }
}

#[tokio::test]
async fn the_version_is_negotiated() {
    let agent = Agent::of(&empty().instructions("Count."));
    for (asked, given) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-06-18"), "2025-06-18"),
        // This one has no handshake, so it cannot be agreed upon in one.
        (json!("2026-07-28"), "2025-11-25"),
        (json!("2099-01-01"), "2025-11-25"),
        (json!(7), "2025-11-25"),
    ] {
        let answer = agent.ask(1, "initialize", json!({ "protocolVersion": asked })).await;
        assert_eq!(answer["result"]["protocolVersion"], given);
        assert_eq!(answer["result"]["instructions"], "Count.");
    }
}

#[tokio::test]
async fn unknown_methods_are_refused() {
    let agent = Agent::of(&empty());
    assert_eq!(agent.ask(3, "ping", json!({})).await["result"], json!({}));
    for method in ["resources/list", "prompts/get", "sampling/createMessage", ""] {
        assert_eq!(agent.ask(4, method, json!({})).await["error"]["code"], -32601);
    }
    // Responses and notifications have no answer; what is neither has one without an id.
    assert_eq!(agent.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await, None);
    assert_eq!(agent.send(r#"{"jsonrpc":"2.0","method":"notifications/unheard"}"#).await, None);
    for message in ["{}", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
        let answer = agent.send(message).await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32600)));
    }
    let answer = agent.send(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#).await.unwrap();
    assert_eq!(answer["id"], "a");
}

#[tokio::test]
async fn a_notification_is_acknowledged_as_recorded() {
    use duologue_protocol::Wire as _;
    assert_eq!(mcp::reply(None).to_json(), r#"{"mcp_response":{"jsonrpc":"2.0","result":{}}}"#);
    let reply = mcp::reply(Some(object(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)));
    assert_eq!(reply.to_json(), r#"{"mcp_response":{"jsonrpc":"2.0","id":1,"result":{}}}"#);
}

#[tokio::test]
async fn a_raw_server_is_a_function() {
    let server = mcp::raw("raw", |message: RawObject| async move {
        let id = message.get("id")?.to_value().unwrap();
        match &*message.get("method")?.as_str()? {
            "panic" => panic!("ouch"),
            "silence" => None,
            _ => RawObject::of(&json!({ "jsonrpc": "2.0", "id": id, "result": 1 })).ok(),
        }
    });
    assert_eq!(server.name(), "raw");
    let agent = Agent::of(&server);
    assert_eq!(agent.ask(1, "any", json!({})).await["result"], 1);
    assert_eq!(agent.ask(2, "silence", json!({})).await["error"]["code"], -32601);
    let answer = agent.ask(3, "panic", json!({})).await;
    assert_eq!(answer["error"], json!({ "code": -32603, "message": "The server panicked: ouch" }));
    assert_eq!(agent.send(INITIALIZED).await, None);
}

#[test]
fn the_manifest_uses_the_newest_version_with_a_handshake() {
    let newest = rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE;
    assert_eq!(super::super::manifest::PROTOCOL_VERSION, newest.as_str());
}

#[tokio::test]
async fn a_manifest_is_the_handshake() {
    let server = empty().tool(mcp::tool("add", "Adds", async |_: ()| 5));
    let connection = server.connect(Outbox::closed());
    let manifest = mcp::manifest(&*connection, MANIFEST_BUDGET).await.unwrap();
    let initialize = manifest.initialize_result.value().unwrap().to_value().unwrap();
    assert_eq!(initialize["serverInfo"], json!({ "name": "calc", "version": "1.0.0" }));
    let tools = manifest.tools_list_result.value().unwrap().to_value().unwrap();
    assert_eq!(tools["tools"][0]["name"], "add");
    // The agent's first message is then a call.
    assert_eq!(text(&Agent(connection).send(ADD).await.unwrap()), "5");
}

#[tokio::test]
async fn a_manifest_of_a_service_serves_on() {
    let made = Arc::new(AtomicUsize::default());
    let server = Service::counted(&made);
    let connection = server.connect(Outbox::closed());
    let manifest = mcp::manifest(&*connection, Duration::from_secs(60)).await.unwrap();
    let tools = manifest.tools_list_result.value().unwrap().to_value().unwrap();
    assert_eq!(tools["tools"][0]["name"], "add");
    assert_eq!(text(&Agent(connection).send(ADD).await.unwrap()), "5");
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn no_manifest_of_a_slow_or_broken_server() {
    let slow = mcp::raw("slow", |_: RawObject| std::future::pending());
    let connection = slow.connect(Outbox::closed());
    assert!(mcp::manifest(&*connection, MANIFEST_BUDGET).await.is_none());

    let broken = mcp::raw("broken", async |_: RawObject| None);
    assert!(mcp::manifest(&*broken.connect(Outbox::closed()), MANIFEST_BUDGET).await.is_none());

    let pages = mcp::raw("pages", |message: RawObject| async move {
        let id = message.get("id")?.to_value().unwrap();
        let result = json!({ "tools": [], "nextCursor": "2" });
        RawObject::of(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).ok()
    });
    assert!(mcp::manifest(&*pages.connect(Outbox::closed()), MANIFEST_BUDGET).await.is_none());
}
