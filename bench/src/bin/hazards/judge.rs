//! The result of a run.

use std::fmt::Write as _;

use duologue_bench::hazard::{Ending, FLOOD_LINES, HUGE, Hazard, PIECES};
use serde_json::Value;

use crate::run::Run;

/// A cell of the table.
#[derive(Debug)]
pub struct Cell {
    /// A few words.
    pub text: String,
    /// The first error.
    pub error: Option<String>,
}

pub fn judge(hazard: Hazard, run: &Run) -> Cell {
    let mut text = match hazard {
        Hazard::Huge => huge(run),
        Hazard::Slow => slow(run),
        Hazard::Asks => asks(run),
        Hazard::NoCallback => no_callback(run),
        Hazard::Blocks => blocks(run),
        Hazard::Deltas => deltas(hazard, run),
        Hazard::Unread => unread(hazard, run),
        _ if hazard.has_offspring() => left(hazard, run),
        _ => turn(run, texts(hazard)),
    };
    if run.report.as_ref().is_some_and(|report| report["end"] == "hangs in close") {
        text.push_str("; close hangs");
    }
    Cell { text, error: first_error(run) }
}

/// Joins the cells of several runs. Cells that differ only in numbers are the same.
pub fn together(runs: Vec<Cell>) -> Cell {
    let all = runs.len();
    let mut kinds: Vec<(String, usize, Cell)> = Vec::new();
    for cell in runs {
        let kind = cell.text.replace(|letter: char| letter.is_ascii_digit(), "");
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, count, _)) => *count += 1,
            None => kinds.push((kind, 1, cell)),
        }
    }
    if let [(_, _, cell)] = &mut kinds[..] {
        return Cell { text: std::mem::take(&mut cell.text), error: cell.error.take() };
    }
    let text: Vec<String> = kinds
        .iter()
        .map(|(_, count, cell)| format!("{count} of {all} runs: {}", cell.text))
        .collect();
    Cell { text: text.join("; "), error: kinds.into_iter().find_map(|(_, _, cell)| cell.error) }
}

/// The content of the tapes of recorded runs: a range, if it differs.
pub fn tapes(hazard: Hazard, runs: &[Run]) -> String {
    let counts = runs.iter().filter_map(|run| run.tape.map(|(count, _)| count));
    let Some((least, most)) = counts.clone().min().zip(counts.max()) else {
        return "no tape".to_owned();
    };
    let count = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let is_torn = runs.iter().any(|run| run.tape.is_some_and(|(_, readable)| !readable));
    let torn = if is_torn { ", an incomplete line" } else { "" };
    format!("{count} of {} texts{torn}", texts(hazard))
}

/// How many texts the agent writes.
const fn texts(hazard: Hazard) -> u64 {
    match hazard {
        Hazard::Huge => 3,
        Hazard::Slow => FLOOD_LINES + 2,
        Hazard::Cancelled => PIECES + 2,
        _ => 2,
    }
}

fn number(run: &Run, field: &str) -> u64 {
    run.report.as_ref().and_then(|report| report[field].as_u64()).unwrap_or(0)
}

fn is(run: &Run, field: &str) -> bool {
    run.report.as_ref().is_some_and(|report| report[field] == true)
}

fn first_error(run: &Run) -> Option<String> {
    let Some(report) = &run.report else { return Some(run.stderr.trim().to_owned()) };
    let errors = report["errors"].as_array()?;
    let first = errors.first()?.as_str()?;
    let mut text = first.split_whitespace().collect::<Vec<_>>().join(" ");
    if errors.len() > 1 {
        let _ = write!(text, " (and {} more)", errors.len() - 1);
    }
    Some(text)
}

fn has_errors(run: &Run) -> bool {
    run.report.as_ref().is_some_and(|report| report["errors"] != Value::Array(Vec::new()))
}

