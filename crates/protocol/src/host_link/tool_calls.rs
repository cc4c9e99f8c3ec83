//! [`ToolCalls`]: tool calls without a result.

use std::collections::HashSet;

use crate::content::ContentBlock;
use crate::ledger::Seen;
use crate::system::System;
use crate::to_host::ToHost;

/// The tool calls that have no result yet.
#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    /// Lines that came already.
    seen: Seen,
    open: HashSet<String>,
}

impl ToolCalls {
    pub(super) fn follow(&mut self, message: &ToHost) {
        if message.uuid().is_some_and(|uuid| !self.seen.note(uuid.as_str())) {
            return;
        }
        match message {
            ToHost::Assistant(line) => {
                let message = line.message.value();
                for block in message.iter().flat_map(|message| message.content.items()) {
                    if let ContentBlock::ToolUse(call) = block
                        && let Some(id) = call.id.as_str()
                    {
                        self.open.insert(id.to_owned());
                    }
                }
            }
            ToHost::User(line) => {
                let message = line.message.value();
                let content = message.and_then(|message| message.content.value());
                for block in content.iter().flat_map(|content| content.blocks()) {
                    if let ContentBlock::ToolResult(result) = block
                        && let Some(id) = result.tool_use_id.as_str()
                    {
                        self.open.remove(id);
                    }
                }
            }
            ToHost::Result(_) | ToHost::System(System::Result(_)) => self.open.clear(),
            _ => {}
        }
    }

    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }
}
