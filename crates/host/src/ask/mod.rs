//! What the agent asks, and what it is answered.
//!
//! Each kind of question has a request type and an answer type. Handlers are given to the
//! [`SessionBuilder`](crate::SessionBuilder); without one, the answer is no.

mod elicit;
mod handlers;
mod hook;
mod permission;
mod person;
mod serve;

pub use elicit::{DialogAnswer, ElicitationAnswer};
pub use hook::{Hook, HookCall};
pub use permission::{Decision, PermissionRequest};
pub use person::{PlanDecision, PlanRequest, QuestionAnswer, QuestionRequest};

pub(crate) use handlers::{BoxFuture, Handlers, boxed};
pub(crate) use serve::{LeftOpen, Server, callback_name};
