//! MCP servers in the host.

use duologue::handlers::Decision;
use duologue::mcp;
use duologue::protocol::RawObject;
use duologue_model::{Reply, Scenario};
use serde_json::{Value, json};

use super::{ask, call, close, says, tool_results};
use crate::case::{Verdict, holds};
use crate::stage::Stage;

/// A model that calls a tool of an MCP server: in newer versions it must search for it first.
fn calls(stage: &Stage, tool: &str, input: Value) -> Scenario {
    let call_it = call(tool, input);
    if stage.since("2.1.300") {
        let search = call("ToolSearch", json!({ "query": format!("select:{tool}") }));
        return says([search, call_it, Reply::text("Done.")]);
    }
    says([call_it, Reply::text("Done.")])
}

pub(super) async fn tool(stage: &Stage) -> Verdict {
    let scenario = calls(stage, "mcp__weather__forecast", json!({ "city": "Oslo" }));
    let (_server, builder) = stage.play(scenario).await?;
    let forecast = mcp::tool("forecast", "The weather of tomorrow", async |input: Value| {
        format!("Rain in {}", input["city"].as_str().unwrap_or("?"))
    });
    let session = builder
        .mcp(mcp::server("weather").tool(forecast))
        .on_permission(async |_| Decision::allow())
        .start()
        .await?;
    let (events, outcome) = ask(&session, "Weather?").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    let results = tool_results(&events);
    holds!(results.iter().any(|(text, _)| text.contains("Rain in Oslo")), "{results:?}");
    close(session).await
}

pub(super) async fn raw(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(calls(stage, "mcp__raw__echo", json!({}))).await?;
    let server = mcp::raw("raw", async |message: RawObject| {
        let message = message.to_value().unwrap_or_default();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "raw", "version": "1" },
            }),
            "tools/list" => json!({ "tools": [{
                "name": "echo", "description": "Echo", "inputSchema": { "type": "object" },
            }]}),
            "tools/call" => json!({ "content": [{ "type": "text", "text": "echoed" }] }),
            _ => return None,
        };
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        RawObject::of(&response).ok()
    });
    let session = builder.mcp(server).on_permission(async |_| Decision::allow()).start().await?;
    let (events, _) = ask(&session, "Echo").await?;
    let results = tool_results(&events);
    holds!(results.iter().any(|(text, _)| text.contains("echoed")), "{results:?}");
    close(session).await
}

pub(super) async fn rmcp_error(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(calls(stage, "mcp__bad__fail", json!({}))).await?;
    let fail = mcp::tool("fail", "Fails", async |_: Value| Err::<String, _>("out of ink"));
    let session = builder
        .mcp(mcp::server("bad").tool(fail))
        .on_permission(async |_| Decision::allow())
        .start()
        .await?;
    let (events, outcome) = ask(&session, "Fail").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    let results = tool_results(&events);
    holds!(
        results.iter().any(|(text, is_error)| text.contains("out of ink") && *is_error),
        "{results:?}"
    );
    close(session).await
}

pub(super) async fn list_changed(stage: &Stage) -> Verdict {
    stage.needs("2.1.0", "notifications of the host's MCP servers are supported since 2.1")?;
    let (_server, builder) = stage.play(says([Reply::text("Hello.")])).await?;
    let tool = mcp::tool("one", "One", async |_: Value| "1");
    let session = builder.mcp(mcp::server("changing").tool(tool)).start().await?;
    ask(&session, "Hi").await?;
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    session.control().mcp_message("changing", RawObject::of(&message)?).await?;
    let status = session.control().mcp_status().await?;
    holds!(format!("{status:?}").contains("changing"), "the server is not listed");
    close(session).await
}
