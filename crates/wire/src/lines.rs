//! The messages of the conversation itself, one file each.

mod assistant;
mod prompt;
mod result;
mod stream;
mod user;

pub use assistant::*;
pub use prompt::*;
pub use result::*;
pub use stream::*;
pub use user::*;

pub use crate::to_agent::{
    BashCommand, QueuedNotification, QueuedNotificationBody, SessionNotice,
    UpdateEnvironmentVariables, WorkflowLaunch,
};
pub use crate::to_host::{
    ActiveGoal, ActiveGoalLine, AuthStatus, AutocompactState, AutocompactStateLine,
    CommandLifecycle, CommandState, ControlCancelRequest, ConversationReset, KeepAlive,
    PromptSuggestion, RateLimitEvent, RateLimitInfo, RateLimitStatus, RateLimitType, ResetTrigger,
    StreamlinedText, StreamlinedToolUseSummary, SubagentRetry, ToolProgress, ToolUseSummary,
    TranscriptMirror,
};
