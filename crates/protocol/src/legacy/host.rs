//! Permissions with a legacy agent: a tool call is the request, and a line of its own is the answer.

use std::collections::HashMap;

use crate::content::ContentBlock;
use crate::control::CanUseTool;
use crate::host_link::Answer;
use crate::id::{RequestId, ToolUseId};
use crate::ledger::Seen;
use crate::lines::Assistant;
use crate::permission::PermissionResult;
use crate::system::System;
use crate::to_host::ToHost;
use crate::tool::AskUserQuestion;
use crate::wire::Wire;

use super::{Approve, DenyLine, ToolResultLine};

/// The tool calls that were made into permission requests.
#[derive(Debug, Default)]
pub(crate) struct LegacyAsks {
    /// Calls that were requested already: snapshots repeat them.
    seen: Seen,
    open: HashMap<RequestId, ToolUseId>,
}

impl LegacyAsks {
    /// The permission requests that this line makes, each once.
    pub(crate) fn asks(&mut self, line: &Assistant) -> Vec<(RequestId, CanUseTool)> {
        let blocks = line.message.value().map_or(&[][..], |message| message.content.items());
        let mut asks = Vec::new();
        for block in blocks {
            let ContentBlock::ToolUse(call) = block else { continue };
            let Some(call_id) = call.id.value() else { continue };
            if !self.seen.note(call_id.as_str()) {
                continue;
            }
            let id = RequestId::from(format!("tool_use:{call_id}"));
            let mut ask = CanUseTool::new().tool_use_id(call_id.detach());
            ask.tool_name = call.name.clone();
            ask.input = call.input.clone();
            self.open.insert(id.clone(), call_id.detach());
            asks.push((id, ask));
        }
        asks
    }

    /// The requests that this line ends: the call has a result, or its turn has ended.
    pub(crate) fn settled(&mut self, message: &ToHost) -> Vec<RequestId> {
        let mut settled: Vec<RequestId> = match message {
            ToHost::Result(_) | ToHost::System(System::Result(_)) => {
                self.open.drain().map(|(id, _)| id).collect()
            }
            ToHost::User(line) => {
                let content = line.message.value().and_then(|message| message.content.value());
                let blocks = content.map_or(&[][..], |content| content.blocks());
                let has_result = |call: &ToolUseId| {
                    blocks.iter().any(|block| match block {
                        ContentBlock::ToolResult(result) => {
                            result.tool_use_id.as_str() == Some(call.as_str())
                        }
                        _ => false,
                    })
                };
                self.open.extract_if(|_, call| has_result(call)).map(|(id, _)| id).collect()
            }
            _ => Vec::new(),
        };
        settled.sort();
        settled
    }

    /// The line that answers this request; `None` if a tool call did not make it.
    pub(crate) fn answer(&mut self, id: &RequestId, answer: &Answer) -> Option<String> {
        let call = self.open.remove(id)?;
        let Answer::Success(payload) = answer else { return Some(DenyLine::of(call).to_line()) };
        Some(match payload.read::<PermissionResult>() {
            Ok(PermissionResult::Allow(allow)) => {
                let input = allow.updated_input.value();
                let question = input.and_then(|input| input.read::<AskUserQuestion>().ok());
                match question.as_ref().and_then(|question| question.answers.value()) {
                    Some(answers) => {
                        let said: Vec<String> =
                            answers.iter().map(|(_, answer)| answer.text()).collect();
                        ToolResultLine::of(call, said.join("\n")).to_line()
                    }
                    None => Approve::of(call).to_line(),
                }
            }
            _ => DenyLine::of(call).to_line(),
        })
    }
}
