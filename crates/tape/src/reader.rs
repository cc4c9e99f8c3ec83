//! [`Reader`]: a tape or a plain capture, entry by entry.

use std::collections::VecDeque;
use std::io::{self, Read};

use duologue_protocol::{
    DEFAULT_MAX_LINE, Direction, Found, Frame, Line, LineDecoder, Position, TooLong,
};

use crate::FORMAT_VERSION;
use crate::entry::{Entry, Event, Header, is_of_a_stream, is_to_host, read_event, read_plain};
use crate::error::{ReadError, Torn};
use crate::unpack::Unpack;

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// A tape holds lines as JSON strings, which are longer, but rarely twice as long. A line is held several times while it is
/// read: this bounds the memory that a small compressed file can take.
const MAX_FILE_LINE: usize = 2 * DEFAULT_MAX_LINE;

/// A larger buffer is not kept for the next entry.
const KEPT: usize = 1024 * 1024;

/// Reads a tape, or a plain capture of one direction, as a stream.
///
/// A file whose first line is an object with the key `tape` is a tape; any other file is plain
/// NDJSON of one direction, to the host unless [`direction`](Self::direction) says otherwise. Either may
/// be compressed with zstd. This is detected by its first bytes, not by its name.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: Unpack<R>,
    decoder: LineDecoder,
    chunk: Box<[u8]>,
    /// The part of the chunk that has not been split into lines yet.
    unread: std::ops::Range<usize>,
    kind: Kind,
    direction: Direction,
    ended: bool,
    bytes_read: u64,
    /// The number of the line that was read last.
    last_line: u64,
    torn: Option<Torn>,
    /// Lines that were read ahead.
    waiting: VecDeque<Frame>,
    /// The buffer for the text of an entry.
    text: Vec<u8>,
}

#[derive(Debug)]
enum Kind {
    Undecided,
    Tape(Box<Header>),
    Plain,
}

impl<R: Read> Reader<R> {
    /// Reads from any source. It need not be buffered.
    pub fn new(input: R) -> Self {
        Self {
            input: Unpack::new(input),
            decoder: LineDecoder::new().max_line(MAX_FILE_LINE),
            chunk: vec![0; CHUNK].into(),
            unread: 0..0,
            kind: Kind::Undecided,
            direction: Direction::ToHost,
            ended: false,
            bytes_read: 0,
            last_line: 1,
            torn: None,
            waiting: VecDeque::new(),
            text: Vec::new(),
        }
    }

