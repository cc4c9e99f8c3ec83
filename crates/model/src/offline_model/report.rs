//! Reports the result of a tool.

use serde_json::Value;

use super::turn::Outcome;

/// Lines and characters of a result that are repeated.
const LINES: usize = 40;
const CHARS: usize = 4000;

/// The texts of denials in the real CLI. An error that a command itself got is a failure.
const REFUSED: &[&str] = &[
    "doesn't want to",
    "permission to use",
    "requested permission",
    "haven't granted",
    "denied by",
    "blocked by",
    "not allowed",
];

/// A short text about the result of a call.
pub(super) fn of(call: &Value, outcome: &Outcome) -> String {
    let tool = call["name"].as_str().unwrap_or("the tool");
    let input = &call["input"];
    let text = outcome.text.trim();
    if outcome.is_error {
        let small = text.to_lowercase();
        let refused = REFUSED.iter().any(|word| small.contains(word));
        let verdict = if refused { "was not allowed" } else { "failed" };
        return format!("{tool} {verdict}{}", shown(text, ".", ":"));
    }
    let file = input["file_path"].as_str().unwrap_or("the file");
    match tool {
        "Read" => format!("{file} says{}", shown(text, " nothing.", ":")),
        "Write" => format!("I wrote {file}."),
        "Edit" => format!("I changed {file}."),
        "Bash" => match input["command"].as_str() {
            Some(command) => format!("`{command}` printed{}", shown(text, " nothing.", ":")),
            None => format!("It printed{}", shown(text, " nothing.", ":")),
        },
        "Glob" | "Grep" => format!("Found{}", shown(text, " nothing.", ":")),
        "AskUserQuestion" if text.is_empty() => "There was no answer.".to_owned(),
        "AskUserQuestion" => text.to_owned(),
        "ExitPlanMode" => "The plan is approved.".to_owned(),
        "Task" | "Agent" => {
            format!("The sub-agent says{}", shown(&report(text), " nothing.", ":"))
        }
        "TodoWrite" => {
            let count = input["todos"].as_array().map_or(0, Vec::len);
            format!("The list is written. Entries: {count}.")
        }
        _ => format!("{tool} gave{}", shown(text, " nothing.", ":")),
    }
}

/// The text of a sub-agent, without the frame around it that is meant for a model.
fn report(text: &str) -> String {
    let Some((_, framed)) = text.split_once("The report follows:\n") else {
        return text.to_owned();
    };
    let said = framed.rsplit_once("\nagentId: ").map_or(framed, |(said, _)| said);
    let lines: Vec<&str> =
        said.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    lines.join("\n").trim().to_owned()
}

/// A text, cut to a readable size; `empty` if it is empty.
fn shown(text: &str, empty: &str, colon: &str) -> String {
    if text.is_empty() {
        return empty.to_owned();
    }
    let mut kept: String = text.lines().take(LINES).collect::<Vec<_>>().join("\n");
    let mut is_cut = text.lines().count() > LINES;
    if let Some((at, _)) = kept.char_indices().nth(CHARS) {
        kept.truncate(at);
        is_cut = true;
    }
    // A fence is longer than any in the text.
    let mut fence = "```".to_owned();
    while kept.contains(&fence) {
        fence.push('`');
    }
    let rest = if is_cut {
        format!("\n\n… and more: {} lines in all.", text.lines().count())
    } else {
        String::new()
    };
    format!("{colon}\n\n{fence}\n{kept}\n{fence}{rest}")
}
