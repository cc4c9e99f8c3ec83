//! `duologue redact`.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context as _;
use duologue_tape::redact::{Counts, Redactor};
use duologue_tape::{Event, Reader, TapeFile, Writer, is_stream};
use duologue_terminal::{Foreign, Shown, line, print, shown};

use crate::args::Redact;
use crate::exit;
use crate::input::Input;
use crate::output_file::{OutputFile, is_same_file};

/// How often a tape is looked at before it is redacted. The second look finds values in streamed text that are
/// known only from a later line.
const LOOKS: usize = 2;

pub(crate) fn run(args: &Redact) -> anyhow::Result<u8> {
    // `-` is stdout, as for the input.
    let output = args.output.as_deref().filter(|output| *output != Path::new("-"));
    if let Some(output) = output {
        // If it could not be written to its end, there would be neither.
        anyhow::ensure!(
            is_stream(output) || !is_same_file(&args.tape, output),
            "{} is the tape that is read; name another file with --output",
            output.display()
        );
        OutputFile::check(output, args.force)?;
    }
    let mut redactor = redactor(&args.paths);
    // A name may stand on the tape before what tells that it is one, and a secret be streamed in pieces. A
    // stream is read only once.
    if args.tape.is_file() {
        for _ in 0..LOOKS {
            redactor = look_ahead(&args.tape, redactor)?;
            if !redactor.wants_another_look() {
                break;
            }
        }
    }
    let mut reader = Reader::new(Input::open(&args.tape)?);
    match output {
        Some(path) => write_file(&mut reader, &mut redactor, path, args.force)?,
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

/// Writes a new file, and removes it again if that fails. With `force`, an old one is replaced only when the new
/// one is whole.
fn write_file<R: Read>(
    reader: &mut Reader<R>,
    redactor: &mut Redactor,
    path: &Path,
    force: bool,
) -> anyhow::Result<()> {
    let could_not = || format!("could not create {}", path.display());
    if is_stream(path) {
        // A device or a pipe: nothing is replaced there.
        let file = TapeFile::create(path).with_context(could_not)?;
        return Ok(copy(reader, redactor, file)?.finish()?);
    }
    let new = if force { beside(path) } else { path.to_owned() };
    let file = TapeFile::create_new(&new).with_context(could_not)?;
    let written = (|| -> anyhow::Result<()> {
        copy(reader, redactor, file)?.finish()?;
        if force {
            fs::rename(&new, path).with_context(could_not)?;
        }
        Ok(())
    })();
    if written.is_err() {
        // What is half written would look like a tape that can be shared.
        let _ = fs::remove_file(&new);
    }
    written
}

/// A name for a file that becomes this one, packed if that is.
fn beside(path: &Path) -> std::path::PathBuf {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("tape");
    path.with_extension(format!("{}.new.{ending}", std::process::id()))
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

/// A tape becomes a tape, a plain capture a plain capture.
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
    anyhow::ensure!(!is_empty, "there is nothing in the tape: `duologue record` makes one");
    output.flush()?;
    Ok(output)
}
