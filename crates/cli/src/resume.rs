//! Choosing the conversation that `run` and `chat` resume, and showing its end.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;

use anyhow::Context as _;
use duologue_protocol::ToHost;
use duologue_sessions::{ListOptions, MessageOptions, SessionInfo, Sessions, StoredSession};
use duologue_terminal::{Foreign, Shown, line, ours, print, shown};

use crate::commands::sessions::age;

/// How many sessions the list shows.
const LISTED: usize = 20;

/// How many messages of the old conversation are shown.
const MESSAGES: usize = 6;

/// How many lines of each message are shown.
const LINES: usize = 8;

/// The sessions of a directory.
fn sessions(cwd: Option<&Path>) -> anyhow::Result<Sessions> {
    let cwd = cwd.map_or_else(std::env::current_dir, std::path::absolute)?;
    Ok(Sessions::from_env()?.in_project(cwd))
}

/// Lets the user choose a session of this directory.
///
/// # Errors
/// If there is no terminal, no session, or none was chosen.
pub(crate) fn choose(cwd: Option<&Path>) -> anyhow::Result<String> {
    anyhow::ensure!(
        io::stdin().is_terminal() && print::err_is_terminal(),
        "--resume without an id shows a list, and there is no terminal: add an id; `duologue sessions` lists them"
    );
    let found = sessions(cwd)?.list(&ListOptions::default().limit(LISTED))?.sessions;
    anyhow::ensure!(!found.is_empty(), "there is no conversation of this directory to resume");
    let columns = print::err_columns().unwrap_or(80);
    for (number, info) in (1_usize..).zip(&found) {
        print::err(&row(number, info).cut(columns));
    }
    print::err(&shown!("Which one? [1-{}; Enter for none]", found.len()));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("the answer could not be read")?;
    let answer = answer.trim();
    let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let chosen = number.and_then(|number| found.get(number));
    anyhow::ensure!(!answer.is_empty(), "no conversation was chosen");
    let chosen = chosen.with_context(|| format!("{answer:?} is not a number of the list"))?;
    Ok(chosen.id.clone())
}

fn row(number: usize, info: &SessionInfo) -> Shown {
    let title = Foreign::from(info.summary.as_str()).first_line();
    shown!("{:>3}  {:>4}  {}", number, age(info.modified), title)
}

/// The whole id, if this is the beginning of the id of one session of the directory. Other agents may have other ids.
pub(crate) fn whole_id(id: &str, cwd: Option<&Path>) -> String {
    let found = sessions(cwd).ok().and_then(|sessions| sessions.find(id).ok());
    found.map_or_else(|| id.to_owned(), |session| session.id().to_owned())
}

/// The session with this id, or the newest of the directory.
pub(crate) fn stored(id: Option<&str>, cwd: Option<&Path>) -> Option<StoredSession> {
    let sessions = sessions(cwd).ok()?;
    match id {
        Some(id) => sessions.get(id).ok(),
        None => {
            let list = sessions.list(&ListOptions::default().limit(1)).ok()?;
            list.sessions.first().map(|info| sessions.session_of(info))
        }
    }
}

/// The end of a conversation, for a chat that resumes it.
pub(crate) fn end_of(session: &StoredSession) -> Vec<Shown> {
    let Ok(mut messages) = session.messages(&MessageOptions::default()) else { return Vec::new() };
    // Half of the messages are results of tools, which are not shown.
    let skipped = messages.len().saturating_sub(MESSAGES * 8);
    let texts = messages.by_ref().skip(skipped).flatten().filter(|message| !message.is_meta);
    let mut shown: Vec<(bool, String)> = Vec::new();
    for message in texts {
        let wire = message.to_wire();
        let (is_prompt, text) = match wire.message() {
            Some(ToHost::User(user)) => {
                let content = user.message.value().and_then(|message| message.content.value());
                (true, content.map(|content| content.text()).unwrap_or_default())
            }
            Some(ToHost::Assistant(answer)) => {
                (false, answer.message.value().map(|message| message.text()).unwrap_or_default())
            }
            _ => continue,
        };
        if !text.trim().is_empty() {
            shown.push((is_prompt, text.to_string()));
        }
    }
    let first = shown.len().saturating_sub(MESSAGES);
    let mut lines = Vec::new();
    for (is_prompt, text) in shown.iter().skip(first) {
        let mut rest = text.trim().lines();
        for (number, part) in rest.by_ref().take(LINES).enumerate() {
            let mark = if *is_prompt && number == 0 { ours("› ") } else { ours("  ") };
            lines.push(shown!("{}{}", mark, line(part)).dimmed());
        }
        if rest.next().is_some() {
            lines.push(ours("  …").dimmed());
        }
    }
    lines
}
