//! Services of the official SDK.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::{Barrier, mpsc};

use super::super::{self as mcp, McpServer, Outbox, Rmcp};
use super::*;

/// What a service tells the test.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Began,
    Cancelled,
}

#[derive(Clone)]
pub(super) struct Service {
    pub(super) said: mpsc::Sender<Said>,
    together: Arc<Barrier>,
}

impl Service {
    pub(super) fn new() -> (Self, mpsc::Receiver<Said>) {
        let (said, heard) = mpsc::channel(16);
        (Self { said, together: Arc::new(Barrier::new(3)) }, heard)
    }

    /// A server that counts how many services it made.
    pub(super) fn counted(made: &Arc<AtomicUsize>) -> Rmcp {
        let made = Arc::clone(made);
        let service = Self::new().0;
        mcp::rmcp("calc", move || {
            made.fetch_add(1, Ordering::SeqCst);
            service.clone()
        })
    }

    pub(super) fn server(self) -> Rmcp {
        mcp::rmcp("calc", move || self.clone())
    }
}

impl ServerHandler for Service {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("calc", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({ "type": "object" }).as_object().unwrap().clone();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("add", "Add numbers", schema)]))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        context.peer.notify_tool_list_changed().await.ok();
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = json!(request.arguments);
        let text = match &*request.name {
            "add" => {
                (arguments["a"].as_f64().unwrap() + arguments["b"].as_f64().unwrap()).to_string()
            }
            "big" => "é".repeat(5 << 19),
            "panic" => panic!("ouch"),
            "together" => {
                self.together.wait().await;
                "together".to_owned()
            }
            "wait" => {
                self.said.try_send(Said::Began).unwrap();
                context.ct.cancelled().await;
                self.said.try_send(Said::Cancelled).unwrap();
                "cancelled".to_owned()
            }
            "roots" => {
                let request = rmcp::model::PingRequest::default();
                let answer = context.peer.send_request(request.into()).await;
                format!("{}", answer.is_ok())
            }
            _ => return Err(ErrorData::invalid_params("Unknown tool", None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::test]
async fn the_recorded_conversation() {
    let agent = Agent::of(&Service::new().0.server());
    let answer = agent.send(INITIALIZE).await.unwrap();
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": 0, "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "calc", "version": "1.0.0" },
        }})
    );
    assert_eq!(agent.send(INITIALIZED).await, None);
    let answer = agent.send(LIST).await.unwrap();
    assert_eq!(
        answer["result"]["tools"],
        json!([{ "name": "add", "description": "Add numbers", "inputSchema": { "type": "object" } }])
    );
    let answer = agent.send(ADD).await.unwrap();
    assert_eq!(answer["id"], 2);
    assert_eq!(text(&answer), "5");
    assert_eq!(agent.call(3, "none", json!({})).await["error"]["code"], -32602);
    assert_eq!(agent.ask(4, "ping", json!({})).await["result"], json!({}));
    assert_eq!(agent.ask(5, "no/such/method", json!({})).await["error"]["code"], -32601);
    assert_eq!(text(&agent.call(6, "big", json!({})).await).len(), 5 << 20);
}

#[tokio::test]
async fn calls_run_at_the_same_time() {
    let agent = Agent::of(&Service::new().0.server());
    agent.send(INITIALIZE).await;
    let calls = [2, 3, 4].map(|id| agent.call(id, "together", json!({})));
    let [one, two, three] = calls;
    let answers = tokio::join!(one, two, three);
    assert_eq!(text(&answers.0), "together");
    assert_eq!(answers.2["id"], 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_calls_than_there_is_room_for() {
    let agent = Agent::of(&Service::new().0.server());
    agent.send(INITIALIZE).await;
    // None is polled before the last is there: most must wait for room.
    let add = json!({ "name": "add", "arguments": { "a": 1, "b": 1 } });
    let calls: Vec<_> = (1..=300)
        .map(|id| agent.0.handle(object(&request(id, "tools/call", add.clone()))))
        .collect();
    let calls: Vec<_> = calls.into_iter().map(tokio::spawn).collect();
    for (call, id) in calls.into_iter().zip(1_u64..) {
        let answer = call.await.unwrap().unwrap().to_value().unwrap();
        assert_eq!((&answer["id"], text(&answer)), (&json!(id), "2"));
    }
}

#[tokio::test]
async fn the_handshake_may_be_repeated() {
    let made = Arc::new(AtomicUsize::default());
    let agent = Agent::of(&Service::counted(&made));
    for round in 1..=3 {
        assert_eq!(
            agent.send(INITIALIZE).await.unwrap()["result"]["protocolVersion"],
            "2025-11-25"
        );
        agent.send(INITIALIZED).await;
        assert_eq!(text(&agent.send(ADD).await.unwrap()), "5");
        assert_eq!(made.load(Ordering::SeqCst), round);
    }
}

#[tokio::test]
async fn a_call_without_a_handshake_is_served() {
    let agent = Agent::of(&Service::new().0.server());
    assert_eq!(text(&agent.send(ADD).await.unwrap()), "5");
    agent.send(INITIALIZE).await.unwrap();
    assert_eq!(text(&agent.send(ADD).await.unwrap()), "5");
}

#[tokio::test]
async fn a_panic_is_an_answer() {
    let agent = Agent::of(&Service::new().0.server());
    agent.send(INITIALIZE).await;
    let answer = agent.call(2, "panic", json!({})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(text(&answer), "The tool panicked: ouch");
    assert_eq!(text(&agent.send(ADD).await.unwrap()), "5");

    let broken = mcp::rmcp("broken", || -> Service { panic!("no service") });
    let agent = Agent::of(&broken);
    assert_eq!(agent.send(INITIALIZE).await.unwrap()["error"]["code"], -32603);
    assert_eq!(agent.send(LIST).await.unwrap()["error"]["code"], -32603);
}

#[tokio::test]
async fn messages_of_the_service_are_sent() {
    let (outbox, mut said) = Outbox::channel(4);
    let agent = Agent(Service::new().0.server().connect(outbox));
    agent.send(INITIALIZE).await;
    agent.send(INITIALIZED).await;
    let message = said.recv().await.unwrap().to_value().unwrap();
    assert_eq!(message, json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));

    // A request of the service: the agent's response comes as a message of its own.
    let call =
        tokio::spawn(agent.0.handle(object(&request(2, "tools/call", json!({ "name": "roots" })))));
    let asked = said.recv().await.unwrap().to_value().unwrap();
    assert_eq!(asked["method"], "ping");
    let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} }).to_string();
    assert_eq!(agent.send(&response).await, None);
    assert_eq!(text(&call.await.unwrap().unwrap().to_value().unwrap()), "true");

    // An agent that is gone is an error to whoever speaks, not a wait for ever.
    drop(said);
    assert_eq!(text(&agent.call(3, "roots", json!({})).await), "false");
}

#[tokio::test]
async fn what_cannot_be_read_is_refused() {
    let agent = Agent::of(&Service::new().0.server());
    let broken = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\ud83d"}}"#;
    let answer = agent.send(broken).await.unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32700)));
    assert_eq!(agent.send("{}").await.unwrap()["error"]["code"], -32600);
    assert_eq!(agent.send(r#"{"jsonrpc":"2.0","method":"\ud83d"}"#).await, None);
    assert_eq!(
        agent.send(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#).await.unwrap()["id"],
        1.5
    );
}
