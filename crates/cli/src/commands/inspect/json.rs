//! The events, one JSON object per line.

use std::io::{self, Write as _};

use duologue_protocol::Wire as _;
use duologue_protocol::transcript::Event;
use duologue_tape::Header;

use super::{Output, Printer};

pub(super) struct Json {
    out: Output,
    deltas: bool,
}

impl Json {
    pub(super) fn new(deltas: bool) -> Self {
        Self { out: io::BufWriter::new(io::stdout()), deltas }
    }
}

impl Printer for Json {
    fn header(&mut self, _: &Header) -> anyhow::Result<()> {
        Ok(())
    }

    fn event(&mut self, millis: Option<u64>, event: Event) -> anyhow::Result<()> {
        if event.is_delta() && !self.deltas {
            return Ok(());
        }
        let json = event.to_json();
        match (millis, json.strip_suffix('}')) {
            (Some(millis), Some(open)) => writeln!(self.out, "{open},\"t\":{millis}}}")?,
            _ => writeln!(self.out, "{json}")?,
        }
        Ok(())
    }

    fn note(&mut self, _: Option<u64>, _: &str) -> anyhow::Result<()> {
        Ok(())
    }

    fn stderr(&mut self, _: Option<u64>, _: &str) -> anyhow::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}
