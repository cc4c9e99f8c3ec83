//! The state of a session, folded from its log. Pure: no clock, no I/O.
//!
//! A decision returns [`Record`]s. They are appended to the log, and only what was appended is applied. So the state after a
//! restart is the state before it: the same entries, applied in the same order.

mod asks;
mod prompts;
mod record;
mod session;

pub use asks::{About, Answer, Ask, AskRefusal, AskState, Asks, InvalidAnswer};
pub use prompts::{Prompt, PromptRefusal, PromptState, Prompts};
pub use record::{
    AgentExited, AgentStarted, AskAnswered, AskChange, AskOpened, Conversation, Created, Failed,
    LineRecord, PromptAccepted, PromptChange, Record, RecordError, Stderr, TurnEnd, TurnEnded,
    TurnStarted,
};
pub use session::{Evidence, Inconsistent, SessionState, State};
