//! Drift: what another version of Claude Code does differently from the tested one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use duologue::protocol::Direction;
use duologue_tape::Reader;
use duologue_tape::check::{Kind, check};
use duologue_tape::diff::shape::{self, Shapes};
use duologue_testkit::peers::imitated_version;
use owo_colors::OwoColorize as _;
use tokio::sync::Semaphore;

use crate::case::Case;
use crate::differences::between;
use crate::matrix::{Cell, Matrix};
use crate::peers::{self, Peer};
use crate::play::{Heard, play};
use crate::{host, offline};

/// The name of the version that this tree is tested with.
const TESTED: &str = "tested";

/// How many differences of one kind are shown.
const SHOWN: usize = 100;

/// How much of a value is shown.
const WIDTH: usize = 80;

/// Runs all cases with a version of Claude Code, and reports what is new in it.
///
/// Exit codes: 0 if nothing is new, 1 if something is new, 2 on an error.
#[derive(Debug, clap::Args)]
pub(crate) struct Drift {
    /// Any published version; the newest by default. `tested` is the one that this tree is tested with.
    version: Option<String>,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "CASE")]
    only: Option<String>,
    /// How many cases run at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Keep the tapes, in DIR/CASE/VERSION.
    #[arg(long, value_name = "DIR")]
    tapes: Option<PathBuf>,
}

/// Reports what is new. True if nothing is.
pub(crate) fn run(args: &Drift) -> Result<bool> {
    let wanted = |case: &&Case| args.only.as_ref().is_none_or(|only| case.name.contains(only));
    let cases: Vec<Case> = host::CASES.iter().filter(wanted).copied().collect();
    ensure!(!cases.is_empty(), "no such case; --list prints all cases");
    let version = match &args.version {
        Some(version) if version == TESTED => imitated_version().to_owned(),
        Some(version) => version.clone(),
        None => peers::newest()?,
    };
    let names = BTreeSet::from([imitated_version(), version.as_str()]);
    let real: Vec<Peer> = names.into_iter().map(peers::find).collect::<Result<_>>()?;
    offline::isolate(&real, Some(&version))?;
    let temporary = tempfile::tempdir()?;
    let tapes = args.tapes.as_deref().unwrap_or(temporary.path());
    let runtime = tokio::runtime::Runtime::new().context("no runtime")?;
    let places = Arc::new(Semaphore::new(args.jobs.max(1)));
    let (matrix, heard) = runtime.block_on(play(&cases, &real, &places, tapes));

    let found = [
        section("What this tree does not know", unknown(tapes, &cases, &version)?),
        section(
            &format!("Types and fields that {} did not show in the same cases", imitated_version()),
            shapes(tapes, &cases, &version)?,
        ),
        section("Cases with another result", verdicts(&matrix, &cases, &version)),
    ];
    // Concurrent events come in any order, so these differences alone mean nothing.
    section("Different events; some of them depend on timing", events(&heard, &cases, &version));
    Ok(found.iter().all(|found| !found))
}

/// Prints a section of the report. True if it is not empty.
fn section(title: &str, lines: Vec<String>) -> bool {
    anstream::println!("\n{}", title.bold());
    if lines.is_empty() {
        anstream::println!("  nothing");
    }
    for line in lines.iter().take(SHOWN) {
        anstream::println!("  {line}");
    }
    if lines.len() > SHOWN {
        anstream::println!("  and {} more", lines.len() - SHOWN);
    }
    !lines.is_empty()
}

/// The tapes of a version, in all cases.
fn recorded(tapes: &Path, cases: &[Case], version: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for case in cases {
        let folder = tapes.join(case.name.replace('/', "-")).join(version);
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            files.push(entry?.path());
        }
    }
    files.sort();
    Ok(files)
}

