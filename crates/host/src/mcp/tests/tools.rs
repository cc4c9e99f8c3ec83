//! Tools: what is told about them, what they get, what they give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::{self as mcp, CallContext, ContentBlock, McpServer};
use super::*;

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// One number.
    a: f64,
    b: f64,
}

fn calc() -> mcp::Server {
    let pixel = b"\x89PNG\r\n";
    mcp::server("calc")
        .tool(mcp::tool("add", "Add numbers", async |input: Add| input.a + input.b))
        .tool(mcp::tool("fail", "Always fails", async |_: ()| Err::<(), _>("it failed")))
        .tool(mcp::tool("img", "Image", move |_: ()| async move {
            vec![ContentBlock::text("an image:"), mcp::image("image/png", pixel)]
        }))
}

#[tokio::test]
async fn the_recorded_calls() {
    let agent = Agent::of(&calc());
    assert_eq!(
        agent.send(ADD).await.unwrap(),
        json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [{ "type": "text", "text": "5" }] } })
    );
    assert_eq!(
        agent.send(FAIL).await.unwrap()["result"],
        json!({ "content": [{ "type": "text", "text": "it failed" }], "isError": true })
    );
    assert_eq!(
        agent.send(IMG).await.unwrap()["result"]["content"],
        json!([
            { "type": "text", "text": "an image:" },
            { "type": "image", "data": "iVBORw0K", "mimeType": "image/png" },
        ])
    );
}

#[tokio::test]
async fn the_agent_gets_the_list_of_tools() {
    let server = calc().tool(
        mcp::tool("add", "Add", async |_: Add| "")
            .title("Addition")
            .read_only()
            .destructive(false)
            .idempotent()
            .open_world(false)
            .always_load()
            .search_hint("sum plus")
            .max_result_size_chars(9)
            .meta("claude/endTurn", true),
    );
    let answer = Agent::of(&server).send(LIST).await.unwrap();
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 3, "one of the same name is replaced");
    assert_eq!(
        tools[0],
        json!({
            "name": "add",
            "title": "Addition",
            "description": "Add",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "a": { "type": "number", "format": "double", "description": "One number." },
                    "b": { "type": "number", "format": "double" },
                },
                "required": ["a", "b"],
            },
            "annotations": {
                "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
            },
            "_meta": {
                "anthropic/alwaysLoad": true, "anthropic/searchHint": "sum plus",
                "anthropic/maxResultSizeChars": 9, "claude/endTurn": true,
            },
        })
    );
    assert_eq!(tools[1]["inputSchema"], json!({ "type": "object", "properties": {} }));
    assert!(tools[1].get("annotations").is_none());
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    let agent = Agent::of(&calc());
    let answer = agent.call(1, "subtract", json!({})).await;
    assert_eq!(answer["error"], json!({ "code": -32602, "message": "Unknown tool: subtract" }));
    assert_eq!(agent.ask(2, "tools/call", json!({})).await["error"]["code"], -32602);
    assert_eq!(agent.ask(3, "tools/call", json!(null)).await["error"]["code"], -32602);
}

#[tokio::test]
async fn bad_input_is_reported_to_the_model() {
    let agent = Agent::of(&calc());
    for (arguments, wrong) in [
        (json!({ "a": 1 }), "missing field `b`"),
        (json!({ "a": "one", "b": 2 }), "invalid type: string \"one\", expected f64"),
        (json!([1]), "invalid length 1"),
        (json!(null), "missing field `a`"),
    ] {
        let answer = agent.call(1, "add", arguments).await;
        assert_eq!(answer["result"]["isError"], true);
        assert!(text(&answer).contains(wrong), "{}", text(&answer));
    }
    // The CLI does print half a pair of surrogates.
    let broken = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":"\ud83d"}}}"#;
    assert_eq!(agent.send(broken).await.unwrap()["result"]["isError"], true);
}

#[tokio::test]
async fn a_panic_is_reported_to_the_model_and_nothing_ends() {
    let server = calc()
        .tool(mcp::tool("now", "", |_: ()| -> std::future::Ready<()> { panic!("at once") }))
        .tool(mcp::tool("later", "", async |_: ()| {
            tokio::task::yield_now().await;
            let what = "later";
            if what.len() == 5 {
                panic!("a little {what}");
            }
        }));
    let agent = Agent::of(&server);
    for (tool, said) in [("now", "at once"), ("later", "a little later")] {
        let answer = agent.call(1, tool, json!({})).await;
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(text(&answer), format!("The tool \"{tool}\" panicked: {said}"));
    }
    assert_eq!(text(&agent.send(ADD).await.unwrap()), "5");
}

