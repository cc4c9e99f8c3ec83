//! claude-codes, used like in its examples. Only its async client can answer a permission request during a turn.

use anyhow::{Result, bail};
use claude_codes::io::{ContentBlock, ControlRequestPayload};
use claude_codes::{AsyncClient, ClaudeCliBuilder, ClaudeInput, ClaudeOutput, SyncClient};
use duologue_bench::meter::{Meter, agent};
use std::hint::black_box;

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("sync") => sync(),
        Some("async") => {
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run_async())
        }
        _ => bail!("codes sync|async"),
    }
}

fn builder() -> Result<ClaudeCliBuilder> {
    Ok(ClaudeCliBuilder::new().command(agent()?).permission_prompt_tool("stdio"))
}

fn sync() -> Result<()> {
    let mut client = SyncClient::new(builder()?.spawn_sync()?)?;
    client.enable_tool_approval()?;
    let meter = Meter::start();
    let mut messages = 0;
    let input = ClaudeInput::user_message_without_session("Go");
    for output in client.query_stream(input)? {
        touch(&output?);
        messages += 1;
    }
    meter.report(messages)
}

async fn run_async() -> Result<()> {
    let mut client = AsyncClient::new(builder()?.spawn().await?)?;
    client.enable_tool_approval().await?;
    let meter = Meter::start();
    let mut messages = 0;
    client.send(&ClaudeInput::user_message_without_session("Go")).await?;
    loop {
        let output = client.receive().await?;
        touch(&output);
        messages += 1;
        if let ClaudeOutput::ControlRequest(ask) = &output
            && let ControlRequestPayload::CanUseTool(request) = &ask.request
        {
            let answer = request.allow(&ask.request_id);
            client.send_control_response(answer).await?;
        }
        if matches!(output, ClaudeOutput::Result(_)) {
            break;
        }
    }
    meter.report(messages)
}

/// Reads every text.
fn touch(output: &ClaudeOutput) {
    if let ClaudeOutput::Assistant(line) = output {
        for block in &line.message.content {
            if let ContentBlock::Text(text) = block {
                black_box(text.text.len());
            }
        }
    }
}
