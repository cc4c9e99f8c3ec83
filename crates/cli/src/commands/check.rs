//! `duologue check`.

mod human;
mod json;
mod report;
mod tally;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use duologue_tape::Reader;

use crate::args::Check;
use crate::exit;
use crate::input::Input;
use crate::is_read;

use report::Report;
use tally::Tally;

pub(crate) fn run(args: &Check) -> anyhow::Result<u8> {
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    let mut reports = Vec::new();
    let mut unreadable = Vec::new();
    for file in files {
        match check(file, args) {
            Ok(report) => {
                if !args.json {
                    is_read(human::print(&report, args.strict))?;
                }
                reports.push(report);
            }
            // The others are checked all the same.
            Err(error) => {
                crate::report(&error);
                unreadable.push((file.clone(), error));
            }
        }
    }
    if args.json {
        is_read(json::print(&reports, &unreadable, args.strict))?;
    }
    let understood = reports.iter().all(|report| report.is_understood(args.strict));
    Ok(match (unreadable.is_empty(), understood) {
        (false, _) => exit::UNREADABLE,
        (true, true) => exit::OK,
        (true, false) => exit::NOT_UNDERSTOOD,
    })
}

fn check(path: &Path, args: &Check) -> anyhow::Result<Report> {
    let context = || format!("could not read {}", path.display());
    let mut reader = Reader::new(Input::open(path)?).direction(args.direction.into());
    if let Some(bytes) = args.max_line {
        reader = reader.max_line(bytes);
    }
    let mut tally = Tally::new(path, reader.header().with_context(context)?);
    while let Some(entry) = reader.next_entry().with_context(context)? {
        tally.take(&entry);
    }
    Ok(tally.finish(reader.torn().cloned()))
}
