//! [`Player`]: the agent that is on a tape.

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

/// How far it looks ahead for what the host did: a line may come so many lines early.
const AHEAD: usize = 1024;

/// The same in bytes.
const AHEAD_BYTES: usize = 16 * 1024 * 1024;

/// What the agent on the tape does next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step {
    /// It writes a line, so long after what came before it.
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
    /// A line, this one for instance.
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

/// Something the host did then.
#[derive(Debug)]
struct Expected {
    file_line: u64,
    /// When it came, on the tape's clock.
    millis: Option<u64>,
    /// How long it was.
    length: usize,
    what: What,
    met: bool,
}

#[derive(Debug)]
enum What {
    Line(Meaning),
    Signal(String),
}

/// The agent that is on a tape. See [the module](super).
///
/// Ask [`next_step`](Self::next_step) what it does; where it waits, tell it what the host does with
/// the `handle_*` methods. It holds one line of the agent at a time, and of the host those that come
/// next: 1024, or 16 MiB. A line that comes still earlier than that is a mismatch.
#[derive(Debug)]
pub struct Player<R: Read> {
    reader: Reader<R>,
    /// The same tape, read ahead for what the host did.
    scout: Option<Reader<R>>,
    how: Match,
    /// Things were replaced on the tape.
    redacted: bool,
    lenient: bool,
    /// What the host did then, in order, without what has come already.
    expected: VecDeque<Expected>,
    /// What is held of it, in bytes.
    held: usize,
    /// How many of those the tape has passed.
    passed: usize,
    /// The entry that comes next, if it was looked at.
    ahead: Option<Entry>,
    ids: Ids,
    signals: BTreeSet<String>,
    closed: bool,
    /// On the tape, the host's lines have ended.
    should_close: bool,
    /// When that was, on the tape's clock.
    closed_at: Option<u64>,
    exit: Option<Exit>,
    /// The time on the tape.
    millis: u64,
}

impl<R: Read> Player<R> {
    /// Plays the tape that `open` opens. It is opened twice, or three times if the host did much on it.
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
        // All of them must be known before the first may come. Mostly the tape was read to its end.
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

    /// Reads ahead as far as there is room, and forgets what has come and is passed.
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
            // From a host that is gone, and need not be there, nothing is waited for.
            let met = self.lenient && self.closed;
            let (file_line, millis) = (entry.file_line, entry.millis);
            let expected = Expected { file_line, millis, length, what, met };
            self.expected.push_back(expected);
        }
        Ok(())
    }

    /// Goes on after a mismatch: a line that means something else is taken for the one that is expected,
    /// or passed over.
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

    /// These arguments are the host's. A session that it names is called so, as it was then.
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
                        // It was cut off, or is a capture: what is not known is how it ended.
                        self.exit = Some(Exit::with_code(0));
                        continue;
                    }
                },
            };
            let (stream, line) = match entry.event {
                Event::ToAgent(_) | Event::Note(_) => {
                    self.look_ahead()?;
                    // It goes no further than what is known of the host.
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
                    // Killed by a signal that it waits for: then it ends by that.
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

    /// How long it took then to get here.
    fn pause(&mut self, millis: Option<u64>) -> Duration {
        let before = self.millis;
        self.millis = millis.unwrap_or(before);
        Duration::from_millis(self.millis.saturating_sub(before))
    }

    /// The tape comes to something that the host did.
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

    /// What must come before the tape goes on.
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
    /// If it wrote no such line then.
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

    /// The first line that this could be.
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
    /// If it wrote more then.
    pub fn handle_end(&mut self) -> Result<(), Mismatch> {
        self.closed = true;
        let open = self.expected.iter().find_map(|expected| match &expected.what {
            What::Line(meaning) if !expected.met => Some((expected.file_line, meaning)),
            What::Line(_) | What::Signal(_) => None,
        });
        let Some(open) = open else { return Ok(()) };
        let mismatch = Mismatch::of(Some(open), None);
        if self.lenient {
            // Nothing will come: then everything has.
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

    /// How long after the end of the host's lines the signal came then that the agent waits for; zero if it came
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

    /// The signals that the host sent then: `SIGINT`.
    pub fn signals(&self) -> impl Iterator<Item = &str> {
        self.signals.iter().map(String::as_str)
    }

    /// A signal has come. Tells whether one was expected; if not, it does what signals do.
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
