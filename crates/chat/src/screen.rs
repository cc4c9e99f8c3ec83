//! [`Screen`]: text that scrolls, above a few lines that stay at the bottom: a spinner or a menu.

use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, TrySendError};

use duologue_terminal::{Shown, ours, shown};

/// The longest unfinished line that is held back while something else uses the bottom of the terminal.
const MOST_HELD: usize = 256 * 1024;

/// What uses the bottom of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bottom {
    /// Lines that are removed for streamed text.
    Status,
    /// Lines that stay. Whole lines are printed above them.
    Menu,
    /// The line editor. Whole lines are printed through it.
    Prompt,
}

pub(super) struct Screen<W> {
    out: W,
    colours: bool,
    rows: usize,
    columns: usize,
    bottom: Bottom,
    lines: Vec<Shown>,
    /// The widths of the drawn lines.
    drawn: Vec<usize>,
    /// The last line of the text has no end yet.
    open: bool,
    /// What could not be printed yet.
    held: Shown,
    /// Prints above the line editor.
    above: SyncSender<String>,
}

impl<W: Write> Screen<W> {
    pub(super) fn new(
        out: W,
        colours: bool,
        (rows, columns): (usize, usize),
        above: SyncSender<String>,
    ) -> Self {
        Self {
            out,
            colours,
            rows,
            columns,
            bottom: Bottom::Status,
            lines: Vec::new(),
            drawn: Vec::new(),
            open: false,
            held: Shown::default(),
            above,
        }
    }

    /// Its rows and columns, if known.
    pub(super) const fn size(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// It has another size, and perhaps other lines at the bottom.
    pub(super) fn resize(
        &mut self,
        rows: usize,
        columns: usize,
        lines: Option<Vec<Shown>>,
    ) -> io::Result<()> {
        self.rows = rows;
        self.columns = columns.max(2);
        self.erase()?;
        self.lines = lines.unwrap_or_else(|| std::mem::take(&mut self.lines));
        self.draw()?;
        self.out.flush()
    }

    /// Prints a piece of a text.
    pub(super) fn text(&mut self, text: &Shown) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        match self.bottom {
            Bottom::Status if self.held.is_empty() => {
                self.erase()?;
                self.put(text)?;
                self.open = !text.as_str().ends_with('\n');
                self.draw()?;
            }
            _ => {
                self.held.push(text);
                // A line without an end must not fill the memory.
                if self.held.as_str().len() > MOST_HELD {
                    self.held.push(&ours("\n"));
                }
                self.release()?;
            }
        }
        self.out.flush()
    }

    /// Prints a whole line.
    pub(super) fn line(&mut self, line: &Shown) -> io::Result<()> {
        self.end_line()?;
        self.text(&shown!("{}\n", line))
    }

    pub(super) fn end_line(&mut self) -> io::Result<()> {
        let held = self.held.as_str();
        let open = if held.is_empty() { self.open } else { !held.ends_with('\n') };
        if open { self.text(&ours("\n")) } else { Ok(()) }
    }

    /// Gives the bottom of the screen to an owner, with these lines.
    pub(super) fn set_bottom(&mut self, bottom: Bottom, lines: Vec<Shown>) -> io::Result<()> {
        if bottom != Bottom::Status && self.bottom == Bottom::Status {
            self.end_line()?;
        }
        self.erase()?;
        let changed = bottom != self.bottom;
        self.bottom = bottom;
        if changed {
            self.release()?;
        }
        self.lines = lines;
        self.draw()?;
        self.out.flush()
    }

    /// Prints what was held back, as far as that is possible now.
    pub(super) fn release(&mut self) -> io::Result<()> {
        let whole = match self.bottom {
            Bottom::Status => self.held.as_str().len(),
            _ => self.held.as_str().rfind('\n').map_or(0, |at| at + 1),
        };
        if whole == 0 {
            return Ok(());
        }
        let rest = self.held.split_off(whole);
        let text = std::mem::replace(&mut self.held, rest);
        if self.bottom == Bottom::Prompt {
            let above = if self.colours { text.clone() } else { text.plain() };
            if let Err(TrySendError::Full(_)) = self.above.try_send(above.as_str().to_owned()) {
                self.held = shown!("{}{}", text, self.held);
            }
            return Ok(());
        }
        self.erase()?;
        self.put(&text)?;
        self.open = !text.as_str().ends_with('\n');
        self.draw()
    }

