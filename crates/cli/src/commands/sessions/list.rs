//! `duologue sessions list`.

use std::io::Write as _;

use duologue_sessions::{ListOptions, SessionInfo, SessionUsage, Sessions, Spent};
use duologue_terminal::summary::{count, dollars};
use duologue_terminal::{Shown, line, ours, print, shown};
use serde_json::{Value, json};

use super::args::List;
use crate::table::{Align, Table};
use crate::{exit, stored};

pub(crate) fn run(args: &List) -> anyhow::Result<u8> {
    let sessions = super::sessions(&args.place)?;
    let (found, damaged) = find(&sessions, args)?;
    let usage: Vec<Option<SessionUsage>> = if args.brief {
        vec![None; found.len()]
    } else {
        let options = stored::usage_options()?;
        sessions.usage_of(&found, &options).into_iter().map(Result::ok).collect()
    };
    if args.json {
        let mut out = std::io::BufWriter::new(print::data());
        for (info, usage) in found.iter().zip(&usage) {
            let mut shown = info_json(info);
            if let Some(usage) = usage {
                add_usage(&mut shown, usage);
            }
            writeln!(out, "{shown}")?;
        }
        for damaged in &damaged {
            let problem = damaged.problem.to_string();
            writeln!(
                out,
                "{}",
                json!({ "id": damaged.id, "path": damaged.path, "problem": problem })
            )?;
        }
        out.flush()?;
        return Ok(exit::OK);
    }
    for damaged in &damaged {
        let problem = duologue_terminal::Foreign::of(&damaged.problem);
        print::err(&shown!("{}: {}", line(damaged.path.as_path()), line(problem)));
    }
    if found.is_empty() {
        print::err(&shown!("There are no sessions in {}", line(&*sessions.projects_dir())));
        return Ok(exit::OK);
    }
    let columns = print::out_size().map(|(_, columns)| usize::from(columns));
    let mut out = print::out();
    for line in table(&found, &usage).lines(columns) {
        out.line(&line)?;
    }
    Ok(exit::OK)
}

/// The sessions to list, and files that are damaged.
fn find(
    sessions: &Sessions,
    args: &List,
) -> anyhow::Result<(Vec<SessionInfo>, Vec<duologue_sessions::DamagedSession>)> {
    let options = ListOptions::default().programmatic(!args.no_programs);
    let fits = |info: &SessionInfo| {
        (args.archived || info.archived != Some(true))
            && args.tag.as_ref().is_none_or(|tag| info.tag.as_ref() == Some(tag))
    };
    let wanted = if args.limit == 0 { usize::MAX } else { args.limit };
    // Tags and marks are not known before the files are read: a few more are read than are shown, and all if that is not enough.
    let enough = wanted.saturating_add(args.offset);
    let page = if args.limit == 0 { 0 } else { enough.saturating_mul(2) };
    let mut list = sessions.list(&options.clone().limit(page))?;
    let mut found: Vec<SessionInfo> = list.sessions.iter().filter(|it| fits(it)).cloned().collect();
    if found.len() < enough && list.sessions.len() == page {
        list = sessions.list(&options)?;
        found = list.sessions.into_iter().filter(fits).collect();
    }
    found.drain(..args.offset.min(found.len()));
    found.truncate(wanted);
    Ok((found, list.damaged))
}

fn table(found: &[SessionInfo], usage: &[Option<SessionUsage>]) -> Table {
    let mut table = Table::new([
        (ours("ID"), Align::Left),
        (ours("AGE"), Align::Right),
        (ours("TURNS"), Align::Right),
        (ours("COST"), Align::Right),
        (ours("PROJECT"), Align::Left),
        (ours("TITLE"), Align::Left),
    ]);
    let length = unique(found);
    for (info, usage) in found.iter().zip(usage) {
        let title = duologue_terminal::Foreign::from(info.summary.as_str()).first_line();
        let marks = [
            info.tag.as_ref().map(|tag| shown!("#{} ", line(tag)).cyan()),
            (info.archived == Some(true)).then(|| ours("[archived] ").dimmed()),
            info.problem.as_ref().map(|problem| {
                let problem = duologue_terminal::Foreign::of(problem);
                shown!("[{}] ", line(problem)).yellow()
            }),
        ];
        let marks = Shown::join(marks.into_iter().flatten(), "");
        let id = info.id.get(..length).unwrap_or(&info.id);
        table.row([
            line(id).dimmed(),
            age(info.modified),
            usage.as_ref().map(|usage| shown!("{}", usage.turns)).unwrap_or_default(),
            usage.as_ref().map(|usage| cost(&usage.spent)).unwrap_or_default(),
            info.cwd.as_deref().map(project).unwrap_or_default(),
            shown!("{}{}", marks, title),
        ]);
    }
    table
}

