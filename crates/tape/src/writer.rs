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
use crate::escape::Escaper;
use crate::recorder::Stream;

/// How hard packed tapes are squeezed: as much as is nearly free.
const LEVEL: i32 = 3;

/// How much is written at once.
const BUFFER: usize = 256 * 1024;

/// Writes a tape, entry by entry, to anything that takes bytes. It holds some back, until
/// [`flush`](Self::flush) or [`finish`](Self::finish).
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
    output: W,
    held: Vec<u8>,
    escaper: Escaper,
    /// How lines of this time and stream begin: mostly as the one before.
    start: Vec<u8>,
    starts: Option<(Option<u64>, Stream)>,
}

impl<W: Write> Writer<W> {
    /// Begins a tape with its header.
    ///
    /// # Errors
    /// If the output takes no bytes.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let mut held = Vec::with_capacity(2 * BUFFER);
        held.extend_from_slice(header.to_line().as_bytes());
        let mut writer =
            Self { output, held, escaper: Escaper::new(), start: Vec::new(), starts: None };
        writer.hand_on()?;
        Ok(writer)
    }

    /// Writes an entry: what happened, and when, in milliseconds since the start.
    ///
    /// # Errors
    /// If the output takes no bytes.
    pub fn event(&mut self, millis: Option<u64>, event: &Event) -> io::Result<()> {
        match event {
            Event::ToAgent(line) => self.line(millis, Stream::ToAgent, line),
            Event::ToHost(line) => self.line(millis, Stream::ToHost, line),
            Event::Stderr(line) => self.line(millis, Stream::Stderr, line),
            Event::Note(text) => self.note(millis, text),
            Event::TooLong(too_long) => self.note(millis, &too_long.to_string()),
            Event::Exit(exit) => self.exit(millis, *exit),
            Event::Unknown(entry) => {
                self.held.extend_from_slice(entry.raw());
                self.held.push(b'\n');
                self.hand_on()
            }
        }
    }

    /// Hands on what is still held back.
    ///
    /// # Errors
    /// If the output takes no bytes.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.held)?;
        self.held.clear();
        self.output.flush()
    }

    /// Hands on what is still held back, and gives the output back.
    ///
    /// # Errors
    /// If the output takes no bytes.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.output)
    }

    fn hand_on(&mut self) -> io::Result<()> {
        if self.held.len() >= BUFFER {
            self.output.write_all(&self.held)?;
            self.held.clear();
        }
        Ok(())
    }

    fn line(&mut self, millis: Option<u64>, stream: Stream, line: &Line) -> io::Result<()> {
        match line.as_str() {
            Some(text) => self.text(millis, stream, text, line.has_newline()),
            None => self.base64(millis, stream, line.raw(), line.has_newline()),
        }
    }

    /// A line as it came, with its newline.
    pub(crate) fn raw(&mut self, millis: u64, stream: Stream, line: &[u8]) -> io::Result<()> {
        match simdutf8::basic::from_utf8(line) {
            Ok(text) => self.text(Some(millis), stream, text, true),
            Err(_) => self.base64(Some(millis), stream, line, true),
        }
    }

    fn begin(&mut self, millis: Option<u64>) {
        self.held.push(b'{');
        if let Some(millis) = millis {
            self.held.extend_from_slice(format!("\"t\":{millis},").as_bytes());
        }
    }

    /// The beginning of a line, up to its text.
    fn begin_line(&mut self, millis: Option<u64>, stream: Stream) {
        if self.starts == Some((millis, stream)) {
            return self.held.extend_from_slice(&self.start);
        }
        let from = self.held.len();
        self.begin(millis);
        let direction = match stream {
            Stream::ToAgent => "in",
            Stream::ToHost => "out",
            Stream::Stderr => "err",
        };
        self.held.extend_from_slice(format!("\"dir\":\"{direction}\",").as_bytes());
        self.start.clear();
        self.start.extend_from_slice(self.held.get(from..).unwrap_or_default());
        self.starts = Some((millis, stream));
    }

    fn text(
        &mut self,
        millis: Option<u64>,
        stream: Stream,
        text: &str,
        newline: bool,
    ) -> io::Result<()> {
        self.begin_line(millis, stream);
        self.held.extend_from_slice(b"\"line\":\"");
        let Self { escaper, held, output, .. } = self;
        escaper.escape(text, |piece| {
            held.extend_from_slice(piece);
            if held.len() >= BUFFER {
                output.write_all(held)?;
                held.clear();
            }
            Ok::<_, io::Error>(())
        })?;
        self.end_line(newline)
    }

    fn base64(
        &mut self,
        millis: Option<u64>,
        stream: Stream,
        line: &[u8],
        newline: bool,
    ) -> io::Result<()> {
        self.begin_line(millis, stream);
        self.held.extend_from_slice(b"\"b64\":\"");
        self.held.extend_from_slice(STANDARD.encode(line).as_bytes());
        self.end_line(newline)
    }

    fn end_line(&mut self, newline: bool) -> io::Result<()> {
        let end: &[u8] = if newline { b"\"}\n" } else { b"\",\"eol\":false}\n" };
        self.held.extend_from_slice(end);
        self.hand_on()
    }

    fn note(&mut self, millis: Option<u64>, text: &str) -> io::Result<()> {
        self.begin(millis);
        self.held.extend_from_slice(format!("\"note\":{}}}\n", json!(text)).as_bytes());
        self.hand_on()
    }

    fn exit(&mut self, millis: Option<u64>, exit: Exit) -> io::Result<()> {
        self.begin(millis);
        let exit = json!({ "code": exit.code, "signal": exit.signal });
        self.held.extend_from_slice(format!("\"exit\":{exit}}}\n").as_bytes());
        self.hand_on()
    }
}

/// A file that holds a tape, packed if its name ends in `.zst`. Only its owner can read it.
pub struct TapeFile(Inner);

enum Inner {
    Plain(File),
    Packed(Box<Encoder<'static, File>>),
}

impl TapeFile {
    /// Creates the file. One that is there already is replaced: it might have other readers.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            // Whoever names a device or a pipe wants the tape to go there.
            Ok(metadata) if metadata.is_file() || metadata.is_symlink() => fs::remove_file(path)?,
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::to(options.open(path)?, is_packed(path))
    }

    fn to(file: File, packed: bool) -> io::Result<Self> {
        Ok(Self(if packed {
            Inner::Packed(Box::new(Encoder::new(file, LEVEL)?))
        } else {
            Inner::Plain(file)
        }))
    }

    /// Ends the file. Without it, a packed one reads as cut off.
    ///
    /// # Errors
    /// If the rest cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Inner::Plain(mut file) => file.flush(),
            Inner::Packed(encoder) => encoder.finish()?.flush(),
        }
    }
}

/// Whether a tape of this name is packed.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

impl Write for TapeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Plain(file) => file.write(bytes),
            Inner::Packed(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Plain(file) => file.flush(),
            Inner::Packed(encoder) => encoder.flush(),
        }
    }
}

impl std::fmt::Debug for TapeFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TapeFile").finish_non_exhaustive()
    }
}
