mod check;
mod command;
mod inspect;
mod record;
mod redact;
mod schema;
