mod check;
mod command;
mod inspect;
mod schema;
