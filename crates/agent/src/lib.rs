//! Be the agent: serve the other end of the wire that hosts of Claude Code speak.
//!
//! - [`tools`]: Bash, Read, Write, Edit, Glob, Grep…, really executed.
//! - [`sessions`]: conversations on disk.
//! - [`settings`]: settings files and command hooks.
//! - [`permission`]: who may do what: rules, modes, and what is not asked.

mod path;
pub mod permission;
pub mod sessions;
pub mod settings;
pub mod tools;
