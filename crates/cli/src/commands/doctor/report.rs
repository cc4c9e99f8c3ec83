//! The report, as text or JSON.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use duologue_terminal::{line, ours, print, shown};
use serde_json::json;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Well,
    /// It works, with a remark.
    Warning,
    Broken,
}

/// One check and its result.
#[derive(Debug)]
pub(super) struct Finding {
    name: &'static str,
    state: State,
    what: String,
    /// The suggested fix.
    mend: Option<String>,
}

impl Finding {
    pub(super) fn well(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, state: State::Well, what: what.into(), mend: None }
    }

    pub(super) fn warning(
        name: &'static str,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { name, state: State::Warning, what: what.into(), mend: Some(mend.into()) }
    }

    pub(super) fn broken(
        name: &'static str,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { name, state: State::Broken, what: what.into(), mend: Some(mend.into()) }
    }
}

/// All findings.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) program: Option<PathBuf>,
    pub(super) version: Option<String>,
    pub(super) tested: Option<bool>,
    pub(super) handshake: Option<Duration>,
    pub(super) round_trip: Option<Duration>,
    findings: Vec<Finding>,
}

impl Report {
    pub(super) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(super) fn is_well(&self) -> bool {
        self.findings.iter().all(|finding| finding.state != State::Broken)
    }

    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = print::out();
        for Finding { name, state, what, mend } in &self.findings {
            let mark = match state {
                State::Well => ours("✓").green(),
                State::Warning => ours("!").yellow().bold(),
                State::Broken => ours("✗").red().bold(),
            };
            let mut lines = what.lines().map(line);
            out.line(&shown!("{} {:<12} {}", mark, *name, lines.next().unwrap_or_default()))?;
            for line in lines {
                out.line(&shown!("{:15}{}", "", line))?;
            }
            for text in mend.iter().flat_map(|mend| mend.lines()) {
                out.line(&shown!("{:15}{} {}", "", ours("→").cyan(), line(text)))?;
            }
        }
        let broken = self.findings.iter().filter(|finding| finding.state == State::Broken).count();
        match broken {
            0 => out.line(&ours("\nNo problems found.").green())?,
            1 => out.line(&ours("\n1 problem found.").red())?,
            _ => out.line(&shown!("\n{} problems found.", broken).red())?,
        }
        Ok(())
    }

    pub(super) fn print_json(&self, code: u8) -> anyhow::Result<()> {
        let millis = |span: Option<Duration>| span.map(|span| span.as_secs_f64() * 1000.0);
        let findings = self.findings.iter().map(|Finding { name, state, what, mend }| {
            let state = match state {
                State::Well => "well",
                State::Warning => "warning",
                State::Broken => "broken",
            };
            json!({ "name": name, "state": state, "what": what, "mend": mend })
        });
        let report = json!({
            "well": self.is_well(),
            "exit_code": code,
            "program": self.program.as_ref().map(|path| path.to_string_lossy()),
            "version": self.version,
            "tested": self.tested,
            "handshake_ms": millis(self.handshake),
            "round_trip_ms": millis(self.round_trip),
            "findings": findings.collect::<Vec<_>>(),
        });
        let mut out = print::data();
        serde_json::to_writer_pretty(&mut out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
        Ok(())
    }
}
