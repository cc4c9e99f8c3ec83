mod check;
mod command;
mod schema;
