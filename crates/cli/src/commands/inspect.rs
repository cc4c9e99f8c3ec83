//! `duologue inspect`.

mod follow;
mod html;
mod json;
mod prompt;
mod spool;
mod summary;
mod timeline;

use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use duologue_protocol::Direction;
use duologue_protocol::transcript::{
    Event as Happened, MalformedLineEvent, ProcessEvent, StderrEvent, Transcript,
};
use duologue_sessions::StoredSession;
use duologue_tape::{Entry, Event, Header, Reader};
use duologue_terminal::summary::located;
use duologue_terminal::{Shown, line, ours, print, shown};

use crate::args::Inspect;
use crate::exit;
use crate::input::Input;
use crate::stored;

use prompt::TextPrompt;

/// A format of the report. Receives events in order.
trait Printer {
    /// The file, its header if it is a tape, and the prompt if it is on the command line.
    fn begin(
        &mut self,
        path: &Path,
        header: Option<&Header>,
        prompt: Option<&str>,
    ) -> anyhow::Result<()>;
    /// The next event.
    fn event(&mut self, at: &Moment, event: Happened) -> anyhow::Result<()>;
    /// Whether it shows the timestamps of lines.
    fn shows_timestamps(&self) -> bool {
        false
    }
    /// The end.
    fn finish(&mut self) -> anyhow::Result<()>;
}

/// The time of an event.
#[derive(Clone, Debug, Default)]
struct Moment {
    /// Milliseconds since the start of the tape.
    millis: Option<u64>,
    /// The timestamp of the line, in a file without times.
    timestamp: Option<String>,
}

pub(crate) fn run(args: &Inspect) -> anyhow::Result<u8> {
    let live = args.follow || args.file == Path::new("-");
    let mut printer: Box<dyn Printer> = match &args.html {
        Some(path) => Box::new(html::Html::new(path, &args.file, args.force)?),
        None if args.json => Box::new(json::Json::new(args.deltas, live)),
        None => Box::new(timeline::Timeline::new(args.deltas, args.full)),
    };
    if args.follow && args.file != Path::new("-") {
        let mut input = follow::Follow::open(&args.file)?;
        loop {
            show(&mut input, args, printer.as_mut())?;
            let anew = ProcessEvent::new().text("the file was replaced; reading from its start");
            printer.event(&Moment::default(), anew.into())?;
            input = input.reopen()?;
        }
    }
    let name = if live { ours("stdin") } else { line(args.file.as_path()) };
    print_all(Input::open(&args.file)?, args, printer, name)
}

/// Shows a stored session.
///
/// # Errors
/// If the session cannot be read, or the page cannot be written.
pub(crate) fn run_stored(session: &StoredSession, args: &Inspect) -> anyhow::Result<u8> {
    let printer: Box<dyn Printer> = match &args.html {
        Some(path) => Box::new(html::Html::new(path, &args.file, args.force)?),
        None => Box::new(timeline::Timeline::new(args.deltas, args.full)),
    };
    print_all(stored::tape(session)?, args, printer, line(session.id()))
}

fn print_all(
    input: impl Read,
    args: &Inspect,
    mut printer: Box<dyn Printer>,
    name: Shown,
) -> anyhow::Result<u8> {
    let seen = show(input, args, printer.as_mut())?;
    if seen.entries == 0 {
        print::err(&shown!("{}: there are no lines", name));
        return Ok(exit::NOT_UNDERSTOOD);
    }
    printer.finish()?;
    if seen.malformed == 0 {
        return Ok(exit::OK);
    }
    print::err(&shown!(
        "{}: {} of {} lines are malformed; `duologue check` shows why",
        name,
        seen.malformed,
        seen.entries
    ));
    Ok(exit::NOT_UNDERSTOOD)
}

/// Counts of a file.
#[derive(Default)]
struct Seen {
    entries: u64,
    /// Malformed lines of the agent, or of a plain capture.
    malformed: u64,
}

/// The state of reading a file.
struct Inspection<'p> {
    printer: &'p mut dyn Printer,
    transcript: Transcript,
    prompt: TextPrompt,
    is_tape: bool,
    seen: Seen,
}

