//! `duologue diff`.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use duologue_tape::diff::shape::{self, Shapes};
use duologue_tape::diff::{Comparison, Side};
use duologue_tape::{Event, Reader};
use duologue_terminal::{Foreign, block, line, ours, print, shown};

use crate::args::Diff;
use crate::exit;
use crate::input::Input;
use crate::is_read;

pub(crate) fn run(args: &Diff) -> anyhow::Result<u8> {
    let stdin = Path::new("-");
    anyhow::ensure!(args.a != stdin || args.b != stdin, "stdin can be read only once");
    let same = if args.schema { shapes(args)? } else { events(args)? };
    Ok(if same { exit::OK } else { exit::DIFFERENT })
}

fn is_tape(reader: &mut Reader<Input>, path: &Path) -> anyhow::Result<bool> {
    let header = reader.header().with_context(|| format!("could not read {}", path.display()))?;
    Ok(header.is_some())
}

/// A capture has only the lines of the agent, so that only those are compared.
fn is_of_agent(event: &Event) -> bool {
    matches!(event, Event::ToHost(_) | Event::TooLong(_))
}

fn warn_if(one_sided: bool) {
    if one_sided {
        print::err(&ours("one of them is not a tape: comparing only the lines of the agent"));
    }
}

fn events(args: &Diff) -> anyhow::Result<bool> {
    let mut sides = [(Side::A, &args.a), (Side::B, &args.b)].map(|(side, path)| (side, path, None));
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let longest = if size(&args.a) >= size(&args.b) { Side::A } else { Side::B };
    let mut tapes = 0;
    for (side, path, open) in &mut sides {
        // Two progress bars would draw over each other.
        let input = Input::open(path)?;
        let mut reader = Reader::new(if *side == longest { input } else { input.quiet() });
        tapes += usize::from(is_tape(&mut reader, path)?);
        *open = Some(reader);
    }
    let one_sided = tapes == 1;
    warn_if(one_sided);
    let mut report =
        Report { json: args.json, out: print::out(), data: print::data(), equal: true };
    is_read(report.begin().map_err(Into::into))?;
    let mut comparison = Comparison::new();
    let mut is_empty = true;
    // Read both in step, so that few events are unmatched.
    while sides.iter().any(|(_, _, open)| open.is_some()) {
        for (side, path, open) in &mut sides {
            let Some(reader) = open else { continue };
            let entry = reader.next_entry();
            let entry = entry.with_context(|| format!("could not read {}", path.display()))?;
            is_empty &= entry.is_none();
            match entry {
                Some(entry) if one_sided && !is_of_agent(&entry.event) => {}
                Some(entry) => comparison.take(*side, &entry.event),
                None => {
                    comparison.end(*side);
                    *open = None;
                }
            }
        }
        if !report.print(&mut comparison)? {
            return Ok(false);
        }
    }
    comparison.finish();
    report.print(&mut comparison)?;
    let equal = report.end()?;
    anyhow::ensure!(!is_empty, "there is nothing to compare: neither file has a line");
    Ok(equal)
}

/// Prints differences as they are found.
struct Report {
    json: bool,
    out: print::Out,
    data: print::Data,
    equal: bool,
}

impl Report {
    fn begin(&mut self) -> io::Result<()> {
        if self.json { write!(self.data, "{{\"differences\":[") } else { Ok(()) }
    }

    /// Prints the next differences. Returns whether the output is still read.
    fn print(&mut self, comparison: &mut Comparison) -> anyhow::Result<bool> {
        while let Some(difference) = comparison.next_difference() {
            let written = if self.json {
                let comma = if self.equal { "" } else { "," };
                write!(self.data, "{comma}{}", difference.to_json())
            } else {
                self.out.line(&block(Foreign::of(&difference)))
            };
            self.equal = false;
            if !is_read(written.map_err(Into::into))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn end(mut self) -> anyhow::Result<bool> {
        if self.json {
            is_read(writeln!(self.data, "],\"equal\":{}}}", self.equal).map_err(Into::into))?;
        }
        Ok(self.equal)
    }
}

fn shapes(args: &Diff) -> anyhow::Result<bool> {
    let read = |path: &Path| -> anyhow::Result<(bool, Shapes)> {
        let mut reader = Reader::new(Input::open(path)?);
        let is_tape = is_tape(&mut reader, path)?;
        let shapes = Shapes::read(&mut reader);
        Ok((is_tape, shapes.with_context(|| format!("could not read {}", path.display()))?))
    };
    let ((a_is_tape, a), (b_is_tape, b)) = (read(&args.a)?, read(&args.b)?);
    let mut differences = shape::compare(&a, &b);
    if a_is_tape != b_is_tape {
        warn_if(true);
        let of_agent = |kind: &String| kind.ends_with("(to host)");
        differences.removed_types.retain(of_agent);
        differences.added_types.retain(of_agent);
    }
    is_read(print(&differences, args.json).map_err(Into::into))?;
    Ok(differences.is_empty())
}

fn print(differences: &shape::ShapeDifferences, json: bool) -> io::Result<()> {
    if json {
        return writeln!(print::data(), "{}", differences.to_json());
    }
    let mut out = print::out();
    for kind in &differences.removed_types {
        out.line(&shown!("- type {}", line(kind)))?;
    }
    for kind in &differences.added_types {
        out.line(&shown!("+ type {}", line(kind)))?;
    }
    for (kind, path) in &differences.removed_fields {
        out.line(&shown!("- field {} of {}", line(path), line(kind)))?;
    }
    for (kind, path) in &differences.added_fields {
        out.line(&shown!("+ field {} of {}", line(path), line(kind)))?;
    }
    Ok(())
}
