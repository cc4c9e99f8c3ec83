//! Tables for people.

use duologue_terminal::{Shown, shown};

/// How the cells of a column are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells with a head.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(Shown, Align)>,
    rows: Vec<Vec<Shown>>,
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = (Shown, Align)>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Shown>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table. Cells are padded to the widest of their column; empty columns are left out. A line is cut to
    /// `columns`, if there are any.
    pub(crate) fn lines(&self, columns: Option<usize>) -> Vec<Shown> {
        let cell = |row: &[Shown], at: usize| row.get(at).cloned().unwrap_or_default();
        let shown: Vec<(usize, Align, usize)> = (0..self.columns.len())
            .zip(&self.columns)
            .filter_map(|(at, (head, align))| {
                let widest = self.rows.iter().map(|row| cell(row, at).width()).max()?;
                (widest > 0).then(|| (at, *align, widest.max(head.width())))
            })
            .collect();
        let line = |cells: &dyn Fn(usize) -> Shown| {
            let padded = shown.iter().map(|(at, align, width)| {
                let text = cells(*at);
                let space = Shown::repeat(" ", width.saturating_sub(text.width()));
                match align {
                    Align::Left => shown!("{}{}", text, space),
                    Align::Right => shown!("{}{}", space, text),
                }
            });
            let line = Shown::join(padded, "  ").trim_end();
            columns.map_or(line.clone(), |columns| line.cut(columns))
        };
        let head =
            |at: usize| self.columns.get(at).map(|(head, _)| head.clone()).unwrap_or_default();
        let mut lines = vec![line(&head).bold()];
        lines.extend(self.rows.iter().map(|row| line(&|at| cell(row, at))));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duologue_terminal::ours;

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let mut table = Table::new([
            (ours("NAME"), Align::Left),
            (ours("NONE"), Align::Left),
            (ours("N"), Align::Right),
        ]);
        table.row([ours("a"), ours(""), ours("10")]);
        table.row([ours("longer"), ours(""), ours("7")]);
        let lines: Vec<String> =
            table.lines(None).iter().map(|line| line.plain().as_str().to_owned()).collect();
        assert_eq!(lines, ["NAME     N", "a       10", "longer   7"]);
        let cut = table.lines(Some(4));
        assert!(cut.iter().all(|line| line.width() <= 4), "{cut:?}");
    }
}
