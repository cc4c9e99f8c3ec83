mod flow;
mod limits;
mod requests;
mod support;
