//! `duologue diff`.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use duologue_tape::Reader;
use duologue_tape::diff::shape::{self, Shapes};
use duologue_tape::diff::{self, Summary};
use serde_json::json;

use crate::args::Diff;
use crate::exit;
use crate::input::Input;
use crate::visible::visible;

pub(crate) fn run(args: &Diff) -> anyhow::Result<u8> {
    let same = if args.schema { shapes(args)? } else { events(args)? };
    Ok(if same { exit::OK } else { exit::DIFFERENT })
}

fn reader(path: &Path) -> anyhow::Result<Reader<Input>> {
    Ok(Reader::new(Input::open(path)?))
}

fn events(args: &Diff) -> anyhow::Result<bool> {
    let read = |path: &Path| {
        let summary = Summary::read(&mut reader(path)?);
        summary.with_context(|| format!("could not read {}", path.display()))
    };
    let differences = diff::compare(&read(&args.a)?, &read(&args.b)?);
    let mut out = io::stdout().lock();
    if args.json {
        let list: Vec<_> = differences.iter().map(diff::Difference::to_json).collect();
        writeln!(out, "{}", json!({ "equal": list.is_empty(), "differences": list }))?;
    } else {
        for difference in &differences {
            writeln!(out, "{}", visible(&difference.to_string()))?;
        }
    }
    Ok(differences.is_empty())
}

fn shapes(args: &Diff) -> anyhow::Result<bool> {
    let read = |path: &Path| {
        let shapes = Shapes::read(&mut reader(path)?);
        shapes.with_context(|| format!("could not read {}", path.display()))
    };
    let differences = shape::compare(&read(&args.a)?, &read(&args.b)?);
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", differences.to_json())?;
        return Ok(differences.is_empty());
    }
    for kind in &differences.removed_types {
        writeln!(out, "- type {}", visible(kind))?;
    }
    for kind in &differences.added_types {
        writeln!(out, "+ type {}", visible(kind))?;
    }
    for (kind, path) in &differences.removed_fields {
        writeln!(out, "- field {} of {}", visible(path), visible(kind))?;
    }
    for (kind, path) in &differences.added_fields {
        writeln!(out, "+ field {} of {}", visible(path), visible(kind))?;
    }
    Ok(differences.is_empty())
}
