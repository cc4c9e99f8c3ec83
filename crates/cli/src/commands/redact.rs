//! `duologue redact`.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context as _;
use duologue_tape::redact::{Counts, Redactor};
use duologue_tape::{Event, Reader, TapeFile, Writer, is_stream};
use duologue_terminal::{Foreign, Shown, line, print, shown};

use crate::args::Redact;
use crate::input::Input;
use crate::output_file::{Access, OutputFile, is_same_file};
use crate::{exit, stored};

/// How often a tape is read before it is redacted. The second time finds values in streamed text that are known only from a
/// later line.
const MAX_PASSES: usize = 2;

pub(crate) fn run(args: &Redact) -> anyhow::Result<u8> {
    let path = args.output.as_deref().unwrap_or(Path::new("-"));
    anyhow::ensure!(
        is_stream(path) || !is_same_file(&args.tape, path),
        "{} is the input; name another file with --output",
        path.display()
    );
    let output = OutputFile::check(path, args.force)?;
    let mut redactor = redactor(&args.paths);
    // A value may be on the tape before the line that shows that it is a secret, and a secret may be streamed in
    // pieces. Stdin can be read only once.
    if args.tape.is_file() || stored::named(&args.tape).is_some() {
        for _ in 0..MAX_PASSES {
            redactor = look_ahead(&args.tape, redactor)?;
            if !redactor.wants_another_look() {
                break;
            }
        }
    }
    let mut reader = Reader::new(Input::open(&args.tape)?);
    // It may still hold secrets that were not found.
    let file = TapeFile::new(output.create(Access::Owner)?, path)?;
    copy(&mut reader, &mut redactor, file)?.finish()?.finish()?;
    if let Some(torn) = reader.torn() {
        print::err(&shown!("line {} of the tape was cut off, and is omitted", torn.line));
    }
    print::err(&shown!("replaced {}", line(Foreign::of(redactor.counts()))));
    if let Some(warning) = nothing_chosen(&args.paths, redactor.counts()) {
        print::err(&warning);
    }
    Ok(exit::OK)
}

fn look_ahead(tape: &Path, mut redactor: Redactor) -> anyhow::Result<Redactor> {
    let mut ahead = Reader::new(Input::open(tape)?);
    if let Some(header) = ahead.header().with_context(|| could_not_read(tape))? {
        let _ = redactor.header(header);
    }
    while let Some(entry) = ahead.next_entry().with_context(|| could_not_read(tape))? {
        redactor.look_ahead(entry.event);
    }
    Ok(redactor.again())
}

fn could_not_read(tape: &Path) -> String {
    format!("could not read {}", tape.display())
}

/// The warning if nothing was found at any of the paths: it might be a typo.
pub(crate) fn nothing_chosen(paths: &[String], counts: &Counts) -> Option<Shown> {
    let is_chosen = counts.iter().any(|(kind, _)| kind == Counts::CHOSEN);
    let none = !paths.is_empty() && !is_chosen;
    none.then(|| {
        let paths = line(paths.join(" or "));
        shown!("nothing found at {}: is the path correct?", paths)
    })
}

/// A redactor with the usual rules, the secrets of this environment, and these paths.
pub(crate) fn redactor(paths: &[String]) -> Redactor {
    let text = |word: std::ffi::OsString| word.into_string().ok();
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let redactor = Redactor::new().environment(environment);
    paths.iter().fold(redactor, |redactor, path| redactor.path(path))
}

/// Copies a tape to a tape, a plain capture to a plain capture.
fn copy<R: Read, W: Write>(
    reader: &mut Reader<R>,
    redactor: &mut Redactor,
    output: W,
) -> anyhow::Result<W> {
    const UNREADABLE: &str = "could not read the tape";
    let Some(header) = reader.header().context(UNREADABLE)? else {
        return copy_capture(reader, redactor, output);
    };
    let mut writer = Writer::new(output, &redactor.header(header))?;
    while let Some(entry) = reader.next_entry().context(UNREADABLE)? {
        writer.event(entry.millis, &redactor.event(entry.event))?;
    }
    Ok(writer.finish()?)
}

fn copy_capture<R: Read, W: Write>(
    reader: &mut Reader<R>,
    redactor: &mut Redactor,
    mut output: W,
) -> anyhow::Result<W> {
    let mut is_empty = true;
    while let Some(entry) = reader.next_entry().context("could not read the capture")? {
        is_empty = false;
        match redactor.event(entry.event) {
            Event::ToHost(line) => {
                output.write_all(line.raw())?;
                if line.has_newline() {
                    output.write_all(b"\n")?;
                }
            }
            _ => anyhow::bail!("line {} of the capture is too long", entry.file_line),
        }
    }
    anyhow::ensure!(!is_empty, "the tape is empty; `duologue record` creates one");
    output.flush()?;
    Ok(output)
}
