mod cassette;
mod diff;
mod reader;
mod redact;
mod replay;
mod session;
mod versions;
mod writer;
