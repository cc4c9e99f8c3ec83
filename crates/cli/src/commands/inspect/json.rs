//! The events, one JSON object per line.

use std::io::{self, Write as _};
use std::path::Path;

use duologue_protocol::Wire as _;
use duologue_protocol::transcript::Event;
use duologue_tape::Header;
use duologue_terminal::print;

use super::{Moment, Printer};

pub(super) struct Json {
    out: io::BufWriter<print::Data>,
    deltas: bool,
    /// Flush after each event, for --follow.
    at_once: bool,
}

impl Json {
    pub(super) fn new(deltas: bool, at_once: bool) -> Self {
        Self { out: io::BufWriter::new(print::data()), deltas, at_once }
    }
}

/// An event as JSON, with its time.
pub(super) fn timed(millis: Option<u64>, event: &Event) -> String {
    let json = event.to_json();
    match (millis, json.strip_suffix('}')) {
        (Some(millis), Some(open)) => format!("{open},\"t\":{millis}}}"),
        _ => json,
    }
}

impl Printer for Json {
    fn begin(&mut self, _: &Path, _: Option<&Header>, _: Option<&str>) -> anyhow::Result<()> {
        Ok(())
    }

    fn event(&mut self, at: &Moment, event: Event) -> anyhow::Result<()> {
        if event.is_delta() && !self.deltas {
            return Ok(());
        }
        writeln!(self.out, "{}", timed(at.millis, &event))?;
        if self.at_once {
            self.out.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}
