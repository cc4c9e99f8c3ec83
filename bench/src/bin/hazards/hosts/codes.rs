//! claude-codes. It passes control requests to its caller: this one answers every kind that it has a type for.

use anyhow::Result;
use claude_codes::io::{ContentBlock, ControlRequestPayload, ControlResponse};
use claude_codes::{AsyncClient, ClaudeCliBuilder, ClaudeInput, ClaudeOutput};
use duologue_bench::meter::agent;
use serde_json::json;

use crate::tally::Tally;
use crate::{Job, Seen};

pub async fn run(job: Job, tally: &'static Tally) -> Result<()> {
    let mut builder = ClaudeCliBuilder::new().command(agent()?);
    if job.has_handlers() {
        builder = builder.permission_prompt_tool("stdio");
    }
    let mut client = AsyncClient::new(builder.spawn().await?)?;
    if job.has_handlers() {
        client.enable_tool_approval().await?;
    }
    client.send(&ClaudeInput::user_message_without_session("Go")).await?;
    job.read(tally, async || match client.receive().await {
        Ok(output) => Some(see(job, &mut client, output).await),
        Err(claude_codes::Error::ConnectionClosed) => None,
        Err(error) => Some(Err(error.into())),
    })
    .await;
    if job.closes(tally).await {
        client.shutdown().await?;
    }
    Ok(())
}

async fn see(job: Job, client: &mut AsyncClient, output: ClaudeOutput) -> Result<Seen> {
    Ok(match output {
        ClaudeOutput::Result(_) => Seen::Result,
        ClaudeOutput::Assistant(line) => {
            line.message.content.iter().fold(Seen::Other, |seen, block| match block {
                ContentBlock::Text(text) => Seen::Text(text.text.len()),
                _ => seen,
            })
        }
        ClaudeOutput::ControlRequest(ask) if job.has_handlers() => {
            let id = &ask.request_id;
            let answer = match &ask.request {
                ControlRequestPayload::CanUseTool(request) => {
                    job.block();
                    request.allow(id)
                }
                ControlRequestPayload::HookCallback(_) => ControlResponse::success(id, json!({})),
                _ => ControlResponse::error(id, "not here"),
            };
            client.send_control_response(answer).await?;
            Seen::Other
        }
        _ => Seen::Other,
    })
}
