//! [`Player`]: the agent on a tape.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

use duologue_protocol::Line;

use crate::entry::{Entry, Event, Exit, Header};
use crate::error::{ReadError, Torn};
use crate::reader::Reader;
use crate::recorder::Stream;
use crate::redact::REDACTED;

use super::ids::Ids;
use super::meaning::{Match, Meaning};
use super::mismatch::Mismatch;

/// How many lines of the host are read ahead: a line may come this many lines early.
const AHEAD: usize = 1024;

/// The same in bytes.
const AHEAD_BYTES: usize = 16 * 1024 * 1024;

/// What the agent on the tape does next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step {
    /// It writes a line, after this delay.
    Say(Duration, Stream, Line),
    /// It waits for the host.
    Wait(Wait),
    /// It ends.
    End(Exit),
}

/// What the agent waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// A line, for example this one.
    Line(String),
    /// A signal.
    Signal(String),
    /// The end of the host's lines.
    Close,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Signal(name) => write!(f, "the signal {name}"),
            Self::Close => f.write_str("the end of its lines"),
        }
    }
}

/// A recorded action of the host.
#[derive(Debug)]
struct Expected {
    file_line: u64,
    /// Its time on the tape.
    millis: Option<u64>,
    /// Its length in bytes.
    length: usize,
    what: What,
    met: bool,
}

#[derive(Debug)]
enum What {
    Line(Meaning),
    Signal(String),
}

/// The agent on a tape. See [the module](super).
///
/// [`next_step`](Self::next_step) returns what it does; where it waits, report what the host does with
/// the `handle_*` methods. It holds one line of the agent at a time, and of the host the next
/// 1024 lines or 16 MiB. A line that comes earlier than that is a mismatch.
#[derive(Debug)]
pub struct Player<R: Read> {
    reader: Reader<R>,
    /// The same tape, read ahead for the host's actions.
    scout: Option<Reader<R>>,
    how: Match,
    /// The tape is redacted.
    redacted: bool,
    lenient: bool,
    /// Recorded actions of the host, in order, without those that have happened.
    expected: VecDeque<Expected>,
    /// Their size in bytes.
    held: usize,
    /// How many of those the tape has passed.
    passed: usize,
    /// The next entry, if it was read.
    ahead: Option<Entry>,
    ids: Ids,
    signals: BTreeSet<String>,
    closed: bool,
    /// The end of the host's lines on the tape was reached.
    should_close: bool,
    /// Its time on the tape.
    closed_at: Option<u64>,
    exit: Option<Exit>,
    /// The time on the tape.
    millis: u64,
}

