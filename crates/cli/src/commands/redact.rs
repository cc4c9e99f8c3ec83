//! `duologue redact`.

use std::io::{Read, Write};

use anyhow::Context as _;
use duologue_tape::redact::{Counts, Redactor};
use duologue_tape::{Reader, TapeFile, Writer};

use crate::args::Redact;
use crate::exit;
use crate::input::Input;
use crate::print;
use crate::visible::{Foreign, Shown, line, shown};

pub(crate) fn run(args: &Redact) -> anyhow::Result<u8> {
    let context = || format!("could not read {}", args.tape.display());
    if let Some(output) = &args.output {
        let [tape, output] = [&args.tape, output].map(|path| path.canonicalize().ok());
        // If it could not be written to its end, there would be neither.
        anyhow::ensure!(tape.is_none() || tape != output, "name another tape for what is written");
    }
    let mut reader = Reader::new(Input::open(&args.tape)?);
    anyhow::ensure!(
        reader.header().with_context(context)?.is_some(),
        "{} is no tape: `duologue record` makes one",
        args.tape.display()
    );
    let mut redactor = redactor(&args.paths);
    // A name may stand on the tape before what tells that it is one, and a secret be streamed in pieces. A
    // stream is read only once.
    if args.tape.is_file() {
        let mut ahead = Reader::new(Input::open(&args.tape)?);
        let header = ahead.header()?.context("this is no tape")?;
        let _ = redactor.header(header);
        while let Some(entry) = ahead.next_entry().context("could not read the tape")? {
            redactor.look_ahead(entry.event);
        }
        redactor = redactor.again();
    }
    match &args.output {
        Some(path) => {
            let file = TapeFile::create(path)
                .with_context(|| format!("could not create {}", path.display()))?;
            copy(&mut reader, &mut redactor, file)?.finish()?;
        }
        None => {
            let _ = copy(&mut reader, &mut redactor, print::data())?;
        }
    }
    if let Some(torn) = reader.torn() {
        print::err(&shown!("line {} of the tape was cut off, and is left out", torn.line));
    }
    print::err(&shown!("replaced {}", line(Foreign::of(redactor.counts()))));
    if let Some(warning) = nothing_chosen(&args.paths, redactor.counts()) {
        print::err(&warning);
    }
    Ok(exit::OK)
}

/// Said if nothing stands at any of the paths: it might be a typo.
pub(crate) fn nothing_chosen(paths: &[String], counts: &Counts) -> Option<Shown> {
    let is_chosen = counts.iter().any(|(kind, _)| kind == Counts::CHOSEN);
    let none = !paths.is_empty() && !is_chosen;
    none.then(|| {
        let paths = line(paths.join(" or "));
        shown!("nothing stands at {}: is it spelt so on the tape?", paths)
    })
}

/// One with the usual rules, what this environment tells, and these paths.
pub(crate) fn redactor(paths: &[String]) -> Redactor {
    let text = |word: std::ffi::OsString| word.into_string().ok();
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let redactor = Redactor::new().environment(environment);
    paths.iter().fold(redactor, |redactor, path| redactor.path(path))
}

fn copy<R: Read, W: Write>(
    reader: &mut Reader<R>,
    redactor: &mut Redactor,
    output: W,
) -> anyhow::Result<W> {
    let header = reader.header()?.context("this is no tape")?;
    let mut writer = Writer::new(output, &redactor.header(header))?;
    while let Some(entry) = reader.next_entry().context("could not read the tape")? {
        writer.event(entry.millis, &redactor.event(entry.event))?;
    }
    Ok(writer.finish()?)
}
