//! [`Subject`]: what a menu is about. If it is longer than the terminal, its beginning is shown, and the rest page by page.

use duologue_terminal::{Shown, line, ours, shown, summary};

use crate::menu::Menu;

/// The most consecutive blank rows that are shown. More could push something out of sight.
const FEW_BLANK: usize = 2;

/// How many rows stay on the screen after the answer.
const KEPT: usize = 3;

/// A smaller terminal is drawn as if it had this many rows.
const FEWEST_ROWS: usize = 4;

/// What a menu is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Subject {
    /// One line.
    title: Shown,
    /// The details, line by line.
    body: Vec<Row>,
    /// Notes, one line each.
    notes: Vec<Shown>,
    /// The page that is shown; `None` for the beginning.
    page: Option<usize>,
}

/// A line of the body.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    kind: Kind,
    text: Shown,
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Added,
    Removed,
}

impl Kind {
    fn shown(self, text: &Shown) -> Shown {
        match self {
            Self::Plain => text.clone(),
            Self::Added => shown!("+ {}", text).green(),
            Self::Removed => shown!("- {}", text).red(),
        }
    }
}

impl Subject {
    pub(super) fn new(title: Shown) -> Self {
        Self { title: shown!("{} {}", ours("?").yellow().bold(), title.bold()), ..Self::default() }
    }

    /// Adds a text from outside to the body.
    pub(super) fn text(mut self, kind: Kind, text: &str) -> Self {
        let rows = text.lines().map(|text| Row { kind, text: line(text.replace('\t', "    ")) });
        self.body.extend(rows);
        self
    }

    pub(super) fn note(mut self, note: Shown) -> Self {
        self.notes.push(note);
        self
    }

    /// Shows the next page, or the beginning after the last one.
    pub(super) fn turn_page(&mut self) {
        self.page = Some(self.page.map_or(0, |page| page + 1));
    }

    /// The lines that stay on the screen after the answer.
    pub(super) fn left(&self, columns: usize) -> Vec<Shown> {
        let rows = self.rows(columns);
        let more = rows.len().saturating_sub(KEPT);
        let mut lines = vec![self.title.clone()];
        lines.extend(rows.into_iter().take(KEPT));
        if more > 0 {
            lines.push(shown!("  … {} more {}", more, lines_of(more)).dimmed());
        }
        lines
    }

    /// The subject and its menu, in at most as many lines as the terminal has.
    pub(super) fn lines(&mut self, menu: &Menu, rows: usize, columns: usize) -> Vec<Shown> {
        let room = rows.saturating_sub(1).max(FEWEST_ROWS);
        let columns = columns.saturating_sub(1).max(1);
        let (choices, help) = (menu.choices(columns), menu.help());
        let body = self.rows(columns);
        let is_wide = |line: &Shown| line.width() > columns;
        let is_cut =
            is_wide(&self.title) || self.notes.iter().any(is_wide) || choices.iter().any(is_wide);
        let all = 1 + body.len() + self.notes.len() + choices.len() + 1;
        if let Some(page) = self.page
            && let Some(lines) = self.paged(page, &body, menu, room, columns)
        {
            return lines;
        }
        self.page = None;
        if all <= room && !is_cut {
            let head = [self.title.clone()].into_iter().chain(body).chain(self.notes.clone());
            return head.chain(choices).chain([help]).collect();
        }
        // The most important parts: the beginning, a choice, how much is hidden.
        let shown_choices = choices.len().min((room / 2).max(1));
        let mut left = room - shown_choices;
        let has_title = left >= 3;
        left -= usize::from(has_title);
        let has_help = left >= 4;
        left -= usize::from(has_help);
        let shown_notes = self.notes.len().min(left.saturating_sub(2) / 2);
        left -= shown_notes;
        let folds = body.len() > left || shown_notes < self.notes.len() || is_cut;
        let shown_body = body.len().min(left.saturating_sub(usize::from(folds)).max(1));
        let hidden = body.len() - shown_body + self.notes.len() - shown_notes;

        let mut lines: Vec<Shown> = Vec::with_capacity(room);
        lines.extend(has_title.then(|| self.title.clone()));
        lines.extend(body.into_iter().take(shown_body));
        if folds {
            lines.push(self.folded(hidden, columns));
        }
        lines.extend(self.notes.iter().take(shown_notes).cloned());
        lines.extend(around(choices, menu.at(), shown_choices));
        lines.extend(has_help.then_some(help));
        lines
    }

