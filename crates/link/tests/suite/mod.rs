mod flow;
mod requests;
mod support;