    fn put(&mut self, text: &Shown) -> io::Result<()> {
        let plain = (!self.colours).then(|| text.plain());
        let text = plain.as_ref().unwrap_or(text).as_str();
        // In raw mode a newline goes down only.
        self.out.write_all(text.replace('\n', "\r\n").as_bytes())
    }

    fn draw(&mut self) -> io::Result<()> {
        // The line editor draws itself, and nothing is printed beside an unfinished text.
        if self.bottom == Bottom::Prompt || self.open {
            return Ok(());
        }
        let lines = self.lines.clone();
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                self.put(&ours("\n"))?;
            }
            let line = line.cut(self.columns.saturating_sub(1));
            self.drawn.push(line.width());
            self.put(&line)?;
        }
        Ok(())
    }

    fn erase(&mut self) -> io::Result<()> {
        // Where the terminal became narrower, lines may have become several.
        let rows: usize =
            self.drawn.drain(..).map(|width| width.div_ceil(self.columns).max(1)).sum();
        match rows {
            0 => Ok(()),
            1 => write!(self.out, "\r\x1b[J"),
            rows => write!(self.out, "\r\x1b[{}A\x1b[J", rows - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;

    fn terminal(columns: usize) -> (Screen<Vec<u8>>, Receiver<String>) {
        let (above, printed) = sync_channel(1);
        (Screen::new(Vec::new(), false, (24, columns), above), printed)
    }

    fn shown(terminal: &mut Screen<Vec<u8>>) -> String {
        String::from_utf8(std::mem::take(&mut terminal.out)).unwrap().replace('\x1b', "^")
    }

    #[test]
    fn a_status_gives_way_to_a_stream() {
        let (mut terminal, _above) = terminal(20);
        terminal.set_bottom(Bottom::Status, vec![ours("busy")]).unwrap();
        assert_eq!(shown(&mut terminal), "busy");
        terminal.text(&ours("Hel")).unwrap();
        terminal.text(&ours("lo")).unwrap();
        assert_eq!(shown(&mut terminal), "\r^[JHello");
        terminal.line(&ours("*").bold()).unwrap();
        assert_eq!(shown(&mut terminal), "\r\nbusy\r^[J*\r\nbusy");
    }

    #[test]
    fn a_menu_stays_below_what_is_printed() {
        let (mut terminal, _above) = terminal(20);
        terminal.text(&ours("open")).unwrap();
        terminal.set_bottom(Bottom::Menu, vec![ours("one"), ours("two")]).unwrap();
        assert_eq!(shown(&mut terminal), "open\r\none\r\ntwo");
        terminal.text(&ours("half")).unwrap();
        assert_eq!(shown(&mut terminal), "");
        terminal.text(&ours(" done\nmore")).unwrap();
        assert_eq!(shown(&mut terminal), "\r^[1A^[Jhalf done\r\none\r\ntwo");
        terminal.set_bottom(Bottom::Status, Vec::new()).unwrap();
        assert_eq!(shown(&mut terminal), "\r^[1A^[Jmore");
    }

    #[test]
    fn lines_are_cut_and_a_narrow_terminal_is_cleared() {
        let (mut terminal, _above) = terminal(10);
        terminal.set_bottom(Bottom::Menu, vec![ours("日本語日本語"), ours("x")]).unwrap();
        assert_eq!(shown(&mut terminal), "日本語日…\r\nx");
        terminal.resize(24, 5, None).unwrap();
        assert_eq!(shown(&mut terminal), "\r^[2A^[J日…\r\nx");
    }

    #[test]
    fn at_the_prompt_whole_lines_go_through_the_editor() {
        let (mut terminal, above) = terminal(20);
        terminal.set_bottom(Bottom::Prompt, Vec::new()).unwrap();
        terminal.text(&ours("a")).unwrap();
        terminal.text(&ours("b\nc")).unwrap();
        assert_eq!(above.try_recv().unwrap(), "ab\n");
        // The editor is not ready: they are queued, in order.
        terminal.text(&ours("\n")).unwrap();
        terminal.text(&ours("d\ne\n")).unwrap();
        assert_eq!(above.try_recv().unwrap(), "c\n");
        terminal.release().unwrap();
        assert_eq!(above.try_recv().unwrap(), "d\ne\n");
        assert_eq!(shown(&mut terminal), "");
    }
}
