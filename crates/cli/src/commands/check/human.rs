//! The report as text.

use std::path::Path;

use duologue_protocol::Direction;
use duologue_tape::check::{AtPath, Counted, Kind, MAX_LISTED, Report};
use duologue_terminal::print::{self, Out};
use duologue_terminal::{Foreign, Shown, line, ours, shown, summary};

/// The most entries of a list that are shown; `--json` has more.
const SHOWN: usize = 20;
/// The most kinds of messages that are shown. About two hundred are known.
const KINDS: usize = 300;

pub(crate) fn print(path: &Path, report: &Report, strict: bool) -> anyhow::Result<()> {
    let mut out = print::out();
    title(&mut out, path, report)?;
    kinds(&mut out, report)?;
    unknown_tags(&mut out, report)?;
    malformed(&mut out, report)?;
    paths(&mut out, "unknown field", "unknown fields", &report.unknown_fields)?;
    words(&mut out, report)?;
    violations(&mut out, report)?;
    paths(&mut out, "legacy form", "legacy forms", &report.legacy)?;
    if let Some(torn) = &report.torn {
        let note = ours("note:").cyan();
        let (line, length) = (torn.line, torn.length);
        out.line(&shown!("\n  {} line {} was cut off after {} bytes", note, line, length as u64))?;
    }
    verdict(&mut out, report, strict)?;
    Ok(())
}

fn title(out: &mut Out, path: &Path, report: &Report) -> anyhow::Result<()> {
    let name = match path.to_string_lossy() {
        name if name == "-" => ours("stdin"),
        name => line(name),
    };
    let kind = match &report.header {
        Some(header) => {
            let program = line(header.program.as_deref().unwrap_or("an agent"));
            let version = line(header.version.as_deref().unwrap_or_default());
            shown!("a tape of {} {}", program, version).trim_end()
        }
        None => ours("plain lines"),
    };
    out.line(&shown!("{}: {}", name.bold(), kind))?;
    Ok(())
}

fn kinds(out: &mut Out, report: &Report) -> anyhow::Result<()> {
    let counts = [
        (Direction::ToHost, "to the host", report.lines_to_host),
        (Direction::ToAgent, "to the agent", report.lines_to_agent),
    ];
    for (way, words, lines) in counts {
        if lines == 0 {
            continue;
        }
        let title = shown!("{} {} {}", lines, plural(lines, "line", "lines"), words);
        out.line(&shown!("\n  {}", title.bold()))?;
        for (kind, count) in
            report.kinds.iter().filter(|(kind, _)| kind.direction == way).take(KINDS)
        {
            out.line(&shown!("  {:>7}  {}", count, line(kind.name())))?;
        }
    }
    if report.lines_of_stderr > 0 {
        let lines = report.lines_of_stderr;
        out.line(&shown!("\n  {} {} of stderr", lines, plural(lines, "line", "lines")))?;
    }
    Ok(())
}

fn unknown_tags(out: &mut Out, report: &Report) -> anyhow::Result<()> {
    let total = report.unknown_tags.total();
    if total == 0 {
        return Ok(());
    }
    heading(out, total, "unknown type or subtype", "unknown types or subtypes", true)?;
    for (tag, count) in report.unknown_tags.iter().take(SHOWN) {
        let place = place(&tag.message, &tag.path);
        let (name, tag) = (line(&tag.name), line(&tag.tag));
        out.line(&shown!("  {:>7}  {} = \"{}\" in {}", count, name, tag, place))?;
    }
    more(out, report.unknown_tags.iter().count(), report.unknown_tags.more)
}

fn malformed(out: &mut Out, report: &Report) -> anyhow::Result<()> {
    let total = report.malformed.total;
    if total == 0 {
        return Ok(());
    }
    let serious = report.malformed_to_host > 0;
    heading(out, total, "malformed line", "malformed lines", serious)?;
    for malformed in report.malformed.first.iter().take(SHOWN) {
        let who = match malformed.direction {
            Direction::ToHost => "",
            Direction::ToAgent => " (a line of the host)",
        };
        let reason = summary::located(malformed.line, report.header.is_some(), &malformed.reason);
        out.line(&shown!("           {}{}", line(&reason), who))?;
    }
    more(out, usize::try_from(total).unwrap_or(usize::MAX), 0)
}

fn paths(
    out: &mut Out,
    one: &'static str,
    many: &'static str,
    counted: &Counted<AtPath>,
) -> anyhow::Result<()> {
    let total = counted.total();
    if total == 0 {
        return Ok(());
    }
    heading(out, total, one, many, false)?;
    for (at, count) in counted.iter().take(SHOWN) {
        out.line(&shown!("  {:>7}  {}", count, place(&at.message, &at.path)))?;
    }
    more(out, counted.iter().count(), counted.more)
}

fn words(out: &mut Out, report: &Report) -> anyhow::Result<()> {
    let words = &report.unknown_words;
    if words.total() == 0 {
        return Ok(());
    }
    heading(out, words.total(), "unknown word", "unknown words", false)?;
    for (word, count) in words.iter().take(SHOWN) {
        let place = place(&word.at.message, &word.at.path);
        out.line(&shown!("  {:>7}  \"{}\" as {}", count, line(&word.word), place))?;
    }
    more(out, words.iter().count(), words.more)
}

fn violations(out: &mut Out, report: &Report) -> anyhow::Result<()> {
    let total = report.violations.len();
    if total == 0 {
        return Ok(());
    }
    heading(out, total as u64, "broken rule", "broken rules", false)?;
    for violation in report.violations.iter().take(SHOWN) {
        out.line(&shown!("           {}", line(Foreign::of(violation))))?;
    }
    more(out, total, 0)
}

fn heading(
    out: &mut Out,
    count: u64,
    one: &'static str,
    many: &'static str,
    serious: bool,
) -> anyhow::Result<()> {
    let text = shown!("{} {}", count, plural(count, one, many));
    let text = if serious { text.red() } else { text.yellow() };
    out.line(&shown!("\n  {}", text.bold()))?;
    Ok(())
}

fn more(out: &mut Out, listed: usize, uncounted: u64) -> anyhow::Result<()> {
    let hidden = listed.saturating_sub(SHOWN) as u64 + uncounted;
    if hidden > 0 {
        let most = MAX_LISTED;
        out.line(&shown!("           and {} more; --json lists up to {}", hidden, most))?;
    }
    Ok(())
}

fn verdict(out: &mut Out, report: &Report, strict: bool) -> anyhow::Result<()> {
    let warnings = report.warnings();
    if report.is_empty() {
        let verdict = ours("There are no lines to check.").red().bold();
        out.line(&shown!("\n  {}\n", verdict))?;
    } else if !report.is_understood(strict) {
        out.line(&shown!("\n  {}\n", ours("Not everything is understood.").red().bold()))?;
    } else if warnings > 0 {
        let verdict = ours("Every type is understood.").green().bold();
        let words = plural(warnings, "warning", "warnings");
        out.line(&shown!("\n  {} {} {}.\n", verdict, warnings, words))?;
    } else {
        out.line(&shown!("\n  {}\n", ours("Everything is understood.").green().bold()))?;
    }
    Ok(())
}

fn place(kind: &Kind, path: &str) -> Shown {
    let way = match kind.direction {
        Direction::ToHost => "",
        Direction::ToAgent => " of the host",
    };
    let name = line(kind.name());
    if path.is_empty() {
        shown!("{}{}", name, way)
    } else {
        shown!("{}: {}{}", name, line(path), way)
    }
}

const fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
