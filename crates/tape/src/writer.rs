//! [`Writer`]: writes a tape, entry by entry.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::Line;
use serde_json::json;
use zstd::stream::write::Encoder;

use crate::entry::{Event, Exit, Header};

/// How hard packed tapes are squeezed: as much as is nearly free.
const LEVEL: i32 = 3;

/// How much is written at once.
const BUFFER: usize = 256 * 1024;

/// How much of a line is escaped at once.
const PIECE: usize = 16 * 1024;

/// What follows the backslash for each byte of a JSON string; 0 for those that stand for themselves.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0a] = b'n';
    table[0x0c] = b'f';
    table[0x0d] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// Writes a tape, entry by entry, to anything that takes bytes.
///
/// ```
/// use duologue_protocol::Line;
/// use duologue_tape::{Event, Header, Reader, Writer};
///
/// let mut writer = Writer::new(Vec::new(), &Header::new("claude", ["--verbose"]))?;
/// writer.event(Some(3), &Event::ToHost(Line::from(r#"{"type":"keep_alive"}"#)))?;
/// let tape = writer.into_inner();
/// assert!(Reader::new(tape.as_slice()).next_entry()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    /// Room for a piece of a line.
    escaped: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a tape with its header.
    ///
    /// # Errors
    /// If the output takes no bytes.
    pub fn new(mut output: W, header: &Header) -> io::Result<Self> {
        output.write_all(header.to_line().as_bytes())?;
        Ok(Self { output, escaped: Vec::new() })
    }

    /// Writes an entry: what happened, and when, in milliseconds since the start.
    ///
    /// # Errors
    /// If the output takes no bytes.
    pub fn event(&mut self, millis: Option<u64>, event: &Event) -> io::Result<()> {
        match event {
            Event::ToAgent(line) => self.line(millis, "in", line),
            Event::ToHost(line) => self.line(millis, "out", line),
            Event::Stderr(line) => self.line(millis, "err", line),
            Event::Note(text) => self.note(millis, text),
            Event::TooLong(too_long) => self.note(millis, &too_long.to_string()),
            Event::Exit(exit) => self.exit(millis, *exit),
            Event::Unknown(entry) => {
                self.output.write_all(entry.raw())?;
                self.output.write_all(b"\n")
            }
        }
    }

    /// Hands on what is still held back.
    ///
    /// # Errors
    /// If the output takes no bytes.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// The output. What it holds back itself is still there.
    pub fn into_inner(self) -> W {
        self.output
    }

    fn begin(&mut self, millis: Option<u64>) -> io::Result<()> {
        match millis {
            Some(millis) => write!(self.output, "{{\"t\":{millis},"),
            None => self.output.write_all(b"{"),
        }
    }

    fn line(&mut self, millis: Option<u64>, direction: &str, line: &Line) -> io::Result<()> {
        self.begin(millis)?;
        write!(self.output, "\"dir\":\"{direction}\",")?;
        match line.as_str() {
            Some(text) => {
                self.output.write_all(b"\"line\":\"")?;
                self.text(text)?;
            }
            None => write!(self.output, "\"b64\":\"{}\"", STANDARD.encode(line.raw()))?,
        }
        let end: &[u8] = if line.has_newline() { b"}\n" } else { b",\"eol\":false}\n" };
        self.output.write_all(end)
    }

    /// The rest of a JSON string, whose quote stands already. Lines are full of quotes, which a general
    /// writer hands on piece by piece; this is most of what recording costs.
    fn text(&mut self, text: &str) -> io::Result<()> {
        for piece in text.as_bytes().chunks(PIECE) {
            self.escaped.clear();
            let (words, rest) = piece.as_chunks::<8>();
            for word in words {
                if word.iter().all(|byte| ESCAPES[usize::from(*byte)] == 0) {
                    self.escaped.extend_from_slice(word);
                } else {
                    word.iter().for_each(|byte| escape(*byte, &mut self.escaped));
                }
            }
            rest.iter().for_each(|byte| escape(*byte, &mut self.escaped));
            self.output.write_all(&self.escaped)?;
        }
        self.output.write_all(b"\"")
    }

    fn note(&mut self, millis: Option<u64>, text: &str) -> io::Result<()> {
        self.begin(millis)?;
        writeln!(self.output, "\"note\":{}}}", json!(text))
    }

    fn exit(&mut self, millis: Option<u64>, exit: Exit) -> io::Result<()> {
        self.begin(millis)?;
        let exit = json!({ "code": exit.code, "signal": exit.signal });
        writeln!(self.output, "\"exit\":{exit}}}")
    }
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    match ESCAPES[usize::from(byte)] {
        0 => out.push(byte),
        b'u' => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        escape => out.extend_from_slice(&[b'\\', escape]),
    }
}

/// A file that holds a tape, packed if its name ends in `.zst`. Only its owner can read it.
pub struct TapeFile(Inner);

enum Inner {
    Plain(BufWriter<File>),
    Packed(Box<Encoder<'static, BufWriter<File>>>),
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
        let file = BufWriter::with_capacity(BUFFER, file);
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
