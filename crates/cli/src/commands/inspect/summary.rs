//! The table at the end of a timeline.

use duologue_protocol::transcript::{TurnFinishedEvent, TurnStatus};
use duologue_terminal::print::Out;
use duologue_terminal::summary::{count, dollars, duration, input_tokens};
use duologue_terminal::{Shown, line, shown};

/// One row for each turn.
#[derive(Default)]
pub(super) struct Summary {
    rows: Vec<Row>,
    calls: u64,
}

struct Row {
    turn: u64,
    status: TurnStatus,
    millis: u64,
    calls: u64,
    read: u64,
    written: u64,
    cost: f64,
}

impl Summary {
    pub(super) fn called(&mut self) {
        self.calls += 1;
    }

    pub(super) fn finished(&mut self, turn: &TurnFinishedEvent) {
        let usage = turn.usage.as_ref();
        self.rows.push(Row {
            turn: turn.turn.unwrap_or_default(),
            status: turn.outcome.clone(),
            millis: turn.duration_ms.unwrap_or_default(),
            calls: std::mem::take(&mut self.calls),
            read: usage.map_or(0, input_tokens),
            written: usage.and_then(|usage| usage.output_tokens.as_u64()).unwrap_or_default(),
            cost: turn.cost_usd.unwrap_or_default(),
        });
    }

    pub(super) fn print(&self, out: &mut Out) -> anyhow::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let head = shown!(
            "{:>5}  {:<11}  {:>8}  {:>5}  {:>8}  {:>8}  {:>8}",
            "turn",
            "outcome",
            "time",
            "calls",
            "in",
            "out",
            "cost"
        );
        out.line(&shown!("\n{}", head.bold()))?;
        for row in &self.rows {
            out.line(&shown!(
                "{:>5}  {}  {:>8}  {:>5}  {:>8}  {:>8}  {:>8}",
                row.turn,
                coloured(&row.status, 11),
                duration(row.millis),
                row.calls,
                count(row.read),
                count(row.written),
                dollars(row.cost),
            ))?;
        }
        if self.rows.len() > 1 {
            let total = |of: fn(&Row) -> u64| self.rows.iter().map(of).sum::<u64>();
            let line = shown!(
                "{:>5}  {:<11}  {:>8}  {:>5}  {:>8}  {:>8}  {:>8}",
                "all",
                "",
                duration(total(|row| row.millis)),
                total(|row| row.calls),
                count(total(|row| row.read)),
                count(total(|row| row.written)),
                dollars(self.rows.iter().map(|row| row.cost).sum()),
            );
            out.line(&line.bold())?;
        }
        Ok(())
    }
}

/// The status in its colour, padded to this width.
pub(super) fn coloured(status: &TurnStatus, width: usize) -> Shown {
    let text = line(status.as_str());
    let text = shown!("{}{}", text, Shown::repeat(" ", width.saturating_sub(text.width())));
    match status {
        TurnStatus::Success => text.green(),
        TurnStatus::Interrupted => text.yellow(),
        _ => text.red(),
    }
}
