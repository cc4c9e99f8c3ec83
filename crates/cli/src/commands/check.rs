//! `duologue check`.

mod human;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use duologue_tape::Reader;
use duologue_tape::check::{Report, check};
use duologue_terminal::print;
use serde_json::{Value, json};

use crate::args::Check;
use crate::input::Input;
use crate::{exit, is_read};

pub(crate) fn run(args: &Check) -> anyhow::Result<u8> {
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    let mut reports = Vec::new();
    let mut unreadable = Vec::new();
    for file in files {
        match read(file, args) {
            Ok(report) => {
                if !args.json {
                    is_read(human::print(file, &report, args.strict))?;
                }
                reports.push((file, report));
            }
            // The other files are still checked.
            Err(error) => {
                crate::report(&error);
                unreadable.push((file, error));
            }
        }
    }
    let understood = reports.iter().all(|(_, report)| report.is_understood(args.strict));
    if args.json {
        let mut files: Vec<Value> = Vec::new();
        for (path, report) in &reports {
            let mut file = report.to_json(args.strict);
            file["path"] = path.to_string_lossy().into();
            files.push(file);
        }
        files.extend(unreadable.iter().map(|(path, error)| {
            json!({ "path": path.to_string_lossy(), "understood": false, "error": format!("{error:#}") })
        }));
        let understood = understood && unreadable.is_empty();
        let all = json!({ "understood": understood, "strict": args.strict, "files": files });
        is_read(writeln!(print::data(), "{all}").map_err(Into::into))?;
    }
    Ok(match (unreadable.is_empty(), understood) {
        (false, _) => exit::UNREADABLE,
        (true, true) => exit::OK,
        (true, false) => exit::NOT_UNDERSTOOD,
    })
}

fn read(path: &Path, args: &Check) -> anyhow::Result<Report> {
    let mut reader = Reader::new(Input::open(path)?).direction(args.direction.into());
    if let Some(bytes) = args.max_line {
        reader = reader.max_line(bytes);
    }
    check(&mut reader).with_context(|| format!("could not read {}", path.display()))
}