/// The result of a turn with this many texts.
fn turn(run: &Run, expected: u64) -> String {
    let Some(report) = &run.report else {
        return match run.status {
            Some(status) => format!("the program crashes ({status})"),
            None => "the program hangs".to_owned(),
        };
    };
    let texts = number(run, "texts");
    if report["end"] == "hangs in read" {
        return format!("**hangs** after {texts} of {expected} texts");
    }
    if !is(run, "result") {
        return format!("**ends early**, {texts} of {expected} texts");
    }
    match texts {
        _ if texts < expected && number(run, "kept") >= expected => {
            format!("{} of {expected} **lost**, all in the turn's list", expected - texts)
        }
        _ if texts < expected => format!("{} of {expected} texts **lost**", expected - texts),
        _ if texts > expected => format!("{texts} texts instead of {expected}"),
        _ if has_errors(run) => "an error, then continues".to_owned(),
        _ => "ok".to_owned(),
    }
}

fn megabytes(run: &Run) -> u64 {
    run.peak_kb.div_ceil(1024)
}

fn huge(run: &Run) -> String {
    let text = turn(run, texts(Hazard::Huge));
    if text == "ok" && number(run, "longest") != HUGE as u64 {
        return format!("cut to {} bytes", number(run, "longest"));
    }
    if text == "ok" { format!("ok, {} MB", megabytes(run)) } else { text }
}

fn slow(run: &Run) -> String {
    let text = turn(run, texts(Hazard::Slow));
    let agent = if is(run, "flooded") { "not held up" } else { "held up" };
    format!("{text}, {} MB, agent {agent}", megabytes(run))
}

fn asks(run: &Run) -> String {
    let all = ["can_use_tool", "hook_callback", "mcp_message", "elicitation", "brand_new"];
    let answered = |id: &str| run.answers.iter().any(|answer| answer["request_id"] == id);
    let open: Vec<&str> = all.iter().copied().filter(|id| !answered(id)).collect();
    if open.is_empty() {
        let mut text = "all 5".to_owned();
        if run.answers.len() > all.len() {
            text.push_str(", some twice");
        }
        return text;
    }
    format!("{} of 5; **not** {}", all.len() - open.len(), open.join(", "))
}

fn no_callback(run: &Run) -> String {
    let answer = match run.answers.first() {
        None => "**no answer**".to_owned(),
        Some(answer) if answer["subtype"] == "error" => "answers with an error".to_owned(),
        Some(answer) => match answer["response"]["behavior"].as_str() {
            Some("deny") => "denied".to_owned(),
            Some("allow") => "**allowed**".to_owned(),
            _ => format!("answered {answer}"),
        },
    };
    // The real CLI asks only if the flag is set.
    let asked = run.args.contains("--permission-prompt-tool");
    if asked { format!("{answer}, and is asked") } else { answer }
}

/// The answer for a handler that was too late, and its time.
fn blocks(run: &Run) -> String {
    let answered = |answer: &&Value| answer["request_id"].is_string();
    let after = run.answers.iter().find_map(|answer| answer["after"].as_f64()).unwrap_or_default();
    let answer = match run.answers.iter().find(answered) {
        None => return "**no answer**".to_owned(),
        Some(answer) if answer["subtype"] == "error" => "answers with an error",
        Some(answer) => match answer["response"]["behavior"].as_str() {
            Some("deny") => "denied",
            Some("allow") => "**allowed**",
            _ => "another answer",
        },
    };
    format!("{answer} after {after:.1} s")
}

/// The result of the turn, and its memory.
fn deltas(hazard: Hazard, run: &Run) -> String {
    format!("{}, {} MB", turn(run, texts(hazard)), megabytes(run))
}

/// The result of the turn, and the duration of `close` if it returned.
fn unread(hazard: Hazard, run: &Run) -> String {
    let text = turn(run, texts(hazard));
    if run.report.as_ref().is_none_or(|report| report["end"] != "done") {
        return text;
    }
    format!("{text}, closed after {:.0} s", run.closing.as_secs_f64())
}

fn left(hazard: Hazard, run: &Run) -> String {
    if !is(run, "result") {
        return turn(run, 2);
    }
    let names = ["**agent**", "**its child**", "a detached process"];
    let left: Vec<&str> = run.left.iter().filter_map(|at| names.get(*at).copied()).collect();
    let mut text = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
    if hazard.is_stuck() && hazard.ending() == Ending::Close {
        let _ = write!(text, ", after {:.0} s", run.closing.as_secs_f64());
    }
    text
}
