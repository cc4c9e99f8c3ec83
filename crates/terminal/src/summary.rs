//! Short texts for tool calls, their results, costs, counts and durations.

use duologue_protocol::content::LazyContent;
use duologue_protocol::tool::ToolInput;
use duologue_protocol::transcript::{ToolCallEvent, TurnFinishedEvent};
use duologue_protocol::{Field, Number, RawObject, Text};

use crate::shown;
use crate::text::{Foreign, Shown};

/// A tool call in one line: its command, path, pattern or whole input.
pub fn tool_call(call: &ToolCallEvent) -> Foreign<'static> {
    tool_input(&call.name, Some(&call.input))
}

/// The input of a tool in one line.
pub fn tool_input(name: &str, input: Option<&RawObject>) -> Foreign<'static> {
    let Some(input) = input else { return Foreign::default() };
    let text = |field: &Field<Text>| field.as_str().unwrap_or_default().to_owned();
    let what = match ToolInput::read(name, input) {
        Ok(ToolInput::Bash(bash)) => text(&bash.command),
        Ok(ToolInput::Read(read)) => text(&read.file_path),
        Ok(ToolInput::Write(write)) => text(&write.file_path),
        Ok(ToolInput::Edit(edit)) => text(&edit.file_path),
        Ok(ToolInput::Glob(glob)) => text(&glob.pattern),
        Ok(ToolInput::Grep(grep)) => text(&grep.pattern),
        Ok(ToolInput::NotebookEdit(edit)) => text(&edit.notebook_path),
        Ok(ToolInput::Agent(agent)) => text(&agent.description),
        Ok(ToolInput::WebFetch(fetch)) => text(&fetch.url),
        Ok(ToolInput::WebSearch(search)) => text(&search.query),
        Ok(ToolInput::AskUserQuestion(ask)) => {
            let questions = ask.questions.items().iter();
            questions.filter_map(|q| q.question.as_str()).collect::<Vec<_>>().join(" / ")
        }
        Ok(ToolInput::ExitPlanMode(plan)) => text(&plan.plan),
        _ if input.as_json() == "{}" => String::new(),
        _ => input.as_json().to_owned(),
    };
    what.into()
}

/// The position of a malformed line, then the reason. If the reason ends with a byte offset, that moves to the front.
pub fn located(line: u64, is_tape: bool, reason: &str) -> String {
    let of_tape = if is_tape { " of the tape" } else { "" };
    let byte = reason.strip_suffix(')').and_then(|reason| reason.rsplit_once(" (at byte "));
    match byte.filter(|(_, byte)| byte.bytes().all(|digit| digit.is_ascii_digit())) {
        Some((reason, byte)) if is_tape => {
            format!("line {line} of the tape, byte {byte} of the message: {reason}")
        }
        Some((reason, byte)) => format!("line {line}, byte {byte}: {reason}"),
        None => format!("line {line}{of_tape}: {reason}"),
    }
}

/// The result of a tool as text.
pub fn tool_result(content: Option<&LazyContent>) -> Foreign<'static> {
    let Some(content) = content else { return Foreign::default() };
    let text = match content.read() {
        Ok(content) => {
            let text = content.text();
            let others: Vec<&str> = content
                .blocks()
                .iter()
                .map(|block| block.tag())
                .filter(|kind| *kind != "text")
                .collect();
            if others.is_empty() { text } else { format!("{text}[{}]", others.join(", ")) }
        }
        Err(_) => content.raw().to_string(),
    };
    text.into()
}

/// The cost and the tokens of a turn.
pub fn cost(turn: &TurnFinishedEvent) -> Shown {
    let mut parts = Vec::new();
    if let Some(cost) = turn.cost_usd {
        parts.push(dollars(cost));
    }
    if let Some(usage) = &turn.usage {
        let read = input_tokens(usage);
        let written = usage.output_tokens.as_u64().unwrap_or_default();
        parts.push(shown!("{} in, {} out", count(read), count(written)));
    }
    Shown::join(parts, " · ")
}

/// All input tokens, cached or not.
pub fn input_tokens(usage: &duologue_protocol::message::Usage) -> u64 {
    let number = |field: &Field<Number>| field.as_u64().unwrap_or_default();
    number(&usage.input_tokens)
        + number(&usage.cache_read_input_tokens)
        + number(&usage.cache_creation_input_tokens)
}

/// An amount of money: `$0.12`, `$0.0034`.
pub fn dollars(amount: f64) -> Shown {
    if amount == 0.0 || amount >= 0.01 {
        shown!("${:.2}", amount)
    } else {
        shown!("${:.4}", amount)
    }
}

/// A rounded number: `1.2k` for 1234.
pub fn count(number: u64) -> Shown {
    match number {
        0..1_000 => shown!("{}", number),
        1_000..1_000_000 => shown!("{}.{}k", number / 1_000, number % 1_000 / 100),
        _ => shown!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// A duration: `0.4s`, `12.3s`, `3m05s`.
pub fn duration(millis: u64) -> Shown {
    let (seconds, tenths) = (millis / 1_000, millis % 1_000 / 100);
    if seconds < 100 {
        shown!("{}.{}s", seconds, tenths)
    } else {
        shown!("{}m{:02}s", seconds / 60, seconds % 60)
    }
}
