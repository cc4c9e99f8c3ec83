//! cc-sdk, with the client that has the control protocol.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use cc_sdk::{
    CanUseTool, ClaudeCodeOptions, ClaudeSDKClient, ContentBlock, HookCallback, HookContext,
    HookInput, HookJSONOutput, HookMatcher, Message, PermissionResult, PermissionResultAllow,
    SdkError, SubprocessTransport, SyncHookJSONOutput, ToolPermissionContext,
};
use duologue_bench::meter::agent;
use futures::StreamExt as _;
use serde_json::Value;

use crate::tally::Tally;
use crate::{Job, Seen};

struct Yes(Job);

#[async_trait]
impl CanUseTool for Yes {
    async fn can_use_tool(
        &self,
        _: &str,
        _: &Value,
        _: &ToolPermissionContext,
    ) -> PermissionResult {
        self.0.block();
        PermissionResult::Allow(PermissionResultAllow {
            updated_input: None,
            updated_permissions: None,
        })
    }
}

#[async_trait]
impl HookCallback for Yes {
    async fn execute(
        &self,
        _: &HookInput,
        _: Option<&str>,
        _: &HookContext,
    ) -> Result<HookJSONOutput, SdkError> {
        Ok(HookJSONOutput::Sync(SyncHookJSONOutput::default()))
    }
}

pub async fn run(job: Job, tally: &'static Tally) -> Result<()> {
    let mut options = ClaudeCodeOptions::default();
    if job.has_handlers() {
        options.can_use_tool = Some(Arc::new(Yes(job)));
        let matcher = HookMatcher { matcher: None, hooks: vec![Arc::new(Yes(job))] };
        options.hooks = Some(HashMap::from([("PreToolUse".to_owned(), vec![matcher])]));
    }
    let transport = SubprocessTransport::with_cli_path(options.clone(), agent()?);
    let mut client = ClaudeSDKClient::with_transport(options, Box::new(transport));
    client.connect(Some("Go".to_owned())).await?;
    let mut messages = client.receive_messages().await;
    job.read(tally, async || {
        Some(match messages.next().await? {
            Ok(Message::Result { .. }) => Ok(Seen::Result),
            Ok(Message::Assistant { message }) => {
                Ok(message.content.iter().fold(Seen::Other, |seen, block| match block {
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
