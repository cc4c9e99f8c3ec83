//! What the conversation shows: the events of the agent, and a spinner while it works.

use std::time::Duration;

use duologue::Event;
use duologue_terminal::print::FRAMES;
use duologue_terminal::{Shown, line, ours, print, shown, summary};

use super::{Conversation, Mode};
use crate::render::Piece;
use crate::screen::Bottom;

/// How many bytes are printed between two checks for keys.
const PIECE: usize = 2048;

impl Conversation {
    pub(super) fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.turn.is_none() && matches!(event, Event::TurnStarted(_)) {
            self.screen.line(&ours("· the agent continues by itself").dimmed())?;
        }
        // Above the prompt only whole texts can be shown.
        self.renderer.streaming = self.mode != Mode::Line;
        self.renderer.columns = size().1;
        let pieces = self.renderer.event(event);
        // After Ctrl-C, show only the end of the turn.
        if !self.is_muted || matches!(event, Event::TurnFinished(_)) {
            pieces.iter().for_each(|piece| self.queue(piece));
        }
        if self.mode == Mode::Line {
            while !self.outbox.is_empty() {
                self.print()?;
            }
        }
        Ok(())
    }

    /// Prints the next piece. Keys are checked in between.
    pub(super) fn print(&mut self) -> anyhow::Result<()> {
        let Some((begins_line, text)) = self.outbox.pop_front() else { return Ok(()) };
        if begins_line {
            self.screen.end_line()?;
        }
        self.screen.text(&text)?;
        Ok(())
    }

    fn queue(&mut self, piece: &Piece) {
        let (mut begins_line, text) = match piece {
            Piece::Text(text) => (false, text.clone()),
            Piece::Line(line) => (true, shown!("{}\n", line)),
        };
        for part in text.pieces(PIECE) {
            self.outbox.push_back((std::mem::take(&mut begins_line), part));
        }
    }

    pub(super) fn tick(&mut self) -> anyhow::Result<()> {
        self.resize()?;
        if self.mode == Mode::Line {
            self.screen.release()?;
        } else if self.dialog.is_none() && self.turn.is_some() {
            self.frame = (self.frame + 1) % FRAMES.len();
            let lines = self.status();
            self.screen.set_bottom(Bottom::Status, lines)?;
        }
        Ok(())
    }

    pub(super) fn resize(&mut self) -> anyhow::Result<()> {
        let (rows, columns) = size();
        if self.screen.size() != (rows, columns) {
            let menu = self.dialog.as_mut().map(|open| open.dialog.lines(rows, columns));
            self.screen.resize(rows, columns, menu)?;
        }
        Ok(())
    }

    /// The spinner, and what was typed ahead.
    fn status(&self) -> Vec<Shown> {
        let frame = ours(FRAMES.get(self.frame).copied().unwrap_or_default());
        let mut text = summary::duration(millis(self.began.elapsed()));
        let tokens = self.renderer.tokens();
        if tokens > 0 {
            text.push(&shown!(" · ~{} tokens", summary::count(tokens)));
        }
        if !self.renderer.doing.is_empty() {
            text.push(&shown!(" · {}", self.renderer.doing));
        }
        let room = size().1.saturating_sub(5);
        let mut lines = vec![shown!("{} {}", frame.cyan(), text.dimmed())];
        let ahead = self.ahead.iter().map(|text| shown!("› {}", line(text).tail(room)).dimmed());
        lines.extend(ahead);
        if !self.typed.is_empty() {
            let typed = line(&self.typed).tail(room);
            lines.push(shown!("{} {}▏", ours("›").dimmed(), typed));
        }
        lines
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The rows and columns of the terminal.
pub(crate) fn size() -> (usize, usize) {
    let (rows, columns) = print::out_size().unwrap_or((24, 80));
    (usize::from(rows), usize::from(columns).max(2))
}