/// What is unknown in the agent's lines, each once, with its count.
fn unknown(tapes: &Path, cases: &[Case], version: &str) -> Result<Vec<String>> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |kind: Option<&Kind>, what: String, count| {
        if kind.is_none_or(|kind| kind.direction == Direction::ToHost) {
            let name = kind.map(|kind| format!(" of {}", kind.name())).unwrap_or_default();
            *found.entry(format!("{what}{name}")).or_default() += count;
        }
    };
    for file in recorded(tapes, cases, version)? {
        let context = || format!("cannot check {}", file.display());
        let opened = File::open(&file).with_context(context)?;
        let report = check(&mut Reader::new(opened)).with_context(context)?;
        for (tag, count) in report.unknown_tags.iter() {
            let what = format!("type {} {} {}", tag.name, tag.tag, tag.path);
            add(Some(&tag.message), what.trim_end().to_owned(), count);
        }
        for (field, count) in report.unknown_fields.iter() {
            add(Some(&field.message), format!("field {}", field.path), count);
        }
        for (word, count) in report.unknown_words.iter() {
            let what = format!("word {} {}", word.at.path, word.word);
            add(Some(&word.at.message), what, count);
        }
        for malformed in &report.malformed.first {
            if malformed.direction == Direction::ToHost {
                add(None, format!("malformed {}", malformed.reason), 1);
            }
        }
    }
    Ok(found.into_iter().map(|(what, times)| format!("{what} ({times} times)")).collect())
}

/// Types and fields that were added.
fn shapes(tapes: &Path, cases: &[Case], version: &str) -> Result<Vec<String>> {
    let read = |version: &str| -> Result<Shapes> {
        let mut all = Shapes::default();
        for file in recorded(tapes, cases, version)? {
            all.merge(Shapes::read(&mut Reader::new(File::open(file)?))?);
        }
        Ok(all)
    };
    let differences = shape::compare(&read(imitated_version())?, &read(version)?);
    let types = differences.added_types.iter().map(|kind| format!("type {kind}"));
    let fields = differences.added_fields.iter().map(|(kind, path)| format!("{path} of {kind}"));
    Ok(types.chain(fields).collect())
}

/// Cases that fail, or that one of the two passes and the other does not.
fn verdicts(matrix: &Matrix, cases: &[Case], version: &str) -> Vec<String> {
    let differs = |case: &Case| {
        let known = matrix.cell(case.name, imitated_version()).map_or("", Cell::word);
        let cell = matrix.cell(case.name, version)?;
        let why = match cell {
            // Only the comparison can differ, and it is reported separately.
            Cell::Pass | Cell::Differs(_) => "",
            Cell::Lacks(why) | Cell::Fail(why) => why,
        };
        // A case that fails with both says nothing about the new version, so it cannot count as "nothing new".
        (cell.word() != known || matches!(cell, Cell::Fail(_)))
            .then(|| format!("{}: {known} became {}: {why}", case.name, cell.word()))
    };
    cases.iter().filter_map(differs).collect()
}

/// Different events by kind, with the first of each.
fn events(heard: &Heard, cases: &[Case], version: &str) -> Vec<String> {
    let mut kinds: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for case in cases {
        let of = |version: &str| heard.get(&(case.name, version.to_owned()));
        let (Some(known), Some(new)) = (of(imitated_version()), of(version)) else { continue };
        for (known, new) in known.iter().zip(new) {
            // A tape that cannot be read was reported before.
            for difference in between(known, new).unwrap_or_default() {
                let field = difference.field.as_deref().unwrap_or_default();
                let kind = format!("{} {} {field}", difference.kind.name(), difference.event);
                let (times, _) = kinds.entry(kind.trim_end().to_owned()).or_insert_with(|| {
                    let first: String = difference.to_string().chars().take(WIDTH).collect();
                    (0, format!("{}: {first}", case.name))
                });
                *times += 1;
            }
        }
    }
    let line = |(kind, (times, first)): (String, (usize, String))| {
        format!("{kind} ({times} times), first in {}", first.replace('\n', " "))
    };
    kinds.into_iter().map(line).collect()
}
