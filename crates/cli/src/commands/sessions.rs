//! `duologue sessions`.

pub(crate) mod args;
mod export;
mod list;

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use duologue_sessions::{ForkOptions, MessageOptions, Sessions, StoredSession, UsageOptions};
use duologue_terminal::{line, ours, print, shown};
use serde_json::{Value, json};

use crate::args::{Inspect, Way};
use crate::commands::inspect;
use crate::{exit, stored};

pub(crate) use list::{age, cost, spent_json};

use args::{Fork, One, Rm, SessionsCommand, Show, Where};

pub(crate) fn run(args: &args::Sessions) -> anyhow::Result<u8> {
    match &args.command {
        None => list::run(&args.list),
        Some(SessionsCommand::List(list)) => list::run(list),
        Some(SessionsCommand::Show(show)) => self::show(show),
        Some(SessionsCommand::Rename(rename)) => {
            find(&rename.place, &rename.id)?.rename(&rename.title)?;
            Ok(exit::OK)
        }
        Some(SessionsCommand::Tag(tag)) => {
            find(&tag.place, &tag.id)?.tag(tag.tag.as_deref())?;
            Ok(exit::OK)
        }
        Some(SessionsCommand::Archive(One { id, place })) => {
            find(place, id)?.archive()?;
            Ok(exit::OK)
        }
        Some(SessionsCommand::Unarchive(One { id, place })) => {
            find(place, id)?.unarchive()?;
            Ok(exit::OK)
        }
        Some(SessionsCommand::Fork(fork)) => self::fork(fork),
        Some(SessionsCommand::Rm(rm)) => self::rm(rm),
        Some(SessionsCommand::Export(export)) => export::export(export),
        Some(SessionsCommand::Import(import)) => export::import(import),
    }
}

fn sessions(place: &Where) -> anyhow::Result<Sessions> {
    stored::sessions(place.config_dir.as_deref(), place.project.as_deref())
}

fn find(place: &Where, id: &str) -> anyhow::Result<StoredSession> {
    Ok(sessions(place)?.find(id)?)
}

fn show(args: &Show) -> anyhow::Result<u8> {
    let session = find(&args.place, &args.id)?;
    let options = stored::usage_options()?;
    if args.json {
        return show_json(&session, &options);
    }
    let info = session.info()?;
    let mut out = print::out();
    let mut field = |name: &'static str, text: Option<String>| match text {
        Some(text) => out.line(&shown!("{:<9}{}", name, line(&text))),
        None => Ok(()),
    };
    field("session", Some(session.id().to_owned()))?;
    if let Some(info) = &info {
        field("title", Some(info.summary.clone()))?;
        field("project", info.cwd.clone())?;
        field("branch", info.git_branch.clone())?;
        field("tag", info.tag.clone())?;
        field("problem", info.problem.as_ref().map(ToString::to_string))?;
    }
    let usage = session.usage(&options)?;
    let (turns, spent) = (usage.turns, &usage.spent);
    field("used", Some(format!("{turns} turns, {}", list::spent(spent).as_str())))?;
    if let Some((count, offset)) = session.damaged_lines()? {
        print::err(&shown!(
            "{} lines of the transcript are not JSON, the first at byte {}. They are left out.",
            count,
            offset
        ));
    }
    print::out().line(&ours(""))?;
    inspect::run_stored(&session, &inspect_args(&session, args.full, None, false))
}

/// The arguments of `inspect` for a session.
fn inspect_args(
    session: &StoredSession,
    full: bool,
    html: Option<PathBuf>,
    force: bool,
) -> Inspect {
    Inspect {
        file: PathBuf::from(session.id()),
        json: false,
        deltas: false,
        html,
        force,
        follow: false,
        full,
        max_line: None,
        direction: Way::ToHost,
    }
}

fn show_json(session: &StoredSession, options: &UsageOptions) -> anyhow::Result<u8> {
    let mut shown = match session.info()? {
        Some(info) => list::info_json(&info),
        None => json!({ "id": session.id(), "path": session.path() }),
    };
    list::add_usage(&mut shown, &session.usage(options)?);
    shown["live"] = Value::from(format!("{:?}", session.liveness()));
    shown["agents"] = session
        .subagents()?
        .into_iter()
        .map(|agent| {
            json!({
                "id": agent.id,
                "tool_use_id": agent.tool_use_id,
                "type": agent.agent_type,
                "description": agent.description,
            })
        })
        .collect();
    // Messages are written one by one: there may be many.
    let mut out = std::io::BufWriter::new(print::data());
    let head = shown.to_string();
    write!(out, "{},\"messages\":[", head.strip_suffix('}').unwrap_or(&head))?;
    let messages = session.messages(&MessageOptions::default().system_messages(true))?;
    for (number, message) in messages.enumerate() {
        let entry = message?.entry;
        write!(out, "{}{}", if number == 0 { "" } else { "," }, entry.as_json())?;
    }
    writeln!(out, "]}}")?;
    out.flush()?;
    Ok(exit::OK)
}

fn fork(args: &Fork) -> anyhow::Result<u8> {
    let mut options = ForkOptions::default();
    if let Some(title) = &args.title {
        options = options.title(title.as_str());
    }
    if let Some(message) = &args.up_to {
        options = options.up_to(message.as_str());
    }
    let fork = find(&args.place, &args.id)?.fork(&options)?;
    writeln!(print::data(), "{}", fork.id())?;
    Ok(exit::OK)
}

fn rm(args: &Rm) -> anyhow::Result<u8> {
    let sessions = sessions(&args.place)?;
    // All of them are found before the first is deleted.
    let found =
        args.ids.iter().map(|id| sessions.find(id)).collect::<Result<Vec<StoredSession>, _>>()?;
    if !args.yes && !confirm(&found)? {
        print::err(&ours("Nothing was deleted."));
        return Ok(exit::FAILED);
    }
    for session in found {
        session.delete()?;
    }
    Ok(exit::OK)
}

fn confirm(sessions: &[StoredSession]) -> anyhow::Result<bool> {
    use std::io::IsTerminal as _;
    anyhow::ensure!(
        std::io::stdin().is_terminal() && print::err_is_terminal(),
        "deleting needs a confirmation, and there is no terminal: add --yes"
    );
    for session in sessions {
        let title = session.info()?.map(|info| info.summary).unwrap_or_default();
        print::err(&shown!("{}  {}", line(session.id()), line(&title)));
    }
    let what = if sessions.len() == 1 { ours("this session") } else { ours("these sessions") };
    print::err(&shown!("Delete {}? This cannot be undone. [y/N]", what));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("the answer could not be read")?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
