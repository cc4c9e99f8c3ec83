//! The outcome of a turn: the last lines on stderr, and the exit code.

use duologue::TurnOutcome;
use duologue_protocol::lines::{ResultSubtype, TerminalReason, TurnResult};
use duologue_terminal::{Shown, line, shown, summary};

use super::Stopped;
use super::progress::Progress;
use crate::args::Run;
use crate::exit;

pub(super) fn judge(
    args: &Run,
    outcome: &TurnOutcome,
    result: Option<&TurnResult>,
    stopped: &Stopped,
    progress: &mut Progress,
) -> anyhow::Result<u8> {
    let denied = denied(outcome, result);
    if let Some(denied) = &denied {
        progress.warn(format!("denied: {denied}. {}", hint(args)));
    }
    let code = if outcome.is_success() {
        if args.schema.is_some() && outcome.structured_output().is_none() {
            progress.error("the model gave no value that fits the schema");
            exit::FAILED
        } else {
            progress.rest();
            args.session.code_of_success()
        }
    } else {
        let (code, error) = failed(outcome, result, stopped, denied.is_some());
        progress.error(&error);
        code
    };
    progress.aside(&bill(outcome));
    Ok(code)
}

/// How to allow the tools.
fn hint(args: &Run) -> &'static str {
    let edits = args.session.permission_mode.as_deref() == Some("acceptEdits");
    match (args.yes, edits) {
        (true, _) => "--yes does not override rules and modes that deny something",
        (false, true) => "Allow them with --allowed-tools, or everything with --yes",
        (false, false) => {
            "Allow them with --allowed-tools or --permission-mode acceptEdits, or everything with --yes"
        }
    }
}

fn failed(
    outcome: &TurnOutcome,
    result: Option<&TurnResult>,
    stopped: &Stopped,
    denied: bool,
) -> (u8, String) {
    let reason = result.and_then(|result| result.terminal_reason.value());
    let subtype = result.and_then(|result| result.subtype.value());
    let error = outcome.error().unwrap_or_default().to_owned();
    if let Some(limit) = &stopped.by_timeout {
        return (exit::FAILED, limit.to_string());
    }
    if stopped.by_user {
        return (exit::INTERRUPTED, "interrupted".to_owned());
    }
    let over_budget = subtype == Some(&ResultSubtype::ErrorMaxBudgetUsd)
        || reason == Some(&TerminalReason::BudgetExhausted);
    if over_budget {
        return (exit::OVER_BUDGET, error);
    }
    // An error of the API is not caused by the denial.
    let by_api = result.is_some_and(|result| result.api_error_status.value().is_some())
        || reason == Some(&TerminalReason::ApiError);
    (if denied && !by_api { exit::DENIED } else { exit::FAILED }, error)
}

/// The denied tools, each once, with a count.
fn denied(outcome: &TurnOutcome, result: Option<&TurnResult>) -> Option<String> {
    let denials = result.map(|result| result.permission_denials.items()).unwrap_or_default();
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for denial in denials {
        let name = denial.tool_name.as_str().unwrap_or("a tool");
        match tools.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => tools.push((name, 1)),
        }
    }
    if tools.is_empty() {
        let count = outcome.denials();
        return (count > 0).then(|| format!("{count} tool calls"));
    }
    let names = tools.into_iter().map(|(name, times)| match times {
        1 => name.to_owned(),
        _ => format!("{name} ({times} times)"),
    });
    Some(names.collect::<Vec<_>>().join(", "))
}

fn bill(outcome: &TurnOutcome) -> Shown {
    let finished = outcome.finished();
    let mut parts = vec![summary::cost(finished)];
    parts.extend(finished.duration_ms.map(summary::duration));
    parts.extend(outcome.session_id().map(|id| shown!("session {}", line(id.as_str()))));
    parts.retain(|part| !part.is_empty());
    Shown::join(parts, " · ")
}
