//! The table of results: a row for each case, a column for each peer.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use owo_colors::OwoColorize as _;

use crate::case::{Trouble, Verdict};

/// The result in one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Pass,
    /// The case passes with known differences.
    Differs(Vec<String>),
    /// The peer does not have the feature, and why.
    Lacks(String),
    Fail(String),
}

impl Cell {
    /// The result as one word.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Differs(_) => "differs",
            Self::Lacks(_) => "cannot",
            Self::Fail(_) => "FAIL",
        }
    }
}

impl From<Verdict> for Cell {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::Pass,
            Err(Trouble::Lacks(why)) => Self::Lacks(why),
            Err(Trouble::Fails(why)) => Self::Fail(why),
        }
    }
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    columns: Vec<String>,
    rows: Vec<String>,
    cells: BTreeMap<(String, String), Cell>,
    /// Columns that do not affect the result.
    beside: Vec<String>,
    /// The cells that needed a second attempt, and why the first failed.
    again: BTreeMap<(String, String), String>,
}

impl Matrix {
    pub(crate) fn set(&mut self, row: &str, column: &str, cell: Cell) {
        for (names, name) in [(&mut self.rows, row), (&mut self.columns, column)] {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        self.cells.insert((row.to_owned(), column.to_owned()), cell);
    }

    /// Notes that the first attempt at a cell failed, and why.
    pub(crate) fn needed_second_attempt(&mut self, row: &str, column: &str, why: String) {
        self.again.insert((row.to_owned(), column.to_owned()), why);
    }

    /// The cells that needed a second attempt, each with the first failure.
    pub(crate) fn second_attempts(&self) -> Vec<(&str, &str, &str)> {
        let all = self.again.iter();
        all.map(|((row, column), why)| (row.as_str(), column.as_str(), why.as_str())).collect()
    }

    /// Sorts rows and columns in this order.
    pub(crate) fn arrange(&mut self, rows: &[&str], columns: &[&str]) {
        let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
        self.rows.sort_by_key(|row| place(rows, row));
        // Others come last.
        self.columns.sort_by_key(|column| place(columns, column).unwrap_or(usize::MAX));
    }

    /// Marks a column that does not affect the result.
    pub(crate) fn beside(&mut self, column: &str, mark: &str) {
        let marked = format!("{column}{mark}");
        for row in self.rows.clone() {
            let old = (row.clone(), column.to_owned());
            if let Some(why) = self.again.remove(&old) {
                self.again.insert((row.clone(), marked.clone()), why);
            }
            if let Some(cell) = self.cells.remove(&old) {
                self.cells.insert((row, marked.clone()), cell);
            }
        }
        self.columns
            .iter_mut()
            .filter(|name| *name == column)
            .for_each(|name| *name = marked.clone());
        self.beside.push(marked);
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> &[String] {
        &self.rows
    }

    pub(crate) fn cell(&self, row: &str, column: &str) -> Option<&Cell> {
        self.cells.get(&(row.to_owned(), column.to_owned()))
    }

    /// The failed cells that affect the result.
    pub(crate) fn failures(&self) -> Vec<(&str, &str, &str)> {
        let cells = self.cells.iter();
        let failed = cells.filter_map(|((row, column), cell)| match cell {
            Cell::Fail(why) if !self.beside.contains(column) => {
                Some((row.as_str(), column.as_str(), why.as_str()))
            }
            _ => None,
        });
        failed.collect()
    }

    /// How many cells pass, with or without a known difference, and how many there are.
    pub(crate) fn count(&self) -> (usize, usize) {
        let holds = |cell: &&Cell| matches!(cell, Cell::Pass | Cell::Differs(_));
        (self.cells.values().filter(holds).count(), self.cells.len())
    }

    /// Prints the table to the terminal.
    pub(crate) fn show(&self) {
        let width = self.rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let mut head = format!("{:width$}", "");
        for column in &self.columns {
            let _ = write!(head, "  {column:7}");
        }
        anstream::eprintln!("{}", head.bold());
        for row in &self.rows {
            let mut line = format!("{row:width$}");
            for column in &self.columns {
                let size = column.len().max(7);
                let cell = self.cell(row, column);
                let word = cell.map_or("", Cell::word);
                let colour = match cell {
                    Some(Cell::Pass) => owo_colors::AnsiColors::Green,
                    Some(Cell::Differs(_) | Cell::Lacks(_)) => owo_colors::AnsiColors::Yellow,
                    Some(Cell::Fail(_)) => owo_colors::AnsiColors::Red,
                    None => owo_colors::AnsiColors::Default,
                };
                let _ = write!(line, "  {}", format!("{word:size$}").color(colour));
            }
            anstream::eprintln!("{line}");
        }
        for (row, column, why) in self.failures() {
            anstream::eprintln!("\n{} {row} with {column}\n  {why}", "FAIL".red().bold());
        }
    }
}
