//! A report for people.

use std::io::Write;

use duologue_protocol::Direction;
use owo_colors::OwoColorize as _;

use super::report::{AtPath, Counted, Kind, MOST_LISTED, Report};
use crate::visible::visible;

/// How many of a kind are shown; `--json` has them all.
const SHOWN: usize = 20;
/// How many kinds of messages are shown: there are some two hundred.
const KINDS: usize = 300;

pub(crate) fn print(report: &Report, strict: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    title(&mut out, report)?;
    kinds(&mut out, report)?;
    unknown_tags(&mut out, report)?;
    malformed(&mut out, report)?;
    paths(&mut out, "unknown field", &report.unknown_fields)?;
    words(&mut out, report)?;
    violations(&mut out, report)?;
    paths(&mut out, "legacy form", &report.legacy)?;
    if let Some(torn) = &report.torn {
        let (line, length) = (torn.line, torn.length);
        writeln!(out, "\n  {} line {line} was cut off after {length} bytes", "note:".cyan())?;
    }
    verdict(&mut out, report, strict)?;
    Ok(())
}

fn title(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let name = match report.path.to_string_lossy() {
        name if name == "-" => "stdin".to_owned(),
        name => name.into_owned(),
    };
    let kind = match &report.header {
        Some(header) => {
            let program = header.program.as_deref().unwrap_or("an agent");
            let version = header.version.as_deref().unwrap_or_default();
            format!("a tape of {program} {version}").trim_end().to_owned()
        }
        None => "plain lines".to_owned(),
    };
    writeln!(out, "{}: {kind}", name.bold())?;
    Ok(())
}

fn kinds(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let counts = [
        (Direction::ToHost, "to the host", report.lines_to_host),
        (Direction::ToAgent, "to the agent", report.lines_to_agent),
    ];
    for (way, words, lines) in counts {
        if lines == 0 {
            continue;
        }
        writeln!(out, "\n  {}", format_args!("{lines} {} {words}", plural(lines, "line")).bold())?;
        for (kind, count) in
            report.kinds.iter().filter(|(kind, _)| kind.direction == way).take(KINDS)
        {
            writeln!(out, "  {count:>7}  {}", visible(&kind.name()))?;
        }
    }
    if report.lines_of_stderr > 0 {
        let lines = report.lines_of_stderr;
        writeln!(out, "\n  {lines} {} of stderr", plural(lines, "line"))?;
    }
    Ok(())
}

fn unknown_tags(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let total = report.unknown_tags.total();
    if total == 0 {
        return Ok(());
    }
    heading(out, total, "unknown type or subtype", "unknown types or subtypes", true)?;
    for (tag, count) in report.unknown_tags.iter().take(SHOWN) {
        let place = place(&tag.message, &tag.path);
        writeln!(out, "  {count:>7}  {} = {:?} in {place}", tag.name, tag.tag)?;
    }
    more(out, report.unknown_tags.iter().count(), report.unknown_tags.more)
}

fn malformed(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let total = report.malformed.total;
    if total == 0 {
        return Ok(());
    }
    let serious = report.malformed_to_host > 0;
    heading(out, total, "malformed line", "malformed lines", serious)?;
    for line in report.malformed.first.iter().take(SHOWN) {
        let who = match line.direction {
            Direction::ToHost => "",
            Direction::ToAgent => " of the host",
        };
        let (number, offset) = (line.line, line.offset);
        let reason = visible(&line.reason);
        writeln!(out, "           line {number} (from byte {offset}){who}: {reason}")?;
    }
    more(out, usize::try_from(total).unwrap_or(usize::MAX), 0)
}

fn paths(out: &mut impl Write, what: &str, counted: &Counted<AtPath>) -> anyhow::Result<()> {
    let total = counted.total();
    if total == 0 {
        return Ok(());
    }
    heading(out, total, what, &format!("{what}s"), false)?;
    for (at, count) in counted.iter().take(SHOWN) {
        writeln!(out, "  {count:>7}  {}", place(&at.message, &at.path))?;
    }
    more(out, counted.iter().count(), counted.more)
}

fn words(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let words = &report.unknown_words;
    if words.total() == 0 {
        return Ok(());
    }
    heading(out, words.total(), "unknown word", "unknown words", false)?;
    for (word, count) in words.iter().take(SHOWN) {
        let place = place(&word.at.message, &word.at.path);
        writeln!(out, "  {count:>7}  {:?} as {place}", word.word)?;
    }
    more(out, words.iter().count(), words.more)
}

fn violations(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let total = report.violations.len();
    if total == 0 {
        return Ok(());
    }
    heading(out, total as u64, "broken rule", "broken rules", false)?;
    for violation in report.violations.iter().take(SHOWN) {
        writeln!(out, "           {}", visible(&violation.to_string()))?;
    }
    more(out, total, 0)
}

fn heading(
    out: &mut impl Write,
    count: u64,
    one: &str,
    many: &str,
    serious: bool,
) -> anyhow::Result<()> {
    let text = format!("{count} {}", if count == 1 { one } else { many });
    if serious {
        writeln!(out, "\n  {}", text.red().bold())?;
    } else {
        writeln!(out, "\n  {}", text.yellow().bold())?;
    }
    Ok(())
}

fn more(out: &mut impl Write, listed: usize, uncounted: u64) -> anyhow::Result<()> {
    let hidden = listed.saturating_sub(SHOWN) as u64 + uncounted;
    if hidden > 0 {
        writeln!(out, "           and {hidden} more; --json lists up to {MOST_LISTED}")?;
    }
    Ok(())
}

fn verdict(out: &mut impl Write, report: &Report, strict: bool) -> anyhow::Result<()> {
    let warnings = report.warnings();
    let lines = report.lines_to_host + report.lines_to_agent;
    if lines == 0 {
        writeln!(out, "\n  {}\n", "There is no line in it.".yellow())?;
    } else if !report.is_understood(strict) {
        writeln!(out, "\n  {}\n", "Not everything is understood.".red().bold())?;
    } else if warnings > 0 {
        let words = plural(warnings, "warning");
        writeln!(out, "\n  {} {warnings} {words}.\n", "Every type is understood.".green().bold())?;
    } else {
        writeln!(out, "\n  {}\n", "Everything is understood.".green().bold())?;
    }
    Ok(())
}

fn place(kind: &Kind, path: &str) -> String {
    let way = match kind.direction {
        Direction::ToHost => "",
        Direction::ToAgent => " of the host",
    };
    let place = if path.is_empty() {
        format!("{}{way}", kind.name())
    } else {
        format!("{}: {path}{way}", kind.name())
    };
    visible(&place).into_owned()
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}
