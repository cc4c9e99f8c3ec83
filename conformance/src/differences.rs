//! The embedded agent and the real one in the same case: the same events, but for what `differences.toml` names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use duologue_tape::diff::{Difference, compare};
use duologue_tape::{ReadError, Reader};
use duologue_testkit::peers::imitated_version;
use duologue_testkit::{Named, Reasons};

use crate::case::Trouble;
use crate::matrix::Cell;

/// The column of what was compared.
pub(crate) const COLUMN: &str = "same events";

/// The row of names that nothing needs.
pub(crate) const LIST: &str = "differences.toml";

/// The tapes of one run of a case, in the order in which its conversations were prepared.
pub(crate) type Said = Vec<String>;

/// Reads what was recorded. The place of the stage is another in each run, and does not count.
pub(crate) fn said(tapes: &Path, place: &Path) -> Result<Said, Trouble> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(tapes)? {
        files.push(entry?.path());
    }
    files.sort();
    let place = place.to_string_lossy();
    // As it stands in the names of directories that the agent makes.
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

/// What is different on the second tape.
pub(crate) fn between(a: &str, b: &str) -> Result<Vec<Difference>, ReadError> {
    compare(&mut Reader::new(a.as_bytes()), &mut Reader::new(b.as_bytes()))
}

/// The list of what may differ, and what of it was needed.
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

    /// Whether both said the same in this case, the real one first.
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

    /// Whether every name of the list was needed, once all cases were compared.
    pub(crate) fn list(&self) -> Cell {
        let unneeded = self.reasons.unneeded(|name| self.needed.contains(&name));
        if unneeded.is_empty() {
            return Cell::Pass;
        }
        Cell::Fail(format!("nothing needs these any more:\n  {}", unneeded.join("\n  ")))
    }
}
