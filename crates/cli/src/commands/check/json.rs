//! A report as one JSON object.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::report::{AtPath, Counted, Kind, Report};
use crate::print;

pub(crate) fn print(
    reports: &[Report],
    unreadable: &[(PathBuf, anyhow::Error)],
    strict: bool,
) -> anyhow::Result<()> {
    let understood =
        unreadable.is_empty() && reports.iter().all(|report| report.is_understood(strict));
    let mut files: Vec<Value> = reports.iter().map(|report| file(report, strict)).collect();
    files.extend(unreadable.iter().map(|(path, error)| {
        json!({ "path": path.to_string_lossy(), "understood": false, "error": format!("{error:#}") })
    }));
    writeln!(
        print::data(),
        "{}",
        json!({ "understood": understood, "strict": strict, "files": files })
    )?;
    Ok(())
}

fn file(report: &Report, strict: bool) -> Value {
    json!({
        "path": report.path.to_string_lossy(),
        "understood": report.is_understood(strict),
        "empty": report.is_empty(),
        "format": if report.header.is_some() { "tape" } else { "ndjson" },
        "agent_version": report.header.as_ref().and_then(|header| header.version.as_deref()),
        "lines": {
            "to_host": report.lines_to_host,
            "to_agent": report.lines_to_agent,
            "stderr": report.lines_of_stderr,
        },
        "messages": report.kinds.iter().map(|(kind, count)| {
            merged(kind, json!({ "count": count }))
        }).collect::<Vec<_>>(),
        "unknown": report.unknown_tags.iter().map(|(tag, count)| merged(&tag.message, json!({
            "path": tag.path,
            "name": tag.name,
            "tag": tag.tag,
            "line": tag.is_line,
            "count": count,
        }))).collect::<Vec<_>>(),
        "unknown_fields": paths(&report.unknown_fields),
        "unknown_words": report.unknown_words.iter().map(|(word, count)| {
            merged(&word.at.message, json!({
                "path": word.at.path,
                "word": word.word,
                "count": count,
            }))
        }).collect::<Vec<_>>(),
        "legacy": paths(&report.legacy),
        "malformed": report.malformed.first.iter().map(|malformed| json!({
            "direction": malformed.direction.name(),
            "line": malformed.line,
            "offset": malformed.offset,
            "reason": malformed.reason,
        })).collect::<Vec<_>>(),
        "malformed_count": report.malformed.total,
        "not_listed": {
            "messages": report.kinds.more,
            "unknown": report.unknown_tags.more,
            "unknown_fields": report.unknown_fields.more,
            "unknown_words": report.unknown_words.more,
            "legacy": report.legacy.more,
        },
        "violations": report.violations.iter().map(|violation| json!({
            "rule": violation.rule.name(),
            "line": violation.line,
            "subject": violation.subject,
        })).collect::<Vec<_>>(),
        "torn": report.torn.as_ref().map(|torn| json!({
            "line": torn.line,
            "bytes": torn.length,
        })),
    })
}

fn paths(counted: &Counted<AtPath>) -> Vec<Value> {
    counted
        .iter()
        .map(|(at, count)| merged(&at.message, json!({ "path": at.path, "count": count })))
        .collect()
}

/// The kind of message, and more.
fn merged(kind: &Kind, more: Value) -> Value {
    let mut all = json!({
        "direction": kind.direction.name(),
        "type": kind.kind,
        "subtype": kind.subtype,
    });
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}
