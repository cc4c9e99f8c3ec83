//! The lines that the agents of the benchmarks write. They do not use `duologue_testkit::fake`: every peer must see the
//! same few lines as in earlier measurements, and `flood` must be as fast as the pipe.

use duologue_testkit::peers::imitated_version;
use serde_json::{Value, json};

/// The session of every conversation.
pub const SESSION: &str = "5f0c7d6e-0000-4000-8000-000000000001";

/// Prints the version and returns true, if the arguments ask for it.
pub fn print_version() -> bool {
    let asked = std::env::args().any(|arg| arg == "-v" || arg == "--version");
    if asked {
        println!("{} (Claude Code)", imitated_version());
    }
    asked
}

/// The answer to a control request of the host.
pub fn control_response(request: &Value) -> Value {
    let answer = match request["request"]["subtype"].as_str() {
        Some("initialize") => json!({
            "commands": [], "agents": [], "output_style": "default",
            "available_output_styles": ["default"], "models": [], "account": {},
            "pid": std::process::id(),
        }),
        _ => json!({}),
    };
    json!({ "type": "control_response", "response": {
        "subtype": "success", "request_id": request["request_id"], "response": answer,
    }})
}

/// The first line of a turn.
pub fn init() -> Value {
    json!({
        "type": "system", "subtype": "init", "cwd": "/workspace", "session_id": SESSION,
        "tools": ["Bash", "Read"], "mcp_servers": [], "model": "claude-opus-5-5",
        "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
        "claude_code_version": imitated_version(), "output_style": "default", "agents": [],
        "skills": [], "plugins": [], "uuid": "5f0c7d6e-0000-4000-8000-000000000002",
    })
}

/// The token counts of a message.
pub fn usage() -> Value {
    json!({
        "input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    })
}

/// The last line of a turn.
pub fn result(subtype: &str, text: &str) -> Value {
    json!({
        "type": "result", "subtype": subtype, "is_error": false, "duration_ms": 1,
        "duration_api_ms": 1, "num_turns": 1, "result": text, "stop_reason": "end_turn",
        "session_id": SESSION, "total_cost_usd": 0.01, "usage": usage(), "modelUsage": {},
        "permission_denials": [], "uuid": "5f0c7d6e-0000-4000-8000-000000000003",
    })
}
