mod check;
mod command;
mod diff;
mod inspect;
mod record;
mod redact;
mod replay;
mod schema;
