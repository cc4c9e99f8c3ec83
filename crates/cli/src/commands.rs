//! One file per command.

pub(crate) mod agent;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod doctor;
#[cfg(not(unix))]
mod elsewhere;
pub(crate) mod inspect;
pub(crate) mod model;
#[cfg(unix)]
pub(crate) mod record;
pub(crate) mod redact;
#[cfg(unix)]
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod shell;

#[cfg(not(unix))]
pub(crate) use elsewhere::{record, replay};
