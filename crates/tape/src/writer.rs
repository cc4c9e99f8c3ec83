//! [`Writer`]: writes a tape, entry by entry.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::Line;
use serde_json::json;
use zstd::stream::write::Encoder;

use crate::entry::{Event, Exit, Header};
use crate::escape;
use crate::recorder::Stream;

/// The compression level: higher ones cost noticeably more time.
const LEVEL: i32 = 3;

/// How much is written at once.
const BUFFER: usize = 1024 * 1024;

/// Writes a tape, entry by entry, to any output. Buffers until [`flush`](Self::flush) or [`finish`](Self::finish).
///
/// ```
/// use duologue_protocol::Line;
/// use duologue_tape::{Event, Header, Reader, Writer};
///
/// let mut writer = Writer::new(Vec::new(), &Header::new("claude", ["--verbose"]))?;
/// writer.event(Some(3), &Event::ToHost(Line::from(r#"{"type":"keep_alive"}"#)))?;
/// let tape = writer.finish()?;
/// assert!(Reader::new(tape.as_slice()).next_entry()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    output: Output<W>,
    /// The beginning of lines with this time and stream, often the same as for the line before.
    start: Vec<u8>,
    starts: Option<(Option<u64>, Stream)>,
}

impl<W: Write> Writer<W> {
    /// Starts a tape with its header.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self { output: Output::new(output), start: Vec::new(), starts: None };
        writer.output.put(header.to_line().as_bytes())?;
        Ok(writer)
    }

    /// Writes an entry: an event and its time, in milliseconds since the start.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn event(&mut self, millis: Option<u64>, event: &Event) -> io::Result<()> {
        match event {
            Event::ToAgent(line) => self.line(millis, Stream::ToAgent, line),
            Event::ToHost(line) => self.line(millis, Stream::ToHost, line),
            Event::Stderr(line) => self.line(millis, Stream::Stderr, line),
            Event::Note(text) => self.note(millis, text),
            Event::TooLong(too_long) => self.note(millis, &too_long.to_string()),
            Event::Exit(exit) => self.exit(millis, *exit),
            Event::Unknown(entry) => {
                self.output.put(entry.raw())?;
                self.output.put(b"\n")
            }
        }
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.hand_on()?;
        self.output.to.flush()
    }

    /// Flushes the buffer and returns the output.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.output.to)
    }

    fn line(&mut self, millis: Option<u64>, stream: Stream, line: &Line) -> io::Result<()> {
        match line.as_str() {
            Some(text) => self.text(millis, stream, text, line.has_newline()),
            None => self.base64(millis, stream, line.raw(), line.has_newline()),
        }
    }

    /// An unchanged line, without its newline.
    pub(crate) fn raw(&mut self, millis: u64, stream: Stream, line: &[u8]) -> io::Result<()> {
        match simdutf8::basic::from_utf8(line) {
            Ok(text) => self.text(Some(millis), stream, text, true),
            Err(_) => self.base64(Some(millis), stream, line, true),
        }
    }

    fn begin(&mut self, millis: Option<u64>) -> io::Result<()> {
        self.output.put(start(millis).as_bytes())
    }

    /// The beginning of a line, up to its text.
    fn begin_line(&mut self, millis: Option<u64>, stream: Stream) -> io::Result<()> {
        if self.starts != Some((millis, stream)) {
            let direction = match stream {
                Stream::ToAgent => "in",
                Stream::ToHost => "out",
                Stream::Stderr => "err",
            };
            self.start = format!("{}\"dir\":\"{direction}\",", start(millis)).into_bytes();
            self.starts = Some((millis, stream));
        }
        self.output.put(&self.start)
    }

    fn text(
        &mut self,
        millis: Option<u64>,
        stream: Stream,
        text: &str,
        newline: bool,
    ) -> io::Result<()> {
        self.begin_line(millis, stream)?;
        self.output.put(b"\"line\":\"")?;
        self.output.escape(text)?;
        self.end_line(newline)
    }

    fn base64(
        &mut self,
        millis: Option<u64>,
        stream: Stream,
        line: &[u8],
        newline: bool,
    ) -> io::Result<()> {
        self.begin_line(millis, stream)?;
        self.output.put(b"\"b64\":\"")?;
        self.output.put(STANDARD.encode(line).as_bytes())?;
        self.end_line(newline)
    }

    fn end_line(&mut self, newline: bool) -> io::Result<()> {
        self.output.put(if newline { b"\"}\n" } else { b"\",\"eol\":false}\n" })
    }

    fn note(&mut self, millis: Option<u64>, text: &str) -> io::Result<()> {
        self.begin(millis)?;
        self.output.put(format!("\"note\":{}}}\n", json!(text)).as_bytes())
    }

    fn exit(&mut self, millis: Option<u64>, exit: Exit) -> io::Result<()> {
        self.begin(millis)?;
        let exit = json!({ "code": exit.code, "signal": exit.signal });
        self.output.put(format!("\"exit\":{exit}}}\n").as_bytes())
    }
}

