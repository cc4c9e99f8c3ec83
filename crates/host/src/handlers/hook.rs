//! Hooks: functions of the host that the agent calls on events.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::{HookCallback, HookFailurePolicy, HookMatcher};
use duologue_protocol::hook::{HookEvent, HookInput, HookOutput};
use duologue_protocol::{CallbackId, Number, Text, ToolUseId};

use super::{Handler, boxed};

/// A hook: an event, an optional matcher, and a handler.
///
/// If a `PreToolUse` hook panics or exceeds its timeout, the tool call is denied, because the CLI runs the tool
/// after an error. For other events the agent gets an error.
///
/// The event is a [`HookEvent`], so a misspelled name does not compile. For an event that this version does not
/// list, use `HookEvent::from("NewEvent")`.
///
/// ```
/// use std::time::Duration;
/// use duologue::handlers::{Hook, HookCall, HookEvent};
/// use duologue::protocol::hook::HookOutput;
///
/// let hook = Hook::new(HookEvent::PreToolUse, |call: HookCall| async move {
///     match call.tool_name() {
///         Some("Bash") => HookOutput::ask_about_tool("commands need a second look"),
///         _ => HookOutput::new(),
///     }
/// })
/// .matcher("Bash|Write")
/// .timeout(Duration::from_secs(30));
/// ```
///
/// ```compile_fail
/// # use duologue::handlers::Hook;
/// # use duologue::protocol::hook::HookOutput;
/// let misspelled = Hook::new("PreToolUSe", |_| async { HookOutput::new() });
/// ```
#[derive(Clone)]
pub struct Hook {
    pub(crate) event: HookEvent,
    matcher: Option<Text>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) blocks_on_failure: bool,
    pub(crate) handler: Handler<HookCall, HookOutput>,
}

impl Hook {
    /// Creates a hook for this event.
    pub fn new<F, R>(event: HookEvent, handler: F) -> Self
    where
        F: Fn(HookCall) -> R + Send + Sync + 'static,
        R: Future<Output = HookOutput> + Send + 'static,
    {
        Self {
            event,
            matcher: None,
            timeout: None,
            blocks_on_failure: false,
            handler: Arc::new(move |call| boxed(handler(call))),
        }
    }

    /// Limits the hook to what matches: a tool's name, several with `|`, or a regular expression.
    #[must_use]
    pub fn matcher(mut self, matcher: impl Into<Text>) -> Self {
        self.matcher = Some(matcher.into());
        self
    }

    /// Sets the time limit, in whole seconds. The agent uses the same limit.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Makes the CLI block the action if the hook fails. A CLI version that does not support this is refused
    /// at start.
    #[must_use]
    pub const fn block_on_failure(mut self) -> Self {
        self.blocks_on_failure = true;
        self
    }

    /// Whether the matcher can match this tool. A regular expression counts as matching.
    pub(super) fn may_match(&self, tool: Option<&str>) -> bool {
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

/// A call of a hook.
#[derive(Clone, Debug)]
pub struct HookCall {
    callback: Box<HookCallback>,
}

impl HookCall {
    pub(crate) fn new(callback: Box<HookCallback>) -> Self {
        Self { callback }
    }

    /// The event's data.
    pub fn input(&self) -> Option<&HookInput> {
        self.callback.input.value()
    }

    /// The event.
    pub fn event(&self) -> HookEvent {
        let named = || HookEvent::from(self.callback.hook_name.as_str().unwrap_or_default());
        self.input().map_or_else(named, HookInput::event)
    }

    /// The name of the tool, for events about one tool call.
    pub fn tool_name(&self) -> Option<&str> {
        self.input()?.tool_name()
    }

    /// The id of the tool call. Events without a tool call have a random id.
    pub fn tool_use_id(&self) -> Option<&ToolUseId> {
        self.callback.tool_use_id.value()
    }

    /// The whole request.
    pub fn raw(&self) -> &HookCallback {
        &self.callback
    }
}
