#[cfg(unix)]
mod agent;
#[cfg(unix)]
mod chat;
#[cfg(unix)]
mod chat_terminal;
mod check;
mod command;
mod diff;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod follow;
#[cfg(unix)]
mod hostile;
mod inspect;
#[cfg(unix)]
mod limits;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod pages;
#[cfg(unix)]
mod play;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod record_deaths;
#[cfg(unix)]
mod record_disks;
#[cfg(unix)]
mod record_install;
#[cfg(unix)]
mod record_signals;
#[cfg(unix)]
mod record_terminal;
mod redact;
mod reference;
#[cfg(unix)]
mod replay;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod run_ends;
#[cfg(unix)]
mod run_tells;
mod schema;
#[cfg(unix)]
mod seed_000_input_messages;
#[cfg(unix)]
mod seed_001_to_the_agent;
#[cfg(unix)]
mod seed_001_to_the_host;
#[cfg(unix)]
mod seed_002_snapshots;
#[cfg(unix)]
mod seed_003_client_api;
#[cfg(unix)]
mod seed_003_output_types;
#[cfg(unix)]
mod seed_004_overview;
#[cfg(unix)]
mod seeds;
#[cfg(unix)]
mod terminal;