/// How an entry begins.
fn start(millis: Option<u64>) -> String {
    millis.map_or_else(|| "{".to_owned(), |millis| format!("{{\"t\":{millis},"))
}

/// A write buffer.
struct Output<W> {
    to: W,
    held: Box<[u8]>,
    /// How much of that is taken.
    end: usize,
}

impl<W: Write> Output<W> {
    fn new(to: W) -> Self {
        Self { to, held: vec![0; BUFFER].into(), end: 0 }
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.to.write_all(self.held.get(..self.end).unwrap_or_default())?;
        self.end = 0;
        Ok(())
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let room = self.held.get_mut(self.end..).unwrap_or_default();
            let (taken, rest) = bytes.split_at(room.len().min(bytes.len()));
            if let Some(room) = room.get_mut(..taken.len()) {
                room.copy_from_slice(taken);
            }
            self.end += taken.len();
            if rest.is_empty() {
                return Ok(());
            }
            bytes = rest;
            self.hand_on()?;
        }
    }

    /// A text as the inside of a JSON string.
    fn escape(&mut self, text: &str) -> io::Result<()> {
        for piece in text.as_bytes().chunks(escape::PIECE) {
            if self.held.len() - self.end < escape::ROOM {
                self.hand_on()?;
            }
            let room = self.held.get_mut(self.end..).unwrap_or_default();
            self.end += escape::escape(piece, room);
        }
        Ok(())
    }
}

impl<W> std::fmt::Debug for Output<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("end", &self.end).finish_non_exhaustive()
    }
}

/// The file of a tape, compressed if its name ends in `.zst`. A created file can be read by its owner only.
pub struct TapeFile<W: Write = File>(Inner<W>);

enum Inner<W: Write> {
    Plain(W),
    Compressed(Box<Encoder<'static, W>>),
}

impl TapeFile {
    /// Creates the file. An existing file or link is replaced, not overwritten: hard links and open readers keep the old
    /// content. A device or a pipe is written to.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        if let Some(stream) = open_stream(path)? {
            return Self::new(stream, path);
        }
        if fs::symlink_metadata(path).is_ok_and(|there| there.is_file() || there.is_symlink()) {
            fs::remove_file(path)?;
        }
        Self::create_new(path)
    }

    /// Creates the file, and never replaces an existing one. A device or a pipe is written to.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is a file or a link of that name, and any other
    /// reason why the file cannot be created.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        if let Some(stream) = open_stream(path)? {
            return Self::new(stream, path);
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::new(options.open(path)?, path)
    }
}

impl<W: Write> TapeFile<W> {
    /// Writes to any output, compressed if the path ends in `.zst`.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(output: W, path: &Path) -> io::Result<Self> {
        let is_compressed = path.extension().is_some_and(|extension| extension == "zst");
        Ok(Self(match is_compressed {
            true => Inner::Compressed(Box::new(Encoder::new(output, LEVEL)?)),
            false => Inner::Plain(output),
        }))
    }

    /// Completes the file. Without it, a compressed one reads as cut off. Returns the output.
    ///
    /// # Errors
    /// If the rest cannot be written.
    pub fn finish(self) -> io::Result<W> {
        let mut output = match self.0 {
            Inner::Plain(output) => output,
            Inner::Compressed(encoder) => encoder.finish()?,
        };
        output.flush()?;
        Ok(output)
    }
}

/// Opens a device, a pipe or `/dev/stdout`. `None` for anything else.
fn open_stream(path: &Path) -> io::Result<Option<File>> {
    if !is_stream(path) {
        return Ok(None);
    }
    // Append, since stdout may be a file with content.
    OpenOptions::new().append(true).open(path).map(Some)
}

/// Whether this path is a device or a pipe, so that writing to it replaces nothing. This includes the links in `/dev` and
/// `/proc` to open files: `/dev/stdout`, `/dev/fd/3`.
///
/// ```
/// use duologue_tape::is_stream;
/// # use std::path::Path;
///
/// assert!(is_stream(Path::new("/dev/null")));
/// assert!(!is_stream(Path::new("talk.tape")));
/// ```
pub fn is_stream(path: &Path) -> bool {
    let names_open_file = || {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        folder.is_some_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => false,
        Ok(metadata) if metadata.is_file() => {
            fs::symlink_metadata(path).is_ok_and(|link| link.is_symlink()) && names_open_file()
        }
        Ok(metadata) => !is_disk(&metadata),
        Err(_) => false,
    }
}

/// Whether this is a disk: writing to it would replace its content.
fn is_disk(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&metadata.file_type())
}

impl<W: Write> Write for TapeFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Plain(file) => file.write(bytes),
            Inner::Compressed(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Plain(file) => file.flush(),
            Inner::Compressed(encoder) => encoder.flush(),
        }
    }
}

impl<W: Write> std::fmt::Debug for TapeFile<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TapeFile").finish_non_exhaustive()
    }
}
