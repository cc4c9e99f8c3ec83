//! [`Menu`]: choose one or several of a few choices; some take a text. Pure: keys in, lines out.

use duologue_terminal::{Shown, line, ours, shown};

/// A key that the chat uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    Enter,
    Escape,
    Backspace,
    /// Delete the line.
    Clear,
    /// Delete the last word.
    ClearWord,
    Interrupt,
    /// Ctrl-D.
    End,
    Char(char),
    Paste(String),
    /// Show the hidden lines.
    More,
    /// The size of the terminal has changed.
    Resize,
}

/// A choice.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    label: Shown,
    detail: Shown,
    /// It takes a text.
    writes: bool,
    /// It cannot be combined with others.
    alone: bool,
}

impl Choice {
    pub(super) fn new(label: Shown) -> Self {
        Self { label, detail: Shown::default(), writes: false, alone: false }
    }

    pub(super) fn detail(mut self, detail: Shown) -> Self {
        self.detail = detail;
        self
    }

    pub(super) fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    pub(super) fn alone(mut self) -> Self {
        self.alone = true;
        self
    }
}

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    /// The chosen ones, and the text.
    Picked(Vec<usize>, String),
    /// Escape.
    Cancelled,
}

#[derive(Clone, Debug)]
pub(super) struct Menu {
    choices: Vec<Choice>,
    several: bool,
    at: usize,
    marked: Vec<bool>,
    writing: bool,
    text: String,
    escape: &'static str,
}

impl Menu {
    pub(super) fn new(choices: Vec<Choice>) -> Self {
        let marked = vec![false; choices.len()];
        Self {
            choices,
            several: false,
            at: 0,
            marked,
            writing: false,
            text: String::new(),
            escape: "denies",
        }
    }

    /// What Escape does.
    pub(super) fn escape(mut self, escape: &'static str) -> Self {
        self.escape = escape;
        self
    }

    /// Allows several choices.
    pub(super) fn several(mut self, several: bool) -> Self {
        self.several = several;
        self
    }

    /// Sets the initial choice.
    pub(super) fn begin_at(mut self, at: usize) -> Self {
        self.at = at.min(self.choices.len().saturating_sub(1));
        self
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        if self.writing {
            return self.write(key);
        }
        let count = self.choices.len().max(1);
        match key {
            Key::Up => self.at = (self.at + count - 1) % count,
            Key::Down => self.at = (self.at + 1) % count,
            Key::Enter => return self.choose(self.at),
            Key::Escape => return Step::Cancelled,
            Key::Char(digit @ '1'..='9') => {
                let at = digit as usize - '1' as usize;
                if at < self.choices.len() {
                    self.at = at;
                    if self.marks_here() {
                        self.toggle();
                    } else {
                        return self.choose(at);
                    }
                }
            }
            Key::Char(' ') if self.marks_here() => self.toggle(),
            Key::Char(_) | Key::Paste(_) if self.writes_here() => {
                self.writing = true;
                return self.write(key);
            }
            _ => {}
        }
        Step::Stay
    }

    fn writes_here(&self) -> bool {
        self.choices.get(self.at).is_some_and(|choice| choice.writes)
    }

    fn marks_here(&self) -> bool {
        let plain = |choice: &Choice| !choice.writes && !choice.alone;
        self.several && self.choices.get(self.at).is_some_and(plain)
    }

    fn toggle(&mut self) {
        if let Some(mark) = self.marked.get_mut(self.at) {
            *mark = !*mark;
        }
    }

    fn choose(&mut self, at: usize) -> Step {
        if self.writes_here() {
            self.writing = true;
            return Step::Stay;
        }
        let marked = self.all_marked();
        let chosen = if self.marks_here() && !marked.is_empty() { marked } else { vec![at] };
        Step::Picked(chosen, String::new())
    }

    fn all_marked(&self) -> Vec<usize> {
        (0..self.marked.len()).filter(|at| self.marked.get(*at) == Some(&true)).collect()
    }

    fn write(&mut self, key: Key) -> Step {
        match key {
            Key::Char(character) => self.text.push(character),
            Key::Paste(text) => self.text.push_str(&text),
            Key::Enter => {
                let mut chosen = if self.several { self.all_marked() } else { Vec::new() };
                chosen.push(self.at);
                return Step::Picked(chosen, self.text.trim().to_owned());
            }
            Key::Escape | Key::Up | Key::Down => self.writing = false,
            other => edit(&mut self.text, &other),
        }
        Step::Stay
    }

    /// The current choice.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// The choices, one per line, for a terminal of this width. They may be wider.
    pub(super) fn choices(&self, columns: usize) -> Vec<Shown> {
        let choices = self.choices.iter().enumerate();
        choices.map(|(at, choice)| self.choice(at, choice, columns)).collect()
    }