    /// How much is hidden, and how to see it.
    fn folded(&self, hidden: usize, columns: usize) -> Shown {
        let characters: usize = self.body.iter().map(|row| row.text.as_str().chars().count()).sum();
        let characters = summary::count(u64::try_from(characters).unwrap_or(u64::MAX));
        let what = match (hidden, columns) {
            (0, _) => ours("… Ctrl-O shows all"),
            (_, 0..60) => shown!("… {} more · Ctrl-O", hidden),
            _ => shown!(
                "… {} more {} ({} characters in all) · Ctrl-O shows all",
                hidden,
                lines_of(hidden),
                characters
            ),
        };
        what.yellow().bold()
    }

    /// A page of everything; `None` after the last.
    fn paged(
        &self,
        page: usize,
        body: &[Shown],
        menu: &Menu,
        room: usize,
        columns: usize,
    ) -> Option<Vec<Shown>> {
        let choices = menu.choices(columns);
        // Without their colours, since a colour would end with the first row.
        let wrapped = |line: &Shown| line.plain().wrapped(columns);
        let wide = choices.iter().filter(|choice| choice.width() > columns).flat_map(wrapped);
        let title = wrapped(&self.title);
        let notes = self.notes.iter().flat_map(wrapped);
        let all: Vec<Shown> =
            title.into_iter().chain(body.iter().cloned()).chain(notes).chain(wide).collect();
        let shown_choices = choices.len().min((room / 4).max(1));
        let rows = (room - shown_choices - 1).max(1);
        let first = page * rows;
        if first >= all.len() {
            return None;
        }
        let last = (first + rows).min(all.len());
        let mut lines: Vec<Shown> = all.get(first..last)?.to_vec();
        let next = if last < all.len() { "Ctrl-O: next page" } else { "Ctrl-O: first page" };
        let place = shown!("{}–{} of {} · {}", first + 1, last, all.len(), next);
        lines.push(place.yellow().bold());
        lines.extend(around(choices, menu.at(), shown_choices));
        Some(lines)
    }

    /// The body as rows of the terminal. Of many blank rows, only their number is shown.
    fn rows(&self, columns: usize) -> Vec<Shown> {
        // The bar separates the text from the menu, because it could look like a choice.
        let margin = if columns < 30 { ours("│") } else { ours("  │ ") };
        let width = columns.saturating_sub(margin.width() + 2).max(1);
        let mut rows = Vec::new();
        let mut blank = 0;
        for Row { kind, text } in &self.body {
            for part in text.wrapped(width) {
                if part.is_blank() {
                    blank += 1;
                    continue;
                }
                end_blank(&mut rows, &mut blank, &margin);
                rows.push(shown!("{}{}", margin.dimmed(), kind.shown(&part)));
            }
        }
        end_blank(&mut rows, &mut blank, &margin);
        rows
    }
}

fn end_blank(rows: &mut Vec<Shown>, blank: &mut usize, margin: &Shown) {
    match std::mem::take(blank) {
        few @ 0..=FEW_BLANK => rows.extend((0..few).map(|_| margin.dimmed())),
        many => rows.push(shown!("{}⋮ {} blank lines", margin, many).yellow()),
    }
}

/// So many of the choices, the one at this place among them.
fn around(choices: Vec<Shown>, at: usize, count: usize) -> impl Iterator<Item = Shown> {
    let first = at.saturating_sub(count / 2).min(choices.len().saturating_sub(count));
    choices.into_iter().skip(first).take(count)
}

