//! Be the agent: serve the other end of the wire that hosts of Claude Code speak.
//!
//! - [`tools`]: Bash, Read, Write, Edit, Glob, Grep…, really executed.
//! - [`permission`]: who may do what: rules, modes, and what is not asked.

pub mod permission;
pub mod tools;
