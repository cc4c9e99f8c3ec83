//! Legacy: forms that only the oldest descriptions of this protocol have.
//!
//! No tested CLI sends or accepts them: 2.1 ignores the input lines, 2.0 exits. This crate reads them, for tapes of other
//! systems, and writes them, for peers that require them.
//! [`Survey`](crate::Survey) marks every one as [`Finding::Legacy`](crate::Finding::Legacy).
//!
//! Besides the types here: `applyPermissionSuggestion` in
//! [`Allow`](crate::permission::Allow), `hook_name` and `hook_data` in
//! [`HookCallback`](crate::control::HookCallback), `protocolVersion` and `features` in
//! [`Initialize`](crate::control::Initialize), the limit `hourly` in
//! [`RateLimitType`](crate::lines::RateLimitType), the subtype `error` in
//! [`ResultSubtype`], and the bare answer to `initialize`, which is a
//! [`Success`](crate::control::Success) without payload.
//!
//! ```
//! use duologue_wire::{Wire, legacy::Approve};
//!
//! assert_eq!(
//!     Approve::of("toolu_abc123").to_line(),
//!     "{\"type\":\"approve\",\"tool_use_id\":\"toolu_abc123\"}\n",
//! );
//! ```

pub use crate::control::SdkControlInterrupt;

use crate::content::LazyContent;
use crate::id::{SessionId, ToolUseId, Uuid};
use crate::json::Number;
use crate::lines::{PermissionDenial, ResultSubtype, TurnResult};
use crate::message::{ModelUsage, Usage};
use crate::text::Text;
use crate::wire::{Map, record};

record! {
    /// Allow the pending tool call.
    Approve ["type" = "approve"] {
        /// The call.
        tool_use_id: ToolUseId,
    }
}

impl Approve {
    /// Allows this call.
    pub fn of(id: impl Into<ToolUseId>) -> Self {
        Self::new().tool_use_id(id)
    }
}

record! {
    /// Deny the pending tool call.
    DenyLine ["type" = "deny"] {
        /// The call.
        tool_use_id: ToolUseId,
    }
}

impl DenyLine {
    /// Denies this call.
    pub fn of(id: impl Into<ToolUseId>) -> Self {
        Self::new().tool_use_id(id)
    }
}

record! {
    /// The result of a tool, supplied by the host: the answer to a question.
    ToolResultLine ["type" = "tool_result"] {
        /// The call.
        tool_use_id: ToolUseId,
        /// The result.
        content: LazyContent,
        /// Whether it failed.
        is_error: bool,
    }
}

impl ToolResultLine {
    /// The result of this call.
    pub fn of(id: impl Into<ToolUseId>, content: impl Into<Text>) -> Self {
        let content = crate::content::Content::Text(content.into());
        Self::new().tool_use_id(id).content(content)
    }
}

record! {
    /// Stop the turn.
    Abort ["type" = "abort"] {}
}

record! {
    /// An error.
    ErrorLine ["type" = "error"] {
        /// What.
        error: ErrorBody,
        /// The session.
        session_id: SessionId,
        /// The id of this line.
        uuid: Uuid,
    }
}

impl ErrorLine {
    /// An error of this type.
    pub fn of(kind: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self::new().error(ErrorBody::new().kind(kind).message(message))
    }
}

record! {
    /// The error.
    ErrorBody {
        /// Which kind: `invalid_request`, `overloaded_error`…
        kind "type": Text,
        /// In words.
        message: Text,
    }
}

record! {
    /// The end of a turn, as a system line.
    SystemResult ["type" = "system", "subtype" = "result"] {
        /// The text, JSON inside JSON: see [`decode_result`].
        result: Text,
        /// Whether the turn failed.
        is_error: bool,
        /// The status at the end.
        result_subtype: ResultSubtype,
        /// The error.
        errors: Vec<Text>,
        /// The duration of the turn in milliseconds.
        duration_ms: Number,
        /// The duration of the API calls in milliseconds.
        duration_api_ms: Number,
        /// How many steps the turn had.
        num_turns: Number,
        /// Cost in USD.
        total_cost_usd: Number,
        /// Tokens.
        usage: Usage,
        /// Tokens and cost by model.
        model_usage "modelUsage": Map<ModelUsage>,
        /// Tool calls that were denied.
        permission_denials: Vec<PermissionDenial>,
        /// The session.
        session_id: SessionId,
        /// The id of this line.
        uuid: Uuid,
    }
}

impl SystemResult {
    /// The same as today's line for the end of a turn.
    pub fn as_result(&self) -> TurnResult {
        let subtype = match self.is_error.is_true() {
            true => ResultSubtype::Error,
            false => ResultSubtype::Success,
        };
        let mut result = TurnResult::new();
        result.subtype = self.result_subtype.value().cloned().unwrap_or(subtype).into();
        result.is_error = self.is_error;
        result.result = self.result.clone();
        result.errors = self.errors.clone();
        result.duration_ms = self.duration_ms;
        result.duration_api_ms = self.duration_api_ms;
        result.num_turns = self.num_turns;
        result.total_cost_usd = self.total_cost_usd;
        result.usage = self.usage.clone();
        result.model_usage = self.model_usage.clone();
        result.permission_denials = self.permission_denials.clone();
        result.session_id = self.session_id.clone();
        result.uuid = self.uuid.clone();
        result
    }
}

/// The text inside a `result` that is JSON inside JSON; `None` if it is not such a one.
///
/// Never apply this by default: today's results are plain text, and an answer that happens to be a
/// quoted string would be altered.
///
/// ```
/// use duologue_wire::legacy::decode_result;
///
/// assert_eq!(decode_result("\"The actual text\"").as_deref(), Some("The actual text"));
/// assert_eq!(decode_result("The actual text"), None);
/// assert_eq!(decode_result("{\"answer\":42}"), None);
/// ```
pub fn decode_result(result: &str) -> Option<String> {
    serde_json::from_str(result).ok()
}

/// Encodes a plain text as JSON inside JSON.
///
/// ```
/// use duologue_wire::legacy::{decode_result, encode_result};
///
/// assert_eq!(decode_result(&encode_result("Hi")).as_deref(), Some("Hi"));
/// ```
pub fn encode_result(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
