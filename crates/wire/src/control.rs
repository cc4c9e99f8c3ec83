//! Control: the requests that either side makes of the other, and their answers.

mod agent_request;
mod answer;
mod envelope;
mod files;
mod host_request;
mod initialize;
mod internal;
mod mcp;
mod reply;
mod runtime;
mod session;
mod settings;
mod usage;

pub use agent_request::*;
pub use envelope::*;
pub use files::*;
pub use host_request::*;
pub use initialize::*;
pub use internal::*;
pub use mcp::*;
pub use reply::*;
pub use runtime::*;
pub use session::*;
pub use settings::*;
pub use usage::*;
