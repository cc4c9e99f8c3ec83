//! Hooks: what the host is asked when something happens in the agent.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::{HookCallback, HookFailurePolicy, HookMatcher};
use duologue_protocol::hook::{HookInput, HookOutput};
use duologue_protocol::{CallbackId, Number, Text, ToolUseId};

use super::handlers::{Handler, boxed};

/// A hook: an event, what it matches, and what is done.
///
/// A hook that panics or takes longer than its timeout answers *deny* for `PreToolUse`, since the CLI
/// takes an error for consent; for other events it answers with an error.
///
/// ```
/// use std::time::Duration;
/// use duologue::ask::{Hook, HookCall};
/// use duologue::protocol::hook::HookOutput;
///
/// let hook = Hook::new("PreToolUse", |call: HookCall| async move {
///     match call.tool_name() {
///         Some("Bash") => HookOutput::ask_about_tool("commands need a second look"),
///         _ => HookOutput::new(),
///     }
/// })
/// .matcher("Bash|Write")
/// .timeout(Duration::from_secs(30));
/// ```
#[derive(Clone)]
pub struct Hook {
    pub(crate) event: Text,
    matcher: Option<Text>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) blocks_on_failure: bool,
    pub(crate) handler: Handler<HookCall, HookOutput>,
}

impl Hook {
    /// A hook for this event: `PreToolUse`, `Stop`…
    pub fn new<F, R>(event: impl Into<Text>, handler: F) -> Self
    where
        F: Fn(HookCall) -> R + Send + Sync + 'static,
        R: Future<Output = HookOutput> + Send + 'static,
    {
        Self {
            event: event.into(),
            matcher: None,
            timeout: None,
            blocks_on_failure: false,
            handler: Arc::new(move |call| boxed(handler(call))),
        }
    }

    /// What must match: a tool's name, several with `|`, or a regular expression.
    #[must_use]
    pub fn matcher(mut self, matcher: impl Into<Text>) -> Self {
        self.matcher = Some(matcher.into());
        self
    }

    /// How long it may take. The agent waits as long. Whole seconds.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// If it fails, what it was asked about is blocked, also by the CLI. Older CLIs do not know that,
    /// and the session does not start with them.
    #[must_use]
    pub const fn block_on_failure(mut self) -> Self {
        self.blocks_on_failure = true;
        self
    }

    /// Whether it may be meant by a call about this tool. What is no list of names might mean any.
    pub(crate) fn may_mean(&self, tool: Option<&str>) -> bool {
        let (Some(matcher), Some(tool)) = (&self.matcher, tool) else { return true };
        let is_list = matcher.chars().all(|c| c.is_ascii_alphanumeric() || "_|, -".contains(c));
        !is_list || matcher.is_empty() || matcher.split(['|', ',']).any(|name| name.trim() == tool)
    }

    pub(crate) fn as_matcher(&self, id: CallbackId) -> HookMatcher {
        let mut matcher = HookMatcher::new().hook_callback_ids([id]);
        matcher.matcher = self.matcher.clone().into();
        matcher.timeout = self.timeout.map(|time| Number::from(time.as_secs().max(1))).into();
        if self.blocks_on_failure {
            matcher = matcher.on_failure(HookFailurePolicy::Block);
        }
        matcher
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("event", &self.event)
            .field("matcher", &self.matcher)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A hook is called.
#[derive(Clone, Debug)]
pub struct HookCall {
    callback: Box<HookCallback>,
}

impl HookCall {
    pub(crate) fn new(callback: Box<HookCallback>) -> Self {
        Self { callback }
    }

    /// What happened.
    pub fn input(&self) -> Option<&HookInput> {
        self.callback.input.value()
    }

    /// What happened, by name.
    pub fn event(&self) -> &str {
        let named = self.callback.hook_name.as_str().unwrap_or_default();
        self.input().map_or(named, HookInput::tag)
    }

    /// The tool that it is about.
    pub fn tool_name(&self) -> Option<&str> {
        match self.input()? {
            HookInput::PreToolUse(input) => input.tool_name.as_str(),
            HookInput::PostToolUse(input) => input.tool_name.as_str(),
            HookInput::PostToolUseFailure(input) => input.tool_name.as_str(),
            HookInput::PermissionRequest(input) => input.tool_name.as_str(),
            HookInput::PermissionDenied(input) => input.tool_name.as_str(),
            _ => None,
        }
    }

    /// The tool call that it is about; a random id for events that have none.
    pub fn tool_use_id(&self) -> Option<&ToolUseId> {
        self.callback.tool_use_id.value()
    }

    /// Everything that was asked.
    pub fn raw(&self) -> &HookCallback {
        &self.callback
    }
}
