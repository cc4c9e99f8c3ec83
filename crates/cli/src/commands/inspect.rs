//! `duologue inspect`.

mod follow;
mod html;
mod json;
mod summary;
mod timeline;
mod words;

use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use duologue_protocol::Direction;
use duologue_protocol::transcript::{Event as Happened, Transcript};
use duologue_tape::{Entry, Event, Header, Reader};

use crate::args::Inspect;
use crate::exit;
use crate::input::Input;

/// Something that is shown what happened, in order.
trait Printer {
    /// What is inspected: a file, and its header if it is a tape.
    fn begin(&mut self, path: &Path, header: Option<&Header>) -> anyhow::Result<()>;
    /// Something happened.
    fn event(&mut self, millis: Option<u64>, event: Happened) -> anyhow::Result<()>;
    /// Something was done to the process, in words.
    fn note(&mut self, millis: Option<u64>, note: &str) -> anyhow::Result<()>;
    /// The agent wrote to stderr.
    fn stderr(&mut self, millis: Option<u64>, line: &str) -> anyhow::Result<()>;
    /// There is nothing more.
    fn finish(&mut self) -> anyhow::Result<()>;
}

pub(crate) fn run(args: &Inspect) -> anyhow::Result<u8> {
    let mut printer: Box<dyn Printer> = match &args.html {
        Some(path) => Box::new(html::Html::new(path)),
        None if args.json => Box::new(json::Json::new(args.deltas, args.follow)),
        None => Box::new(timeline::Timeline::new(args.deltas, args.full)),
    };
    if args.follow && args.file != Path::new("-") {
        show(follow::Follow::open(&args.file)?, args, printer.as_mut())?;
    } else {
        show(Input::open(&args.file)?, args, printer.as_mut())?;
    }
    Ok(exit::OK)
}

fn show(input: impl Read, args: &Inspect, printer: &mut dyn Printer) -> anyhow::Result<()> {
    let context = || format!("could not read {}", args.file.display());
    let mut reader = Reader::new(input).direction(args.direction.into());
    printer.begin(&args.file, reader.header().with_context(context)?)?;
    let mut transcript = Transcript::new();
    let mut last = None;
    while let Some(entry) = reader.next_entry().with_context(context)? {
        last = entry.millis.or(last);
        take(&entry, &mut transcript, printer)?;
    }
    transcript.handle_end();
    drain(&mut transcript, last, printer)?;
    if let Some(torn) = reader.torn() {
        printer.note(last, &format!("line {} of the tape was cut off", torn.line))?;
    }
    printer.finish()
}

fn take(
    entry: &Entry,
    transcript: &mut Transcript,
    printer: &mut dyn Printer,
) -> anyhow::Result<()> {
    match &entry.event {
        Event::ToHost(line) => transcript.handle_line(Direction::ToHost, line),
        Event::ToAgent(line) => transcript.handle_line(Direction::ToAgent, line),
        Event::Stderr(line) => {
            printer.stderr(entry.millis, &String::from_utf8_lossy(line.raw()))?;
        }
        Event::TooLong(too_long) => printer.note(entry.millis, &too_long.to_string())?,
        Event::Note(note) => printer.note(entry.millis, note)?,
        Event::Exit(exit) => {
            let how = match (exit.code, exit.signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("killed by signal {signal}"),
                (None, None) => "ended".to_owned(),
            };
            printer.note(entry.millis, &how)?;
        }
        _ => {}
    }
    drain(transcript, entry.millis, printer)
}

fn drain(
    transcript: &mut Transcript,
    millis: Option<u64>,
    printer: &mut dyn Printer,
) -> anyhow::Result<()> {
    while let Some(event) = transcript.poll_event() {
        printer.event(millis, event)?;
    }
    Ok(())
}
