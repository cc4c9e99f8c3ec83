//! [`Unpack`]: a source of bytes, decompressed if it is compressed.

use std::io::{self, BufReader, Read};

use zstd::stream::read::Decoder;

/// How every zstd frame begins.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Examines the first bytes and decompresses if necessary. A plain source is passed on unchanged.
pub(crate) struct Unpack<R: Read> {
    state: State<R>,
    /// The compressed stream is incomplete, as if it is still being written.
    pub(crate) cut: bool,
}

/// The source, with the bytes that were examined.
type Whole<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

enum State<R: Read> {
    Unseen(R),
    Plain(Whole<R>),
    Packed(Box<Decoder<'static, BufReader<Whole<R>>>>),
    /// Only while the first bytes are examined.
    Gone,
}

impl<R: Read> Unpack<R> {
    pub(crate) const fn new(source: R) -> Self {
        Self { state: State::Unseen(source), cut: false }
    }

    fn look(mut source: R) -> io::Result<State<R>> {
        let mut first = Vec::with_capacity(MAGIC.len());
        while first.len() < MAGIC.len() && MAGIC.starts_with(&first) {
            let mut byte = [0];
            match source.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => first.extend(byte),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let packed = first == MAGIC;
        let whole = io::Cursor::new(first).chain(source);
        if packed {
            return Ok(State::Packed(Box::new(Decoder::new(whole)?)));
        }
        Ok(State::Plain(whole))
    }
}

impl<R: Read> Read for Unpack<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.state = match std::mem::replace(&mut self.state, State::Gone) {
            State::Unseen(source) => Self::look(source)?,
            seen => seen,
        };
        match &mut self.state {
            State::Plain(source) => source.read(buffer),
            State::Packed(decoder) => match decoder.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.cut = true;
                    Ok(0)
                }
                result => result,
            },
            State::Unseen(_) | State::Gone => Ok(0),
        }
    }
}

impl<R: Read> std::fmt::Debug for Unpack<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpack").finish_non_exhaustive()
    }
}
