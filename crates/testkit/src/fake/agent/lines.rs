//! The lines of the CLI, as recorded.

use serde_json::{Map, Value, json};

use super::prompts::Turn;
use crate::peers::imitated_version;

const MODEL: &str = "claude-opus-5-5";

/// Creates lines with unique ids.
pub(super) struct Lines {
    pub(super) session: String,
    pub(super) mode: String,
    pub(super) model: String,
    serial: u64,
    message: u64,
    results: u64,
    spent: f64,
}

impl Lines {
    pub(super) fn new(args: &[String]) -> Self {
        let value = |names: &[&str]| {
            let after = args.iter().position(|arg| names.contains(&arg.as_str()));
            after.and_then(|at| args.get(at + 1)).or_else(|| {
                let joined =
                    |arg: &&String| names.iter().any(|name| arg.starts_with(&format!("{name}=")));
                args.iter().find(joined)
            })
        };
        let plain = |arg: &String| arg.split_once('=').map_or(arg.as_str(), |(_, v)| v).to_owned();
        let session = value(&["--session-id", "--resume", "-r"]).map(plain);
        let fresh = format!("5e551010-0000-4000-8000-{:012x}", std::process::id());
        Self {
            session: session.unwrap_or(fresh),
            mode: value(&["--permission-mode"]).map_or_else(|| "default".to_owned(), plain),
            model: value(&["--model"]).map_or_else(|| MODEL.to_owned(), plain),
            serial: 0,
            message: 0,
            results: 0,
            spent: 0.0,
        }
    }

    /// A unique number.
    pub(super) const fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn uuid(&mut self) -> String {
        format!("{:08x}-0000-4000-8000-{:012x}", std::process::id(), self.serial())
    }

    /// Adds the ids that most lines have.
    pub(super) fn stamped(&mut self, mut line: Value) -> Value {
        line["uuid"] = self.uuid().into();
        line["session_id"] = self.session.as_str().into();
        line
    }

    pub(super) fn init(&mut self) -> Value {
        let cwd = std::env::current_dir().unwrap_or_default();
        let line = json!({
            "type": "system",
            "subtype": "init",
            "cwd": cwd.to_string_lossy(),
            "tools": ["Task", "AskUserQuestion", "Bash", "Edit", "Read", "Write"],
            "mcp_servers": [],
            "model": self.model,
            "permissionMode": self.mode,
            "slash_commands": ["clear", "compact", "context"],
            "apiKeySource": "ANTHROPIC_API_KEY",
            "claude_code_version": imitated_version(),
            "output_style": "default",
            "agents": ["claude", "Explore", "general-purpose", "Plan"],
            "skills": [],
            "plugins": [],
            "capabilities": [
                "interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1",
            ],
            "fast_mode_state": "off",
        });
        self.stamped(line)
    }

    /// The payload that answers `initialize`.
    pub(super) fn initialized(&self) -> Value {
        json!({
            "commands": [
                { "name": "clear", "description": "Clear...", "argumentHint": "", "builtin": true },
                { "name": "compact", "description": "Compact...", "argumentHint": "", "builtin": true },
            ],
            "agents": [
                { "name": "claude", "description": "Catch-all..." },
                { "name": "Explore", "description": "Fast...", "model": "inherit" },
            ],
            "output_style": "default",
            "available_output_styles": ["default", "Concise"],
            "models": [{
                "value": "default",
                "resolvedModel": MODEL,
                "displayName": "Default (recommended)",
                "description": "Use the...",
                "supportsEffort": true,
                "supportedEffortLevels": ["low", "medium", "high"],
            }],
            "account": {
                "tokenSource": "none",
                "apiKeySource": "ANTHROPIC_API_KEY",
                "apiProvider": "firstParty",
            },
            "pid": std::process::id(),
            "claude_code_version": imitated_version(),
            "current_permission_mode": self.mode,
            "fast_mode_state": "off",
            "session_state": "idle",
            "capabilities": ["ui_surface_v1"],
        })
    }

    pub(super) fn replay(&mut self, content: &Value, uuid: Option<&str>) -> Value {
        let mut line = self.stamped(json!({
            "type": "user",
            "message": { "role": "user", "content": content },
            "parent_tool_use_id": null,
            "isReplay": true,
        }));
        if let Some(uuid) = uuid {
            line["uuid"] = uuid.into();
        }
        line
    }

    /// An `assistant` line with one block, as all have.
    pub(super) fn assistant(&mut self, block: &Value) -> Value {
        self.message += 1;
        self.stamped(json!({
            "type": "assistant",
            "message": {
                "id": format!("msg_fake{:04}", self.message),
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [block],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": {
                    "input_tokens": 12,
                    "output_tokens": 1,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 0,
                },
            },
            "parent_tool_use_id": null,
            "request_id": "req_fake",
        }))
    }

    fn user(&mut self, block: Value) -> Value {
        self.stamped(json!({
            "type": "user",
            "message": { "role": "user", "content": [block] },
            "parent_tool_use_id": null,
        }))
    }

    pub(super) fn user_text(&mut self, text: &str) -> Value {
        self.user(json!({ "type": "text", "text": text }))
    }

    pub(super) fn tool_result(&mut self, id: &str, content: &str, is_error: bool) -> Value {
        self.user(json!({
            "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error,
        }))
    }

    pub(super) fn success(&mut self, turn: &Turn, text: &str) -> Value {
        let own = json!({
            "subtype": "success",
            "is_error": false,
            "result": text,
            "stop_reason": "end_turn",
            "terminal_reason": "completed",
        });
        self.spent += 0.25;
        self.result(turn, own)
    }

    pub(super) fn failure(&mut self, turn: &Turn, subtype: &str, reason: &str) -> Value {
        let own = json!({
            "subtype": subtype,
            "is_error": true,
            "errors": [format!("[ede_diagnostic] {subtype}")],
            "stop_reason": null,
            "terminal_reason": reason,
        });
        self.result(turn, own)
    }

    fn result(&mut self, turn: &Turn, own: Value) -> Value {
        let mut line = self.stamped(json!({
            "type": "result",
            "duration_api_ms": 1,
            "duration_ms": 2,
            "num_turns": 1 + turn.steps,
            "total_cost_usd": self.spent,
            "usage": {
                "input_tokens": 12,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 34,
            },
            "modelUsage": {},
            "permission_denials": [],
            "result_index": self.results,
            "queued_turn_count": 0,
        }));
        self.results += 1;
        if let Some(line) = line.as_object_mut() {
            if let Value::Object(own) = own {
                line.extend(own);
            }
            mark(line, turn);
        }
        line
    }
}

/// Adds the prompts that a line belongs to.
pub(super) fn mark(line: &mut Map<String, Value>, turn: &Turn) {
    if let Some(uuid) = &turn.uuid {
        line.insert("user_message_uuid".to_owned(), uuid.as_str().into());
    }
    if !turn.uuids.is_empty() {
        line.insert("user_message_uuids".to_owned(), turn.uuids.clone().into());
    }
}
