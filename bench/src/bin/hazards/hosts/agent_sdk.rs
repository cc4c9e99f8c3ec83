//! claude-agent-sdk-rs.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use claude_agent_sdk_rs::{
    ClaudeAgentOptions, ClaudeClient, ContentBlock, HookEvent, HookJsonOutput, HookMatcher,
    Message, PermissionResult, PermissionResultAllow, SyncHookJsonOutput,
};
use duologue_bench::meter::agent;
use futures::{FutureExt as _, StreamExt as _};

use crate::tally::Tally;
use crate::{Job, Seen};

pub async fn run(job: Job, tally: &'static Tally) -> Result<()> {
    let mut options = ClaudeAgentOptions::builder().cli_path(agent()?).build();
    if job.has_handlers() {
        options.can_use_tool = Some(Arc::new(move |_, _, _| {
            async move {
                job.block();
                PermissionResult::Allow(PermissionResultAllow::default())
            }
            .boxed()
        }));
        let matcher = HookMatcher::builder()
            .hooks(vec![Arc::new(|_, _, _| {
                async { HookJsonOutput::Sync(SyncHookJsonOutput::builder().build()) }.boxed()
            })])
            .build();
        options.hooks = Some(HashMap::from([(HookEvent::PreToolUse, vec![matcher])]));
    }
    let mut client = ClaudeClient::new(options);
    client.connect().await?;
    client.query("Go").await?;
    let mut messages = client.receive_response();
    job.read(tally, async || {
        Some(match messages.next().await? {
            Ok(Message::Result(_)) => Ok(Seen::Result),
            Ok(Message::Assistant(line)) => {
                Ok(line.message.content.iter().fold(Seen::Other, |seen, block| match block {
                    ContentBlock::Text(text) => Seen::Text(text.text.len()),
                    _ => seen,
                }))
            }
            Ok(_) => Ok(Seen::Other),
            Err(error) => Err(error.into()),
        })
    })
    .await;
    drop(messages);
    if job.closes(tally).await {
        client.disconnect().await?;
    }
    Ok(())
}
