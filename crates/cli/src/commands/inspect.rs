//! `duologue inspect`.

mod json;

use std::io::{self, Read};
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
    /// The file is a tape, and this is its header.
    fn header(&mut self, header: &Header) -> anyhow::Result<()>;
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
    let input = Input::open(&args.file)?;
    let mut printer: Box<dyn Printer> = Box::new(json::Json::new(args.deltas));
    show(input, &args.file, args.direction.into(), printer.as_mut())?;
    Ok(exit::OK)
}

fn show(
    input: impl Read,
    path: &Path,
    direction: Direction,
    printer: &mut dyn Printer,
) -> anyhow::Result<()> {
    let context = || format!("could not read {}", path.display());
    let mut reader = Reader::new(input).direction(direction);
    if let Some(header) = reader.header().with_context(context)? {
        printer.header(header)?;
    }
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

/// An output that is written piece by piece.
type Output = io::BufWriter<io::Stdout>;
