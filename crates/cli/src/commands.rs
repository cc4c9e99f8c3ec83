//! One file per command.

pub(crate) mod acp;
pub(crate) mod agent;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod model;
pub(crate) mod record;
pub(crate) mod redact;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod usage;

use crate::args::Command;

/// Runs a command. Returns its exit code.
pub(crate) fn run(command: &Command) -> anyhow::Result<u8> {
    match command {
        Command::Chat(chat) => chat::run(chat),
        Command::Run(run) => run::run(run),
        Command::Acp(acp) => acp::run(acp),
        Command::Agent(agent) => agent::run(agent),
        Command::Model(model) => model::run(model),
        Command::Doctor(doctor) => doctor::run(doctor),
        Command::Check(check) => check::run(check),
        Command::Inspect(inspect) => inspect::run(inspect),
        Command::Schema(schema) => schema::run(schema),
        Command::Record(record) => record::run(record),
        Command::Replay(replay) => replay::run(replay),
        Command::Diff(diff) => diff::run(diff),
        Command::Redact(redact) => redact::run(redact),
        Command::Sessions(sessions) => sessions::run(sessions),
        Command::Usage(usage) => usage::run(usage),
        Command::Serve(serve) => serve::run(serve),
        Command::Completions(completions) => generate::completions(completions),
        Command::Man(man) => generate::man(man),
        Command::Start(start) => record::start(start),
    }
}
