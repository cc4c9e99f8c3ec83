//! `duologue inspect`.

mod follow;
mod html;
mod json;
mod spool;
mod summary;
mod timeline;

use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use duologue_protocol::Direction;
use duologue_protocol::transcript::{
    Event as Happened, MalformedLine, ProcessNoted, StderrWritten, Transcript,
};
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
    /// There is nothing more.
    fn finish(&mut self) -> anyhow::Result<()>;
}

pub(crate) fn run(args: &Inspect) -> anyhow::Result<u8> {
    let live = args.follow || args.file == Path::new("-");
    let mut printer: Box<dyn Printer> = match &args.html {
        Some(path) => Box::new(html::Html::new(path, &args.file)?),
        None if args.json => Box::new(json::Json::new(args.deltas, live)),
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
    if let Some(bytes) = args.max_line {
        reader = reader.max_line(bytes);
    }
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
        let reason = format!("line {} of the tape was cut off while it was written", torn.line);
        printer.event(last, MalformedLine::new().reason(reason).into())?;
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
            let text = String::from_utf8_lossy(line.raw()).into_owned();
            printer.event(entry.millis, StderrWritten::new().text(text).into())?;
        }
        // It may have been the end of a turn.
        Event::TooLong(too_long) => transcript.handle_too_long(too_long),
        Event::Note(note) => {
            printer.event(entry.millis, ProcessNoted::new().text(note).into())?;
        }
        Event::Exit(exit) => {
            let how = match (exit.code, exit.signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("killed by signal {signal}"),
                (None, None) => "ended".to_owned(),
            };
            printer.event(entry.millis, ProcessNoted::new().text(how).into())?;
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
