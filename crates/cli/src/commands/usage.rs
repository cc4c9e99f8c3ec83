//! `duologue usage`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use duologue_sessions::{Spent, Usage as Used, UsageRow};
use duologue_terminal::summary::count;
use duologue_terminal::{Foreign, Shown, line, ours, print, shown};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::commands::sessions::{cost, spent_json};
use crate::table::{Align, Table};
use crate::{exit, stored};

/// Show what stored conversations cost: tokens and dollars by day, model and project.
///
/// Reads all transcripts of Claude Code and of its sub-agents. A response counts once, although it is in
/// forks and in resumed files too. Costs are estimates from list prices; DUOLOGUE_PRICES names a file with
/// others. A + behind a cost means that some prices are not known.
///
///   duologue usage
///   duologue usage --by model --since 2026-11-01
///
/// Exit codes: 0; 1 if a transcript could not be read; 2 if the command line is wrong, or the folder of
/// the transcripts cannot be read.
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
pub(crate) struct Usage {
    /// What the rows of the table are
    #[arg(long, value_enum, default_value_t = By::Day)]
    pub(crate) by: By,

    /// Print one JSON object: a row for each day, model and project, and totals
    #[arg(long)]
    pub(crate) json: bool,

    /// Only from this day on: 2026-11-16
    #[arg(long, value_name = "DAY")]
    pub(crate) since: Option<Date>,

    /// Only up to this day
    #[arg(long, value_name = "DAY")]
    pub(crate) until: Option<Date>,

    /// Count days in UTC instead of the local time zone
    #[arg(long)]
    pub(crate) utc: bool,

    /// Only sessions of this directory and of other worktrees of its repository
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,

    /// The config directory [default: CLAUDE_CONFIG_DIR, or ~/.claude]
    #[arg(long, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
}

/// What the rows of the table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Days
    Day,
    /// Models
    Model,
    /// Working directories
    Project,
}

pub(crate) fn run(args: &Usage) -> anyhow::Result<u8> {
    let sessions = stored::sessions(args.config_dir.as_deref(), args.project.as_deref())?;
    let zone = if args.utc { TimeZone::UTC } else { TimeZone::system() };
    let start = |day: Date| -> anyhow::Result<i64> {
        let start = day.to_zoned(zone.clone()).with_context(|| format!("{day} cannot be used"))?;
        Ok(start.timestamp().as_millisecond())
    };
    let mut options = stored::usage_options()?;
    if let Some(day) = args.since {
        options = options.since(start(day)?);
    }
    if let Some(day) = args.until {
        let next = day.tomorrow().with_context(|| format!("{day} cannot be used"))?;
        options = options.until(start(next)?);
    }
    let days = zone.clone();
    options = options.day(move |time| {
        let time = Timestamp::from_millisecond(time).unwrap_or_default();
        time.to_zoned(days.clone()).date().to_string()
    });
    let used = sessions.usage(&options)?;
    for damaged in &used.damaged {
        print::err(&shown!("not counted: {}", line(Foreign::of(&damaged.problem))));
    }
    let code = if used.damaged.is_empty() { exit::OK } else { exit::FAILED };
    if args.json {
        writeln!(print::data(), "{}", to_json(&used))?;
        return Ok(code);
    }
    if used.rows.is_empty() {
        print::err(&shown!("There are no responses in {}", line(&*sessions.projects_dir())));
        return Ok(code);
    }
    let size = print::out_size().map(|(_, columns)| usize::from(columns));
    let mut out = print::out();
    for line in table(&used, args.by).lines(size) {
        out.line(&line)?;
    }
    Ok(code)
}

fn name(row: &UsageRow, by: By) -> &str {
    match by {
        By::Day if row.day.is_empty() => "unknown",
        By::Day => &row.day,
        By::Model => &row.model,
        By::Project => &row.project,
    }
}

fn totals(used: &Used, by: By) -> (Vec<(&str, Spent)>, Spent) {
    let mut rows: BTreeMap<&str, Spent> = BTreeMap::new();
    let mut all = Spent::default();
    for row in &used.rows {
        rows.entry(name(row, by)).or_default().merge(&row.spent);
        all.merge(&row.spent);
    }
    let mut rows: Vec<(&str, Spent)> = rows.into_iter().collect();
    if by != By::Day {
        rows.sort_by(|(_, a), (_, b)| weight(b, &all).total_cmp(&weight(a, &all)));
    }
    (rows, all)
}

/// What the chart shows: the cost, or tokens if no price is known.
#[expect(clippy::cast_precision_loss, reason = "a bar has no more than a few hundred steps")]
fn weight(spent: &Spent, all: &Spent) -> f64 {
    if all.cost_usd > 0.0 { spent.cost_usd } else { spent.tokens.total() as f64 }
}

fn table(used: &Used, by: By) -> Table {
    let head = match by {
        By::Day => "DAY",
        By::Model => "MODEL",
        By::Project => "PROJECT",
    };
    let mut table = Table::new([
        (ours(head), Align::Left),
        (ours("COST"), Align::Right),
        (ours("RESPONSES"), Align::Right),
        (ours("INPUT"), Align::Right),
        (ours("OUTPUT"), Align::Right),
        (ours("CACHE READ"), Align::Right),
        (ours("CACHE WRITE"), Align::Right),
        (ours(""), Align::Left),
    ]);
    let (rows, all) = totals(used, by);
    let most = rows.iter().map(|(_, spent)| weight(spent, &all)).fold(0.0, f64::max);
    let cells = |name: Shown, spent: &Spent, bar: Shown| {
        let tokens = &spent.tokens;
        [
            name,
            cost(spent),
            shown!("{}", spent.responses),
            count(tokens.input),
            count(tokens.output),
            count(tokens.cache_read),
            count(tokens.cache_write),
            bar,
        ]
    };
    for (name, spent) in &rows {
        let share = if most > 0.0 { weight(spent, &all) / most } else { 0.0 };
        table.row(cells(line(*name), spent, bar(share).blue()));
    }
    if rows.len() > 1 {
        table.row(cells(ours("total"), &all, Shown::default()));
    }
    table
}

/// The widest bar, in characters.
const BAR: f64 = 24.0;

/// A bar for a share between 0 and 1, in steps of an eighth of a character.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 of a small number"
)]
fn bar(share: f64) -> Shown {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let steps = (share.clamp(0.0, 1.0) * BAR * 8.0).ceil() as usize;
    let rest = EIGHTHS.get(steps % 8).copied().unwrap_or_default();
    shown!("{}{}", Shown::repeat("█", steps / 8), rest)
}

fn to_json(used: &Used) -> Value {
    let rows: Vec<Value> = used
        .rows
        .iter()
        .map(|row| {
            let mut value = json!({
                "day": row.day,
                "model": row.model,
                "project": row.project,
            });
            add(&mut value, &row.spent);
            value
        })
        .collect();
    let (_, all) = totals(used, By::Day);
    let damaged: Vec<Value> = used
        .damaged
        .iter()
        .map(|it| json!({ "path": it.path, "problem": it.problem.to_string() }))
        .collect();
    json!({ "rows": rows, "total": spent_json(&all), "damaged": damaged })
}

fn add(value: &mut Value, spent: &Spent) {
    for (name, field) in spent_json(spent).as_object().into_iter().flatten() {
        value[name.as_str()] = field.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(0.0).as_str(), "");
        assert_eq!(bar(1.0).width(), 24);
        assert_eq!(bar(1.0 / 24.0 / 8.0).as_str(), "▏");
        assert_eq!(bar(7.0).width(), 24);
    }
}
