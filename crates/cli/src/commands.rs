//! One file per command.

pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod schema;
