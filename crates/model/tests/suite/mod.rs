mod client;
mod purpose;
mod scenario;
mod schema;
mod script;
mod server;
mod stream;
