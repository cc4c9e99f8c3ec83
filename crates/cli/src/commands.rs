//! One file per command.

pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod record;
pub(crate) mod redact;
pub(crate) mod schema;
