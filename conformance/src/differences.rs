//! Compares the events of the embedded agent and of Claude Code in the same case. `differences.toml` lists what may differ.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use duologue_tape::diff::{Difference, compare};
use duologue_tape::{ReadError, Reader};
use duologue_testkit::peers::imitated_version;
use duologue_testkit::{Named, Reasons};

use crate::case::Trouble;
use crate::matrix::Cell;

/// The column of the comparison.
pub(crate) const COLUMN: &str = "same events";

/// The row for unused entries.
pub(crate) const LIST: &str = "differences.toml";

/// The tapes of one run of a case, in the order in which its conversations were prepared.
pub(crate) type Said = Vec<String>;

/// Reads the tapes. The directory of the stage differs in each run and is replaced.
pub(crate) fn said(tapes: &Path, place: &Path) -> Result<Said, Trouble> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(tapes)? {
        files.push(entry?.path());
    }
    files.sort();
    let place = place.to_string_lossy();
    // The same path in the names of directories that the agent creates.
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let in_names: String = place.chars().map(plain).collect();
    let mut said = Said::new();
    for file in files {
        let tape = std::fs::read(file)?;
        let tape = String::from_utf8_lossy(&tape);
        said.push(tape.replace(&*place, "/stage").replace(&in_names, "-stage"));
    }
    Ok(said)
}

/// The differences of the second tape.
pub(crate) fn between(a: &str, b: &str) -> Result<Vec<Difference>, ReadError> {
    compare(&mut Reader::new(a.as_bytes()), &mut Reader::new(b.as_bytes()))
}

/// The accepted differences, and which of them were used.
#[derive(Debug)]
pub(crate) struct Differences {
    reasons: Reasons,
    needed: BTreeSet<(usize, usize)>,
}

impl Differences {
    pub(crate) fn read() -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
        let reasons = Reasons::read(&path).map_err(|error| anyhow!(error))?;
        Ok(Self { reasons, needed: BTreeSet::new() })
    }

    /// Compares both in this case, Claude Code first.
    pub(crate) fn judge(&mut self, case: &str, real: &Said, ours: &Said) -> Cell {
        let (mut unnamed, mut reasons) = (Vec::new(), BTreeSet::new());
        if real.len() != ours.len() {
            unnamed.push(format!("{} conversations became {}", real.len(), ours.len()));
        }
        for (at, (real, ours)) in real.iter().zip(ours).enumerate() {
            let differences = match between(real, ours) {
                Ok(differences) => differences,
                Err(error) => return Cell::Fail(error.to_string()),
            };
            for difference in differences {
                let named = Named {
                    version: imitated_version(),
                    scenario: case,
                    kind: difference.kind.name(),
                    event: &difference.event,
                    field: difference.field.as_deref(),
                    a: &difference.a,
                    b: &difference.b,
                };
                match self.reasons.find(named) {
                    Some(name) => {
                        self.needed.insert(name);
                        reasons.insert(name.0);
                    }
                    None => unnamed.push(format!("conversation {}: {difference}", at + 1)),
                }
            }
        }
        if !unnamed.is_empty() {
            return Cell::Fail(unnamed.join("\n  "));
        }
        let known = reasons.iter().filter_map(|at| self.reasons.difference.get(*at));
        let mut reasons: Vec<String> = known.map(|known| known.reason.clone()).collect();
        reasons.dedup();
        if reasons.is_empty() { Cell::Pass } else { Cell::Differs(reasons) }
    }

    /// Checks that every entry was used, after all cases were compared.
    pub(crate) fn list(&self) -> Cell {
        let unneeded = self.reasons.unneeded(|name| self.needed.contains(&name));
        if unneeded.is_empty() {
            return Cell::Pass;
        }
        Cell::Fail(format!("these entries are not used any more:\n  {}", unneeded.join("\n  ")))
    }
}
