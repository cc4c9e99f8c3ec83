//! claude-cli-sdk, in the mode that keeps stdin open: in its default mode no callback could be answered.

use std::sync::Arc;

use anyhow::Result;
use claude_cli_sdk::config::INPUT_FORMAT_STREAM_JSON;
use claude_cli_sdk::{
    Client, ClientConfig, HookEvent, HookMatcher, HookOutput, Message, PermissionContext,
    PermissionDecision,
};
use duologue_bench::meter::agent;
use futures::StreamExt as _;
use serde_json::json;

use crate::tally::Tally;
use crate::{Job, Seen};

pub async fn run(job: Job, tally: &'static Tally) -> Result<()> {
    let prompt = json!({ "type": "user", "message": { "role": "user", "content": "Go" } });
    let mut config = ClientConfig::builder()
        .prompt("Go")
        .cli_path(agent()?.into())
        .input_format(INPUT_FORMAT_STREAM_JSON)
        .init_stdin_message(prompt.to_string())
        .end_input_on_connect(false)
        .build();
    if job.has_handlers() {
        config.can_use_tool =
            Some(Arc::new(move |_: &str, _: &serde_json::Value, _: PermissionContext| {
                Box::pin(async move {
                    job.block();
                    PermissionDecision::allow()
                })
            }));
        let hook = Arc::new(|_, _, _| Box::pin(async { HookOutput::allow() }) as _);
        config.hooks = vec![HookMatcher::new(HookEvent::PreToolUse, hook)];
    }
    let mut client = Client::new(config)?;
    client.connect().await?;
    // An error ends its stream: open another one to continue.
    for _ in 0..3 {
        let before = tally.errors();
        let messages = client.receive_messages()?;
        let mut messages = std::pin::pin!(messages);
        job.read(tally, async || {
            Some(match messages.next().await? {
                Ok(Message::Result(_)) => Ok(Seen::Result),
                Ok(message) => Ok(match message.assistant_text() {
                    Some(text) => Seen::Text(text.len()),
                    None => Seen::Other,
                }),
                Err(error) => Err(error.into()),
            })
        })
        .await;
        if tally.errors() == before {
            break;
        }
    }
    if job.closes(tally).await {
        client.close().await?;
    }
    Ok(())
}
