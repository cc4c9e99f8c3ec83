mod reader;
mod replay;
mod versions;
mod writer;