    /// Sets the direction of a plain capture.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Sets the longest line of the file, in bytes. The default is 128 MiB. A longer line becomes an [`Event::TooLong`], and
    /// reading continues.
    #[must_use]
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.decoder = LineDecoder::new().max_line(bytes);
        self
    }

    /// The header, if this is a tape. Reads the first line if necessary.
    ///
    /// # Errors
    /// If the input cannot be read, or the tape is newer than this version.
    pub fn header(&mut self) -> Result<Option<&Header>, ReadError> {
        self.decide()?;
        match &self.kind {
            Kind::Tape(header) => Ok(Some(header)),
            Kind::Undecided | Kind::Plain => Ok(None),
        }
    }

    /// The next entry, or `None` at the end.
    ///
    /// # Errors
    /// If the input cannot be read, the tape is newer than this version, or a line is not an entry. A last line that was
    /// cut off is not an error: see [`torn`](Self::torn).
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        self.next_but(|_| false)
    }

    /// The next entry that is not a line of the agent's stdout. Those are skipped without decoding them.
    pub(crate) fn next_of_host(&mut self) -> Result<Option<Entry>, ReadError> {
        self.next_but(is_to_host)
    }

    /// The next entry that is not a line of the wire.
    pub(crate) fn next_of_process(&mut self) -> Result<Option<Entry>, ReadError> {
        self.next_but(is_of_a_stream)
    }

    /// The next entry. Lines of a tape for which `skip` returns true are left out.
    fn next_but(&mut self, skip: impl Fn(&[u8]) -> bool) -> Result<Option<Entry>, ReadError> {
        self.decide()?;
        if matches!(self.kind, Kind::Undecided | Kind::Plain) {
            let frame = self.next_frame()?;
            if frame.is_none() {
                self.end();
            }
            return Ok(frame.map(|frame| self.plain_entry(frame)));
        }
        loop {
            let Some(frame) = self.within(&skip)? else { continue };
            match frame {
                Within::Entry(entry) => return Ok(Some(entry)),
                Within::Frame(Frame::Line(line)) if skip(line.raw()) => {}
                Within::Frame(frame) => return self.tape_entry(frame),
                Within::End => {
                    self.end();
                    return Ok(None);
                }
            }
        }
    }

    fn end(&mut self) {
        if self.input.cut && self.torn.is_none() {
            self.torn = Some(Torn { line: self.last_line + 1, length: 0 });
        }
    }

    /// Looks at the next line of a tape where it lies. `None` if there is none: more was read.
    fn within(&mut self, skip: impl Fn(&[u8]) -> bool) -> Result<Option<Within>, ReadError> {
        let mut rest = self.chunk.get(self.unread.clone()).unwrap_or_default();
        while let Some(found) = self.decoder.next_in(&mut rest) {
            self.unread.start = self.unread.end - rest.len();
            let (bytes, position) = match found {
                Found::Frame(frame) => return Ok(Some(Within::Frame(frame))),
                Found::Within(bytes, _) if skip(bytes) => continue,
                Found::Within(bytes, position) => (bytes, position),
            };
            self.last_line = position.number;
            let (millis, event) = match read_plain(bytes, &mut self.text) {
                Some(read) => read,
                None => read_event(&Line::from(bytes))
                    .map_err(|reason| ReadError::BadEntry { line: position.number, reason })?,
            };
            if self.text.len() > KEPT {
                self.text = Vec::new();
            }
            return Ok(Some(Within::Entry(entry(millis, position, event))));
        }
        self.unread.start = self.unread.end;
        if self.ended {
            return Ok(Some(match self.decoder.finish() {
                Some(frame) => Within::Frame(frame),
                None => Within::End,
            }));
        }
        self.fill()?;
        Ok(None)
    }

    /// The last line of a tape, if it was cut off while it was written, or the line after the last if a
    /// packed tape was cut off there. Known at the end.
    pub fn torn(&self) -> Option<&Torn> {
        self.torn.as_ref()
    }

    /// How many bytes have been read so far, decompressed.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Looks at the first line to see what kind of file this is.
    fn decide(&mut self) -> Result<(), ReadError> {
        if !matches!(self.kind, Kind::Undecided) {
            return Ok(());
        }
        self.kind = Kind::Plain;
        let Some(frame) = self.next_frame()? else { return Ok(()) };
        if let Frame::Line(line) = &frame
            && let Some(header) = Header::read(line.raw())
        {
            if header.format > FORMAT_VERSION {
                return Err(ReadError::TooNew { found: header.format, newest: FORMAT_VERSION });
            }
            self.kind = Kind::Tape(Box::new(header));
            return Ok(());
        }
        self.waiting.push_back(frame);
        Ok(())
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, ReadError> {
        if let Some(frame) = self.waiting.pop_front() {
            return Ok(Some(frame));
        }
        loop {
            let mut rest = self.chunk.get(self.unread.clone()).unwrap_or_default();
            let frame = self.decoder.next(&mut rest);
            self.unread.start = self.unread.end - rest.len();
            if frame.is_some() {
                return Ok(frame);
            }
            if self.ended {
                return Ok(self.decoder.finish());
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let count = self.read()?;
        self.ended = count == 0;
        self.bytes_read += count as u64;
        self.unread = 0..count;
        Ok(())
    }

    fn read(&mut self) -> io::Result<usize> {
        loop {
            match self.input.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn tape_entry(&mut self, frame: Frame) -> Result<Option<Entry>, ReadError> {
        let line = match frame {
            Frame::Line(line) => line,
            Frame::TooLong(too_long) => return Ok(Some(too_long_entry(too_long))),
        };
        let position = line.position();
        self.last_line = position.number;
        match read_event(&line) {
            Ok((millis, event)) => Ok(Some(entry(millis, position, event))),
            // Without a newline it is the last line, and was still being written.
            Err(_) if !line.has_newline() => {
                self.torn = Some(Torn { line: position.number, length: line.raw().len() });
                Ok(None)
            }
            Err(reason) => Err(ReadError::BadEntry { line: position.number, reason }),
        }
    }

    fn plain_entry(&mut self, frame: Frame) -> Entry {
        match frame {
            Frame::Line(line) => {
                self.last_line = line.position().number;
                let event = match self.direction {
                    Direction::ToHost => Event::ToHost(line.clone()),
                    Direction::ToAgent => Event::ToAgent(line.clone()),
                };
                entry(None, line.position(), event)
            }
            Frame::TooLong(too_long) => too_long_entry(too_long),
        }
    }
}

/// What was found on a tape.
enum Within {
    /// An entry.
    Entry(Entry),
    /// A line that did not lie in one piece, or is too long.
    Frame(Frame),
    /// The end.
    End,
}

fn entry(millis: Option<u64>, position: Position, event: Event) -> Entry {
    Entry { millis, file_line: position.number, file_offset: position.offset, event }
}

fn too_long_entry(too_long: TooLong) -> Entry {
    Entry {
        millis: None,
        file_line: too_long.position.number,
        file_offset: too_long.position.offset,
        event: Event::TooLong(too_long),
    }
}
