//! What changed in a file: `structuredPatch`.

use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

/// How long to look for the smallest patch: two large texts that share nothing take very long.
const DEADLINE: Duration = Duration::from_secs(2);

/// How many unchanged lines surround a change.
const CONTEXT: usize = 3;

/// The hunks that turn one text into another.
pub(super) fn structured(old: &str, new: &str) -> Vec<Value> {
    let diff = TextDiff::configure().timeout(DEADLINE).diff_lines(old, new);
    let mut hunks = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (old_start, new_start) = (first.old_range().start, first.new_range().start);
        let mut lines = Vec::new();
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = change.value();
            lines.push(format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
            if change.missing_newline() {
                lines.push("\\ No newline at end of file".to_owned());
            }
        }
        hunks.push(json!({
            "oldStart": old_start + 1,
            "oldLines": last.old_range().end - old_start,
            "newStart": new_start + 1,
            "newLines": last.new_range().end - new_start,
            "lines": lines,
        }));
    }
    hunks
}
