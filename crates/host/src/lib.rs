//! Drives Claude Code from Rust: spawns it, holds the conversation, serves what it asks.

pub mod mcp;
