//! The command line.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::corpus::{self, Corpus};
use crate::subjects::{SUBJECTS, Subject, YARDSTICK};

/// How to run it.
pub const USAGE: &str = "\
usage: bench [--size MB] [--reps N] [--quick] [--only WORD] [--corpus mix|big] [--real DIR]
             [--time-only]

  --size MB     how much of each corpus to generate (50)
  --reps N      how often to measure each (9)
  --quick       2 MB and 3 repetitions, as a test
  --only WORD   only those whose name contains WORD, and the reference
  --corpus NAME only this corpus
  --real DIR    the lines of the tapes under DIR instead: Duologue and the reference
  --time-only   no allocations: for profilers";

/// The options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Megabytes of each corpus.
    pub size: usize,
    /// Repetitions.
    pub reps: usize,
    /// Only subjects whose name contains this.
    pub only: Option<String>,
    /// Only this corpus.
    pub corpus: Option<String>,
    /// Tapes to take the lines from.
    pub real: Option<PathBuf>,
    /// Do not count allocations.
    pub time_only: bool,
}

impl Options {
    /// Reads the arguments of this process.
    pub fn from_args() -> Result<Self> {
        let mut options =
            Self { size: 50, reps: 9, only: None, corpus: None, real: None, time_only: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--size" => options.size = value()?.parse()?,
                "--reps" => options.reps = value()?.parse()?,
                "--quick" => (options.size, options.reps) = (2, 3),
                "--only" => options.only = Some(value()?),
                "--corpus" => options.corpus = Some(value()?),
                "--real" => options.real = Some(value()?.into()),
                "--time-only" => options.time_only = true,
                _ => bail!("{USAGE}"),
            }
        }
        if options.reps == 0 || options.size == 0 {
            bail!("{USAGE}");
        }
        Ok(options)
    }

    /// The selected corpora.
    pub fn corpora(&self) -> Result<Vec<Corpus>> {
        if let Some(dir) = &self.real {
            return Ok(vec![corpus::real(dir)?]);
        }
        let wanted = |name: &str| self.corpus.as_deref().is_none_or(|only| only == name);
        let bytes = self.size * 1_000_000;
        let mut corpora = Vec::new();
        if wanted("mix") {
            corpora.push(corpus::mix(bytes));
        }
        if wanted("big") {
            corpora.push(corpus::big(bytes));
        }
        Ok(corpora)
    }

    /// The selected subjects, always with the reference.
    pub fn subjects(&self) -> Vec<&'static Subject> {
        let wanted = |subject: &&Subject| {
            let named = self.only.as_ref().is_none_or(|only| subject.name.contains(only.as_str()));
            subject.name == YARDSTICK || (named && !(subject.peer && self.real.is_some()))
        };
        SUBJECTS.iter().filter(wanted).collect()
    }
}