/// How many characters of the ids are needed to tell the sessions apart.
fn unique(found: &[SessionInfo]) -> usize {
    let mut ids: Vec<&str> = found.iter().map(|info| info.id.as_str()).collect();
    ids.sort_unstable();
    let common =
        |(a, b): (&&str, &&str)| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let longest = ids.iter().zip(ids.iter().skip(1)).map(common).max();
    longest.map_or(8, |length| (length + 1).max(8))
}

/// The cost of something: empty if no price is known, with `+` if some prices are not known.
pub(crate) fn cost(spent: &Spent) -> Shown {
    match (spent.responses, spent.unpriced) {
        (0, _) => Shown::default(),
        (all, unpriced) if all == unpriced => ours("?"),
        (_, 0) => dollars(spent.cost_usd),
        _ => shown!("{}+", dollars(spent.cost_usd)),
    }
}

/// The cost and the tokens of something.
pub(crate) fn spent(spent: &Spent) -> Shown {
    let tokens = &spent.tokens;
    let read = tokens.input + tokens.cache_read + tokens.cache_write;
    shown!("{}, {} tokens in, {} out", cost(spent), count(read), count(tokens.output))
}

/// The last two names of a path.
fn project(cwd: &str) -> Shown {
    let mut names = cwd.rsplit('/').filter(|name| !name.is_empty());
    let last = names.next().unwrap_or(cwd);
    match names.next() {
        Some(above) => line(format!("{above}/{last}")),
        None => line(last),
    }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

/// How long ago a time was, in milliseconds since 1970: `40s`, `5m`, `3h`, `12d`.
pub(crate) fn age(time: i64) -> Shown {
    span((now() - time).max(0) / 1000)
}

fn span(seconds: i64) -> Shown {
    match seconds {
        0..60 => shown!("{}s", seconds),
        60..3_600 => shown!("{}m", seconds / 60),
        3_600..86_400 => shown!("{}h", seconds / 3_600),
        _ => shown!("{}d", seconds / 86_400),
    }
}

/// What a list shows, as JSON.
pub(crate) fn info_json(info: &SessionInfo) -> Value {
    json!({
        "id": info.id,
        "summary": info.summary,
        "title": info.title,
        "first_prompt": info.first_prompt,
        "cwd": info.cwd,
        "git_branch": info.git_branch,
        "tag": info.tag,
        "created": info.created,
        "modified": info.modified,
        "size": info.size,
        "archived": info.archived,
        "programmatic": info.programmatic,
        "problem": info.problem.as_ref().map(ToString::to_string),
        "path": info.path,
    })
}

/// Adds what a session used.
pub(crate) fn add_usage(shown: &mut Value, usage: &SessionUsage) {
    shown["turns"] = usage.turns.into();
    let spent = spent_json(&usage.spent);
    for (name, value) in spent.as_object().into_iter().flatten() {
        shown[name.as_str()] = value.clone();
    }
}

/// What was used, as JSON.
pub(crate) fn spent_json(spent: &Spent) -> Value {
    let tokens = &spent.tokens;
    json!({
        "responses": spent.responses,
        "cost_usd": spent.cost_usd,
        "unpriced_responses": spent.unpriced,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_tokens": tokens.cache_write,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let at = |seconds: i64| span(seconds).as_str().to_owned();
        assert_eq!([at(5), at(300), at(7_200), at(864_000)], ["5s", "5m", "2h", "10d"]);
        assert_eq!(age(i64::MAX / 2).as_str(), "0s");
    }

    #[test]
    fn a_project_is_its_last_names() {
        assert_eq!(project("/home/me/code/app").as_str(), "code/app");
        assert_eq!(project("/app/").as_str(), "app");
    }

    #[test]
    fn a_cost_shows_what_is_not_known() {
        let mut spent = Spent::default();
        assert_eq!(cost(&spent).as_str(), "");
        (spent.responses, spent.unpriced) = (2, 2);
        assert_eq!(cost(&spent).as_str(), "?");
        (spent.unpriced, spent.cost_usd) = (1, 1.5);
        assert_eq!(cost(&spent).as_str(), "$1.50+");
    }
}