fn show(input: impl Read, args: &Inspect, printer: &mut dyn Printer) -> anyhow::Result<Seen> {
    let context = || format!("could not read {}", args.file.display());
    let mut reader = Reader::new(input).direction(args.direction.into());
    if let Some(bytes) = args.max_line {
        reader = reader.max_line(bytes);
    }
    let header = reader.header().with_context(context)?;
    let prompt = TextPrompt::of(header);
    printer.begin(&args.file, header, prompt.on_command_line())?;
    let is_tape = header.is_some();
    let (transcript, seen) = (Transcript::new(), Seen::default());
    let mut inspection = Inspection { printer, transcript, prompt, is_tape, seen };
    let mut last = Moment::default();
    while let Some(entry) = reader.next_entry().with_context(context)? {
        let at = inspection.moment(&entry);
        last.millis = at.millis.or(last.millis);
        inspection.take(&entry, &at)?;
    }
    inspection.transcript.handle_end();
    inspection.drain(&last, None)?;
    inspection.tell_prompt(&last)?;
    if let Some(torn) = reader.torn() {
        inspection.seen.entries += 1;
        let reason = format!("line {} of the tape was cut off while it was written", torn.line);
        inspection.printer.event(&last, MalformedLineEvent::new().reason(reason).into())?;
    }
    Ok(inspection.seen)
}

impl Inspection<'_> {
    fn take(&mut self, entry: &Entry, at: &Moment) -> anyhow::Result<()> {
        match &entry.event {
            Event::ToHost(line) | Event::ToAgent(line) if line.is_blank() => return Ok(()),
            _ => self.seen.entries += 1,
        }
        match &entry.event {
            Event::ToHost(line) => self.transcript.handle_line(Direction::ToHost, line),
            Event::ToAgent(line)
                if self.prompt.is_on_stdin() && line.to_agent().malformed().is_some() =>
            {
                self.prompt.add(line);
                return Ok(());
            }
            Event::ToAgent(line) => self.transcript.handle_line(Direction::ToAgent, line),
            Event::Stderr(line) => {
                let text = String::from_utf8_lossy(line.raw()).into_owned();
                self.printer.event(at, StderrEvent::new().text(text).into())?;
            }
            // It may have been the end of a turn. `drain` counts it as malformed.
            Event::TooLong(too_long) => self.transcript.handle_too_long(too_long),
            Event::Note(note) => {
                self.tell_prompt(at)?;
                self.printer.event(at, ProcessEvent::new().text(note).into())?;
            }
            Event::Exit(exit) => {
                let how = match (exit.code, exit.signal) {
                    (Some(code), _) => format!("exit code {code}"),
                    (None, Some(signal)) => format!("killed by signal {signal}"),
                    (None, None) => "ended".to_owned(),
                };
                self.printer.event(at, ProcessEvent::new().text(how).into())?;
            }
            _ => {}
        }
        self.drain(at, Some(entry.file_line))
    }

    fn drain(&mut self, at: &Moment, line: Option<u64>) -> anyhow::Result<()> {
        while let Some(mut event) = self.transcript.poll_event() {
            if let Happened::MalformedLine(malformed) = &mut event {
                let to_host = malformed.direction != Direction::ToAgent;
                self.seen.malformed += u64::from(to_host || !self.is_tape);
                if let Some(line) = line {
                    malformed.reason = located(line, self.is_tape, &malformed.reason).into();
                }
            }
            self.printer.event(at, event)?;
        }
        Ok(())
    }

    /// The prompt that was written to stdin as text, when it is complete.
    fn tell_prompt(&mut self, at: &Moment) -> anyhow::Result<()> {
        match self.prompt.take() {
            Some(prompt) => self.printer.event(at, prompt.into()),
            None => Ok(()),
        }
    }

    fn moment(&self, entry: &Entry) -> Moment {
        let line = match &entry.event {
            Event::ToHost(line) | Event::ToAgent(line) => Some(line),
            _ => None,
        };
        let timestamp = line
            .filter(|_| entry.millis.is_none() && self.printer.shows_timestamps())
            .and_then(|line| line.as_str())
            .filter(|text| text.contains("\"timestamp\""))
            .and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok())
            .and_then(|line| Some(line.get("timestamp")?.as_str()?.to_owned()));
        Moment { millis: entry.millis, timestamp }
    }
}
