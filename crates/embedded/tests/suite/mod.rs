mod answering;
mod commands;
mod custom;
mod denied_commands;
mod denying;
#[expect(dead_code, reason = "the tests of duologue-agent use the rest")]
#[path = "../../../agent/tests/suite/driving.rs"]
mod driving;
mod embedded;
mod evading_commands;
mod files;
mod like_the_cli;
mod permissions;
mod properties;
mod recorded;
mod searching;
mod session_store;
mod settings;
mod support;
mod talking;
mod updates;
