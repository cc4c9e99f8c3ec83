//! `docs/CONFORMANCE.md`: the tables as a document, and whether a document still tells what is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use duologue_testkit::peers::imitated_version;

use crate::differences;
use crate::matrix::{Cell, Matrix};
use crate::peers;
use crate::sdk::Sdk;

/// What a column that does not decide ends with.
pub(crate) const BESIDE: &str = " (newest)";

/// What a cell says where nothing was tried.
const NOT_TRIED: &str = "–";

/// How long the reason of a failure may be.
const LONGEST: usize = 300;

/// The reasons, each with its number.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    fn number(&mut self, note: &str) -> usize {
        let known = self.0.iter().position(|known| known == note);
        known.unwrap_or_else(|| {
            self.0.push(note.to_owned());
            self.0.len() - 1
        }) + 1
    }

    fn cell(&mut self, cell: Option<&Cell>) -> String {
        match cell {
            None => NOT_TRIED.to_owned(),
            Some(Cell::Pass) => "pass".to_owned(),
            Some(Cell::Differs(reasons)) => {
                let numbers = reasons.iter().map(|reason| self.number(reason).to_string());
                format!("differs ({})", numbers.collect::<Vec<_>>().join(", "))
            }
            Some(Cell::Lacks(reason)) => format!("cannot ({})", self.number(reason)),
            Some(Cell::Fail(reason)) => {
                let words: Vec<&str> = reason.split_whitespace().collect();
                let short: String = words.join(" ").chars().take(LONGEST).collect();
                format!("🔴 **fail** ({})", self.number(&short))
            }
        }
    }
}

/// The document.
pub(crate) fn write(host: &Matrix, sdks: &Matrix, newest: Option<&str>) -> String {
    let mut notes = Notes::default();
    let mut out = String::from(
        "# What works with what\n\n\
         Written by `cargo run -p duologue-conformance -- --newest --write docs/CONFORMANCE.md`. Do not edit it: CI \
         runs the same and compares.\n\n\
         All peers run offline, with a scripted model on loopback. `pass`: it holds. `differs`: it holds, but for a \
         difference that is known. `cannot`: the peer does not have it. `fail`: it should hold, and does not. Numbers \
         lead to the [reasons](#reasons).\n\n",
    );
    for (name, matrix) in [("our host", host), ("the SDKs", sdks)] {
        let (holds, all) = matrix.count();
        let failures = matrix.failures().len();
        let again = matrix.second_attempts();
        let _ = write!(
            out,
            "- With {name}, {holds} of {all} cells hold, and {failures} fail. {} needed a second attempt",
            again.len()
        );
        for (at, (row, column, _)) in again.iter().enumerate() {
            let _ = write!(out, "{} {row} ({column})", if at == 0 { ":" } else { "," });
        }
        out.push_str(".\n");
    }
    if let Some(newest) = newest {
        let among = if peers::names().contains(&newest) {
            "It is among those that decide."
        } else {
            "Its column does not decide."
        };
        let _ = writeln!(out, "- The newest published Claude Code was {newest}. {among}");
    }
    let _ = write!(
        out,
        "\n## Our host\n\nWith versions of Claude Code, and with our agent, `duologue agent`. `{}` compares what our \
         agent and {} said, event by event.\n\n",
        differences::COLUMN,
        imitated_version()
    );
    table(&mut out, host, &mut notes);
    let versions = Sdk::ALL.map(|sdk| format!("{} {}", sdk.name(), sdk.version())).join(", ");
    let _ = write!(
        out,
        "\n## The official SDKs\n\n{versions}, unmodified, with our agent and with Claude Code {}. With our agent \
         each thing is done twice: it plays the script itself, and it asks the scripted model. {NOT_TRIED} is not tried \
         with that SDK.\n\n",
        imitated_version()
    );
    table(&mut out, sdks, &mut notes);
    out.push_str("\n## Reasons\n\n");
    for (number, note) in notes.0.iter().enumerate() {
        let _ = writeln!(out, "{}. {}", number + 1, note.replace('|', "\\|"));
    }
    out
}