const fn lines_of(count: usize) -> &'static str {
    if count == 1 { "line" } else { "lines" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::menu::Choice;

    fn menu() -> Menu {
        Menu::new(vec![
            Choice::new(ours("Yes, this once")),
            Choice::new(ours("Yes, and from now on")),
            Choice::new(ours("No, because")).writes(),
        ])
    }

    fn head(command: &str) -> Subject {
        Subject::new(ours("May the agent use Bash?"))
            .text(Kind::Plain, command)
            .note(line("  what it is for"))
    }

    fn drawn(head: &mut Subject, rows: usize, columns: usize) -> Vec<String> {
        let lines = head.lines(&menu(), rows, columns);
        assert!(lines.len() <= rows.saturating_sub(1).max(FEWEST_ROWS), "{lines:?}");
        lines.iter().map(|line| line.plain().to_string()).collect()
    }

    #[test]
    fn what_fits_is_shown_whole() {
        assert_eq!(
            drawn(&mut head("ls\n\techo"), 24, 80),
            [
                "? May the agent use Bash?",
                "  │ ls",
                "  │     echo",
                "  what it is for",
                "❯ 1 Yes, this once",
                "  2 Yes, and from now on",
                "  3 No, because",
                "  ↑↓ or a number · Enter · Esc denies",
            ]
        );
    }

    #[test]
    fn blank_lines_push_nothing_out_of_sight() {
        let hidden = format!("rm -rf ~/work{}echo hi", "\n".repeat(40));
        let lines = drawn(&mut head(&hidden), 24, 80);
        assert_eq!(lines[1..4], ["  │ rm -rf ~/work", "  │ ⋮ 39 blank lines", "  │ echo hi"]);
        let spaces = format!("echo hi{};rm -rf ~/work", " ".repeat(2000));
        let lines = drawn(&mut head(&spaces), 24, 80);
        assert!(lines[1].starts_with("  │ echo hi"), "{lines:?}");
        assert!(lines[3].ends_with(" ;rm -rf ~/work"), "{lines:?}");
    }

    #[test]
    fn the_beginning_of_a_long_text_is_shown_in_every_terminal() {
        let long: String = (0..500).map(|at| format!("line {at} 日本\n")).collect();
        let wide = format!("rm -rf ~/work {}", "x".repeat(1_000_000));
        let returns = format!("rm -rf ~/work{}", "\r".repeat(50_000));
        for (text, first) in [(&long, "line 0"), (&wide, "rm -rf"), (&returns, "rm -rf")] {
            for (rows, columns) in [(24, 80), (5, 20), (2, 4), (60, 200), (10, 1)] {
                let lines = drawn(&mut head(text), rows, columns);
                let first = first.get(..columns.saturating_sub(3).clamp(1, first.len()));
                let beginning = lines.iter().take(2).any(|line| line.contains(first.unwrap_or("")));
                assert!(beginning, "{rows}x{columns}: {lines:?}");
                assert!(lines.iter().any(|line| line.contains("Ctrl-O")), "{lines:?}");
                assert!(lines.iter().any(|line| line.starts_with('❯')), "{lines:?}");
            }
        }
        let lines = drawn(&mut head(&long), 24, 80);
        assert_eq!(lines[0], "? May the agent use Bash?");
        assert!(lines.contains(&"  what it is for".to_owned()), "{lines:?}");
        let folded = "… 484 more lines (5.3k characters in all) · Ctrl-O shows all";
        assert!(lines.iter().any(|line| line == folded), "{lines:?}");
    }

    #[test]
    fn everything_can_be_seen_page_by_page() {
        let long: String = (0..100).map(|at| format!("line {at}\n")).collect();
        let mut head = head(&long);
        let mut seen = String::new();
        let mut pages = 0;
        loop {
            head.turn_page();
            let lines = drawn(&mut head, 24, 80);
            if head.page.is_none() {
                break;
            }
            pages += 1;
            seen.push_str(&lines.join("\n"));
        }
        assert!((0..100).all(|at| seen.contains(&format!("  │ line {at}\n"))), "{seen}");
        assert!(seen.contains("what it is for") && pages == 6, "{pages} {seen}");
        assert!(drawn(&mut head, 24, 80)[1].contains("line 0"));
    }

    #[test]
    fn a_rule_that_is_cut_off_can_be_seen_whole() {
        let rule = format!("Bash({}; rm x)", "a".repeat(100));
        let mut head = Subject::new(ours("?")).note(line(&rule));
        assert!(drawn(&mut head, 24, 80).contains(&"… Ctrl-O shows all".to_owned()));
        head.turn_page();
        assert!(drawn(&mut head, 24, 80).concat().contains("; rm x)"));
    }

    #[test]
    fn a_small_terminal_shows_some_lines() {
        let left = head("a\nb\nc\nd\ne").left(80);
        let left: Vec<_> = left.iter().map(|line| line.plain().to_string()).collect();
        assert_eq!(left[1..], ["  │ a", "  │ b", "  │ c", "  … 2 more lines"]);
    }
}
