//! What stands behind an agent: scenarios, and a scripted Messages API for the real Claude Code.