#[tokio::test]
async fn results_of_all_kinds() {
    #[derive(Serialize)]
    struct Weather {
        celsius: u8,
    }
    #[derive(Debug)]
    struct Unwritable;
    impl Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("never"))
        }
    }
    let server = mcp::server("kinds")
        .tool(mcp::tool("weather", "", async |_: ()| mcp::json(&Weather { celsius: 21 })))
        .tool(mcp::tool("value", "", async |_: ()| json!({ "a": 1 })))
        .tool(mcp::tool("list", "", async |_: ()| mcp::json(&[1, 2])))
        .tool(mcp::tool("unwritable", "", async |_: ()| mcp::json(&Unwritable)))
        .tool(mcp::tool("nothing", "", async |_: ()| ()))
        .tool(mcp::tool("flag", "", async |_: ()| Ok::<_, std::io::Error>(true)))
        .tool(mcp::tool("whole", "", async |_: ()| mcp::CallToolResult::success(vec![])))
        .tool(mcp::tool_with("who", "", async |_: (), call: CallContext| {
            assert_eq!(call.meta().get("progressToken").unwrap().as_json(), "2");
            call.tool_use_id().unwrap().to_string()
        }));
    let agent = Agent::of(&server);
    let results = [
        (
            "weather",
            json!({ "content": [{ "type": "text", "text": "{\"celsius\":21}" }], "structuredContent": { "celsius": 21 } }),
        ),
        (
            "value",
            json!({ "content": [{ "type": "text", "text": "{\"a\":1}" }], "structuredContent": { "a": 1 } }),
        ),
        // Structured content must be an object.
        ("list", json!({ "content": [{ "type": "text", "text": "[1,2]" }] })),
        ("nothing", json!({ "content": [] })),
        ("flag", json!({ "content": [{ "type": "text", "text": "true" }] })),
        ("whole", json!({ "content": [], "isError": false })),
    ];
    for (tool, result) in results {
        assert_eq!(agent.call(1, tool, json!({})).await["result"], result);
    }
    assert_eq!(agent.call(1, "unwritable", json!({})).await["result"]["isError"], true);
    assert_eq!(text(&agent.send(&ADD.replace("\"add\"", "\"who\"")).await.unwrap()), "toolu_12a");
}

#[tokio::test]
async fn five_megabytes_there_and_back() {
    let echo = mcp::tool("echo", "", async |text: String| text);
    let big = "é".repeat(5 << 19);
    let answer =
        Agent::of(&mcp::server("echo").tool(echo)).call(1, "echo", json!({ "input": big })).await;
    assert!(text(&answer) == big);
}

#[tokio::test]
async fn a_server_may_be_shared() {
    let shared: Arc<dyn McpServer> = Arc::new(calc());
    let (one, other) = (Agent::of(&shared), Agent::of(&shared));
    assert_eq!(text(&one.send(ADD).await.unwrap()), text(&other.send(ADD).await.unwrap()));
    let boxed: Box<dyn McpServer> = Box::new(shared);
    assert_eq!(boxed.name(), "calc");
    assert_eq!(text(&Agent::of(&boxed).send(ADD).await.unwrap()), "5");
}

#[tokio::test]
async fn tools_of_a_blocking_session_may_block() {
    // Both calls wait for each other, and the runtime has one thread.
    let together = Arc::new(std::sync::Barrier::new(2));
    let wait = mcp::tool("wait", "", move |_: ()| {
        let together = Arc::clone(&together);
        async move {
            together.wait();
        }
    });
    let (mut outbox, _messages) = Outbox::channel(1);
    outbox.handlers_block = true;
    let agent = Agent(mcp::server("blocking").tool(wait).connect(outbox));
    let (one, other) =
        tokio::join!(agent.call(1, "wait", json!({})), agent.call(2, "wait", json!({})));
    assert_eq!((&one["id"], &other["id"]), (&json!(1), &json!(2)));
}
