//! The order of the keys of `result`, which is not that of our tables.

use crate::json::RawJson;
use crate::lines::TurnResult;
use crate::wire::{Map, Wire};

/// The order of the real CLI. `type` is not the first key. An agent that writes the same order shows a host that expects
/// `type` first that it is wrong.
const RESULT: &[&str] = &[
    "duration_api_ms",
    "stop_reason",
    "session_id",
    "total_cost_usd",
    "usage",
    "modelUsage",
    "permission_denials",
    "terminal_reason",
    "fast_mode_state",
    "fast_mode_disabled_reason",
    "origin",
    "subagent_stats",
    "safety_stops",
    "is_error",
    "num_turns",
    "subtype",
    "api_error_status",
    "result",
    "structured_output",
    "errors",
    "ttft_ms",
    "type",
    "duration_ms",
    "uuid",
    "ttft_stream_ms",
    "time_to_request_ms",
    "first_content_frame_ms",
    "user_message_uuid",
    "user_message_uuids",
    "queued_turn_count",
    "result_index",
    "model_usage_since_last_result",
];

pub(super) fn result_line(result: &TurnResult) -> String {
    let plain = result.to_json();
    let Ok(fields) = Map::<RawJson>::from_json(&plain) else { return plain + "\n" };
    let rank = |key: &str| RESULT.iter().position(|name| *name == key).unwrap_or(RESULT.len());
    let mut pairs: Vec<_> = fields.iter().collect();
    // A stable sort: other keys keep their order, at the end.
    pairs.sort_by_key(|(key, _)| rank(key));
    let ordered: Map<RawJson> =
        pairs.into_iter().map(|(key, value)| (key, value.clone())).collect();
    ordered.to_line()
}