impl<R: Read> Player<R> {
    /// Creates a player of the tape that `open` opens. It is opened twice, or three times if it has many lines of the host.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn new(open: impl Fn() -> io::Result<R>, how: Match) -> Result<Self, ReadError> {
        let mut player = Self {
            reader: Reader::new(open()?),
            scout: Some(Reader::new(open()?)),
            how,
            redacted: false,
            lenient: false,
            expected: VecDeque::new(),
            held: 0,
            passed: 0,
            ahead: None,
            ids: Ids::default(),
            signals: BTreeSet::new(),
            closed: false,
            should_close: false,
            closed_at: None,
            exit: None,
            millis: 0,
        };
        let header = player.reader.header()?;
        player.redacted = header.is_some_and(|header| header.extra.contains_key(REDACTED));
        player.look_ahead()?;
        // All of them must be known before the first line comes. Usually the tape was read to its end.
        if player.scout.is_some() {
            let mut notes = Reader::new(open()?);
            while let Some(entry) = notes.next_of_process()? {
                if let Event::Note(note) = entry.event {
                    player.signals.extend(note.strip_prefix("signal ").map(str::to_owned));
                }
            }
        }
        Ok(player)
    }

    fn has_room(&self) -> bool {
        self.expected.len() < AHEAD && self.held < AHEAD_BYTES
    }

    /// Reads ahead up to the limit, and drops actions that have happened.
    fn look_ahead(&mut self) -> Result<(), ReadError> {
        while self.passed > 0 && self.expected.front().is_some_and(|expected| expected.met) {
            let gone = self.expected.pop_front();
            self.held -= gone.map_or(0, |gone| gone.length);
            self.passed -= 1;
        }
        while self.has_room()
            && let Some(scout) = &mut self.scout
        {
            let Some(entry) = scout.next_of_host()? else {
                self.scout = None;
                break;
            };
            let (what, length) = match entry.event {
                Event::ToAgent(line) => match Meaning::of(&line) {
                    Meaning::Idle => continue,
                    meaning => (What::Line(meaning), line.raw().len()),
                },
                Event::Note(note) => match note.strip_prefix("signal ") {
                    Some(signal) => {
                        self.signals.insert(signal.to_owned());
                        (What::Signal(signal.to_owned()), 0)
                    }
                    None => continue,
                },
                _ => continue,
            };
            self.held += length;
            // Nothing is expected from a host that is gone and was gone on the tape.
            let met = self.lenient && self.closed;
            let (file_line, millis) = (entry.file_line, entry.millis);
            let expected = Expected { file_line, millis, length, what, met };
            self.expected.push_back(expected);
        }
        Ok(())
    }

    /// Continues after a mismatch: a line with another meaning is taken for the expected one,
    /// or skipped.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// The tape's header.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn header(&mut self) -> Result<Option<&Header>, ReadError> {
        self.reader.header()
    }

    /// The last line of the tape, if it was cut off: see [`Reader::torn`]. Known at the end.
    pub fn torn(&self) -> Option<&Torn> {
        self.reader.torn()
    }

    /// Takes the arguments of the host, and maps the session ids in them.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn handle_arguments(&mut self, live: &[String]) -> Result<(), ReadError> {
        let then = self.reader.header()?.map(|header| header.argv.clone()).unwrap_or_default();
        for flag in ["--session-id", "--resume", "-r"] {
            if let (Some(then), Some(now)) = (argument(&then, flag), argument(live, flag)) {
                self.ids.uuid(then, now);
            }
        }
        Ok(())
    }

    /// What the agent does next.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn next_step(&mut self) -> Result<Step, ReadError> {
        loop {
            if let Some(exit) = self.exit {
                let wait = self.should_close && !self.closed;
                return Ok(if wait { Step::Wait(Wait::Close) } else { Step::End(exit) });
            }
            let entry = match self.ahead.take() {
                Some(entry) => entry,
                None => match self.reader.next_entry()? {
                    Some(entry) => entry,
                    None => {
                        // It was cut off, or is a capture: how it ended is unknown.
                        self.exit = Some(Exit::with_code(0));
                        continue;
                    }
                },
            };
            let (stream, line) = match entry.event {
                Event::ToAgent(_) | Event::Note(_) => {
                    self.look_ahead()?;
                    // It must not pass the host's actions that were read ahead.
                    if self.passed == self.expected.len()
                        && self.scout.is_some()
                        && let Some(wait) = self.waits()
                    {
                        self.ahead = Some(entry);
                        return Ok(Step::Wait(wait));
                    }
                    self.pass(&entry);
                    continue;
                }
                Event::Exit(exit) => {
                    // It is killed by a signal that it waits for, so it ends with it.
                    match self.waits() {
                        Some(wait) => {
                            self.ahead = Some(entry);
                            return Ok(Step::Wait(wait));
                        }
                        None => self.exit = Some(exit),
                    }
                    continue;
                }
                Event::ToHost(ref line) => (Stream::ToHost, line),
                Event::Stderr(ref line) => (Stream::Stderr, line),
                Event::TooLong(_) | Event::Unknown(_) => continue,
            };
            if let Some(wait) = self.waits() {
                self.ahead = Some(entry);
                return Ok(Step::Wait(wait));
            }
            let pause = self.pause(entry.millis);
            return Ok(Step::Say(pause, stream, self.ids.renamed(line.clone())));
        }
    }

    /// The recorded time up to here.
    fn pause(&mut self, millis: Option<u64>) -> Duration {
        let before = self.millis;
        self.millis = millis.unwrap_or(before);
        Duration::from_millis(self.millis.saturating_sub(before))
    }

    /// The tape reaches an action of the host.
    fn pass(&mut self, entry: &Entry) {
        self.pause(entry.millis);
        if let Event::Note(note) = &entry.event
            && note == "stdin_close"
        {
            self.closed_at = entry.millis;
            self.should_close = true;
        }
        let next = self.expected.get(self.passed).map(|expected| expected.file_line);
        if next == Some(entry.file_line) {
            self.passed += 1;
        }
    }

    /// What must happen before the tape continues.
    fn waits(&self) -> Option<Wait> {
        let open = self.expected.iter().take(self.passed).find(|expected| !expected.met)?;
        Some(match &open.what {
            What::Line(meaning) => Wait::Line(meaning.name()),
            What::Signal(name) => Wait::Signal(name.clone()),
        })
    }

    /// The host has written a line.
    ///
    /// # Errors
    /// If it is not on the tape.
    pub fn handle_line(&mut self, line: &Line) -> Result<(), Mismatch> {
        let got = Meaning::of(line);
        if got == Meaning::Idle {
            return Ok(());
        }
        let (ids, how, redacted) = (&self.ids, self.how, self.redacted);
        let mut open = self.expected.iter().enumerate().filter(|(_, expected)| !expected.met);
        let found = open.find(|(_, expected)| match &expected.what {
            What::Line(meaning) => {
                got.is(meaning, how, redacted, |tape, live| ids.same_request(tape, live))
            }
            What::Signal(_) => false,
        });
        if let Some((position, _)) = found {
            self.meet(position, &got);
            return Ok(());
        }
        let kin = self.kin(&got);
        let position = kin.or_else(|| self.first_open());
        let expected = position.and_then(|position| self.expected.get(position));
        let expected = expected.and_then(|expected| match &expected.what {
            What::Line(meaning) => Some((expected.file_line, meaning)),
            What::Signal(_) => None,
        });
        let mismatch = Mismatch::of(expected, Some(&got));
        if self.lenient
            && let Some(position) = kin
        {
            self.meet(position, &got);
        }
        Err(mismatch)
    }

    /// The first line that it could match.
    fn kin(&self, got: &Meaning) -> Option<usize> {
        let same = |tape: &str, live: &str| self.ids.same_request(tape, live);
        self.expected.iter().position(|expected| match &expected.what {
            What::Line(meaning) => !expected.met && got.is_kin(meaning, same),
            What::Signal(_) => false,
        })
    }

    fn first_open(&self) -> Option<usize> {
        self.expected.iter().position(|expected| !expected.met)
    }

    fn meet(&mut self, position: usize, got: &Meaning) {
        let Some(expected) = self.expected.get_mut(position) else { return };
        expected.met = true;
        let What::Line(meaning) = &expected.what else { return };
        match (meaning, got) {
            (
                Meaning::Request { id, subtype, body },
                Meaning::Request { id: live, body: new, .. },
            ) => {
                self.ids.request(id, live);
                if subtype == "initialize" {
                    self.ids.callbacks(body, new);
                }
            }
            (
                Meaning::Prompt { uuid: Some(uuid), .. },
                Meaning::Prompt { uuid: Some(live), .. },
            ) => {
                self.ids.uuid(uuid, live);
            }
            _ => {}
        }
    }

    /// The host writes no more.
    ///
    /// # Errors
    /// If the host wrote more on the tape.
    pub fn handle_end(&mut self) -> Result<(), Mismatch> {
        self.closed = true;
        let open = self.expected.iter().find_map(|expected| match &expected.what {
            What::Line(meaning) if !expected.met => Some((expected.file_line, meaning)),
            What::Line(_) | What::Signal(_) => None,
        });
        let Some(open) = open else { return Ok(()) };
        let mismatch = Mismatch::of(Some(open), None);
        if self.lenient {
            // Nothing more will come.
            self.expected.iter_mut().for_each(|expected| expected.met = true);
        }
        Err(mismatch)
    }

    /// The host is gone: neither a line nor a signal will come any more. Call this when the host's lines have
    /// ended and the agent still waits, for a signal that does not come.
    ///
    /// # Errors
    /// If the agent waits for something.
    pub fn handle_gone(&mut self) -> Result<(), Mismatch> {
        self.closed = true;
        let Some(position) = self.first_open() else { return Ok(()) };
        let mismatch = match self.expected.get(position) {
            Some(Expected { file_line, what: What::Line(meaning), .. }) => {
                Mismatch::of(Some((*file_line, meaning)), None)
            }
            Some(Expected { file_line, what: What::Signal(name), .. }) => {
                Mismatch::of_signal(*file_line, name)
            }
            None => return Ok(()),
        };
        if self.lenient {
            self.expected.iter_mut().for_each(|expected| expected.met = true);
        }
        Err(mismatch)
    }

    /// The recorded time from the end of the host's lines to the awaited signal; zero if it came
    /// before. A host may close the agent's stdin, wait a while, and then send a signal.
    pub fn signal_delay(&self) -> Duration {
        let open = self.first_open().and_then(|position| self.expected.get(position));
        match (open.map(|open| (&open.what, open.millis)), self.closed_at) {
            (Some((What::Signal(_), Some(signal))), Some(close)) => {
                Duration::from_millis(signal.saturating_sub(close))
            }
            _ => Duration::ZERO,
        }
    }

    /// The signals that the host sent on the tape: `SIGINT`.
    pub fn signals(&self) -> impl Iterator<Item = &str> {
        self.signals.iter().map(String::as_str)
    }

    /// A signal was received. Returns whether it was expected; if not, handle it as usual.
    pub fn handle_signal(&mut self, name: &str) -> bool {
        let open = self.expected.iter_mut().find(|expected| {
            !expected.met && matches!(&expected.what, What::Signal(wanted) if wanted == name)
        });
        match open {
            Some(expected) => {
                expected.met = true;
                true
            }
            None => false,
        }
    }
}

/// The value of a flag: `--flag value` or `--flag=value`.
fn argument<'a>(argv: &'a [String], flag: &str) -> Option<&'a str> {
    let mut words = argv.iter();
    while let Some(word) = words.next() {
        if word == flag {
            return words.next().map(String::as_str);
        }
        if let Some(value) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
            return Some(value);
        }
    }
    None
}
