mod cassette;
mod reader;
mod replay;
mod session;
mod versions;
mod writer;