fn table(out: &mut String, matrix: &Matrix, notes: &mut Notes) {
    let _ = writeln!(out, "| | {} |", matrix.columns().join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(matrix.columns().len()));
    for row in matrix.rows() {
        let cells = matrix.columns().iter().map(|column| notes.cell(matrix.cell(row, column)));
        let _ = writeln!(out, "| {row} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

/// The cells of a document: what stands in which row and column, by its first word. A known difference may depend
/// on luck: it holds either way.
fn cells(document: &str) -> BTreeMap<(String, String), &'static str> {
    let mut cells = BTreeMap::new();
    let mut columns: Vec<&str> = Vec::new();
    for line in document.lines() {
        let Some(inner) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            columns.clear();
            continue;
        };
        let mut parts = inner.split('|').map(str::trim);
        let row = parts.next().unwrap_or_default();
        if columns.is_empty() {
            columns = parts.collect();
            continue;
        }
        for (column, cell) in columns.iter().zip(parts) {
            let kind = match cell.split(' ').next() {
                Some("pass" | "differs") => "holds",
                Some("cannot") => "cannot",
                Some(NOT_TRIED) => "is not tried",
                _ => "fails",
            };
            if !row.starts_with("---") && !column.ends_with(BESIDE) {
                cells.insert((row.to_owned(), (*column).to_owned()), kind);
            }
        }
    }
    cells
}

/// Where a document says something else than another.
pub(crate) fn stale(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (cells(old), cells(new));
    let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let mut stale = Vec::new();
    for name in names {
        let (was, is) = (old.get(name), new.get(name));
        if was != is {
            let word = |kind: Option<&&'static str>| kind.copied().unwrap_or("is not there");
            stale.push(format!("{} with {}: {}, now {}", name.0, name.1, word(was), word(is)));
        }
    }
    stale
}

#[cfg(test)]
mod tests {
    use super::{cells, stale, write};
    use crate::host::CASES;
    use crate::matrix::{Cell, Matrix};
    use crate::peers;

    #[test]
    fn the_committed_document_has_a_row_for_each_case_and_a_column_for_each_peer() {
        let cells = cells(include_str!("../../docs/CONFORMANCE.md"));
        for case in CASES {
            for peer in peers::names() {
                let name = (case.name.to_owned(), peer.to_owned());
                assert!(cells.contains_key(&name), "{name:?} is not there: write it again");
            }
        }
        assert!(!cells.values().any(|kind| *kind == "fails"), "a red cell was committed");
    }

    #[test]
    fn a_document_names_the_cells_that_needed_a_second_attempt() {
        let mut matrix = Matrix::default();
        matrix.set("a", "x", Cell::Pass);
        matrix.set("b", "x", Cell::Pass);
        matrix.needed_second_attempt("b", "x", "a race".to_owned());
        let document = write(&matrix, &Matrix::default(), None);
        let line =
            "- With our host, 2 of 2 cells hold, and 0 fail. 1 needed a second attempt: b (x).\n";
        assert!(document.contains(line), "{document}");
        assert!(document.contains("0 needed a second attempt.\n"), "{document}");
    }

    #[test]
    fn what_a_document_does_not_say_any_more_is_found() {
        let (mut old, mut new) = (Matrix::default(), Matrix::default());
        old.set("a", "x", Cell::Pass);
        old.set("a", "y", Cell::Pass);
        new.set("a", "x", Cell::Differs(vec!["luck".to_owned()]));
        new.set("a", "y", Cell::Lacks("it is old".to_owned()));
        new.set("b", "x", Cell::Fail("this | that".to_owned()));
        let document = |matrix: &Matrix| write(matrix, &Matrix::default(), None);
        let found = stale(&document(&old), &document(&new));
        assert_eq!(
            found,
            [
                "a with y: holds, now cannot",
                "b with x: is not there, now fails",
                "b with y: is not there, now is not tried",
            ]
        );
        assert!(stale(&document(&new), &document(&new)).is_empty());
    }
}