    fn choice(&self, at: usize, choice: &Choice, columns: usize) -> Shown {
        let here = at == self.at;
        let mark = match (self.several && !choice.writes && !choice.alone, self.marked.get(at)) {
            (true, Some(true)) => "[x] ",
            (true, _) => "[ ] ",
            _ => "",
        };
        let colon = if here && self.writing { ": " } else { "" };
        let mut text = shown!("{}{} {}{}", mark, at + 1, choice.label, colon);
        let width = text.width();
        if here {
            text = text.cyan().bold();
        }
        if here && self.writing {
            let written = line(&self.text).tail(columns.saturating_sub(width + 6));
            text.push(&shown!("{}▏", written));
        } else if !choice.detail.is_empty() {
            text.push(&shown!("  {}", choice.detail.dimmed()));
        }
        shown!("{} {}", if here { ours("❯").cyan() } else { ours(" ") }, text)
    }

    /// The help line.
    pub(super) fn help(&self) -> Shown {
        let help = match (self.writing, self.several) {
            (true, _) => ours("Enter sends · Esc goes back"),
            (false, true) => {
                shown!("Space marks · Enter confirms · Esc {}", self.escape)
            }
            (false, false) => shown!("↑↓ or a number · Enter · Esc {}", self.escape),
        };
        shown!("  {}", help.dimmed())
    }
}

/// Applies a key to a text that is edited at its end.
pub(super) fn edit(text: &mut String, key: &Key) {
    match key {
        Key::Char(character) => text.push(*character),
        Key::Paste(pasted) => text.push_str(pasted),
        Key::Backspace => {
            text.pop();
        }
        Key::Clear => text.clear(),
        Key::ClearWord => {
            let kept = text.trim_end();
            let kept = kept.rfind(char::is_whitespace).map_or(0, |at| {
                at + kept.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
            });
            text.truncate(kept);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu() -> Menu {
        Menu::new(vec![
            Choice::new(ours("Yes")),
            Choice::new(ours("Always")).detail(ours("Bash(ls)")),
            Choice::new(ours("No")).writes(),
        ])
    }

    fn typed(menu: &mut Menu, keys: &str) -> Step {
        let mut step = Step::Stay;
        for character in keys.chars() {
            step = menu.key(match character {
                '⏎' => Key::Enter,
                '↓' => Key::Down,
                '↑' => Key::Up,
                '⎋' => Key::Escape,
                '⌫' => Key::Backspace,
                other => Key::Char(other),
            });
        }
        step
    }

    fn plain(menu: &Menu) -> Vec<String> {
        let lines = menu.choices(80).into_iter().chain([menu.help()]);
        lines.map(|line| line.plain().to_string()).collect()
    }

    #[test]
    fn arrows_and_numbers_choose() {
        assert_eq!(typed(&mut menu(), "⏎"), Step::Picked(vec![0], String::new()));
        assert_eq!(typed(&mut menu(), "↓⏎"), Step::Picked(vec![1], String::new()));
        assert_eq!(typed(&mut menu(), "2"), Step::Picked(vec![1], String::new()));
        assert_eq!(typed(&mut menu(), "↑↑⏎"), Step::Picked(vec![1], String::new()));
        assert_eq!(typed(&mut menu(), "x7"), Step::Stay);
        assert_eq!(typed(&mut menu(), "⎋"), Step::Cancelled);
    }

    #[test]
    fn some_choices_take_a_text() {
        assert_eq!(typed(&mut menu(), "3no⌫ot ü⏎"), Step::Picked(vec![2], "not ü".into()));
        // A choice that takes a text can be typed at once.
        assert_eq!(typed(&mut menu(), "↑use cp⏎"), Step::Picked(vec![2], "use cp".into()));
        assert_eq!(typed(&mut menu(), "3why⎋1"), Step::Picked(vec![0], String::new()));
    }

    #[test]
    fn several_are_marked() {
        let mut menu = menu().several(true);
        assert_eq!(typed(&mut menu, " ↓ "), Step::Stay);
        assert_eq!(plain(&menu).first().map(String::as_str), Some("  [x] 1 Yes"));
        assert_eq!(typed(&mut menu.clone(), "⏎"), Step::Picked(vec![0, 1], String::new()));
        assert_eq!(typed(&mut menu, "2↓mine⏎"), Step::Picked(vec![0, 2], "mine".into()));
    }

    #[test]
    fn a_menu_is_rendered() {
        let mut menu = menu();
        typed(&mut menu, "3\u{7}because");
        assert_eq!(
            plain(&menu),
            [
                "  1 Yes",
                "  2 Always  Bash(ls)",
                "❯ 3 No: ␇because▏",
                "  Enter sends · Esc goes back"
            ]
        );
    }

    #[test]
    fn a_typed_text_can_be_discarded() {
        let mut text = "one two\u{3000}three ".to_owned();
        edit(&mut text, &Key::ClearWord);
        assert_eq!(text, "one two\u{3000}");
        edit(&mut text, &Key::ClearWord);
        assert_eq!(text, "one ");
        edit(&mut text, &Key::ClearWord);
        assert_eq!(text, "");
    }
}
