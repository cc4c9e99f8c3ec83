//! [`Job`]: the work of the writer's thread.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, PoisonError};

use duologue_protocol::{Found, Frame, Line, LineDecoder};

use crate::entry::{Event, Header};
use crate::redact::Redactor;
use crate::writer::{TapeFile, Writer};

use super::{Shared, Stopped, Stream, What};

/// How many buffers are kept for the next bytes, and how many chunks while there is nothing to do.
const SPARE: usize = 64;

/// How many chunks are kept while there is much to do, and how large they may be.
const SPARE_CHUNKS: usize = 1024;
const SPARE_CHUNK: usize = 64 * 1024;

/// The longest line that is recorded. A reader would skip a longer one.
const MAX_LINE: usize = 128 * 1024 * 1024;

/// The work of the writer's thread.
pub(super) struct Job {
    /// By [`Stream`].
    decoders: [LineDecoder; 3],
    pub(super) redactor: Option<Redactor>,
}

/// The buffer of an item that has been written.
enum Room {
    Own(Vec<u8>),
    Shared(Arc<Vec<u8>>),
}

impl Job {
    pub(super) fn new(redactor: Option<Redactor>) -> Self {
        let decoder = || LineDecoder::new().max_line(MAX_LINE).keep_blank();
        Self { decoders: [decoder(), decoder(), decoder()], redactor }
    }

    pub(super) fn run(
        &mut self,
        shared: &Shared,
        file: TapeFile,
        header: &Header,
    ) -> io::Result<()> {
        let header = match &mut self.redactor {
            Some(redactor) => redactor.header(header),
            None => header.clone(),
        };
        let mut writer = Writer::new(file, &header)?;
        let mut batch = VecDeque::new();
        loop {
            let mut state = shared.lock();
            if state.queue.is_empty() && !state.closed && state.stopped.is_none() {
                drop(state);
                // From here on, everything recorded so far survives a crash.
                writer.flush()?;
                let too_many = {
                    let chunks = &mut shared.lock().spare_chunks;
                    chunks.split_off(chunks.len().min(SPARE))
                };
                // Only while the conversation is idle.
                drop(too_many);
                let woken = shared.changed.wait_while(shared.lock(), |state| {
                    state.queue.is_empty() && !state.closed && state.stopped.is_none()
                });
                state = woken.unwrap_or_else(PoisonError::into_inner);
            }
            std::mem::swap(&mut batch, &mut state.queue);
            drop(state);
            if batch.is_empty() {
                break;
            }
            while let Some(item) = batch.pop_front() {
                let room = self.write(&mut writer, item.millis, item.what)?;
                let mut state = shared.lock();
                state.waiting -= item.cost;
                match room {
                    Some(Room::Own(room)) if state.spare.len() < SPARE => state.spare.push(room),
                    Some(Room::Shared(chunk))
                        if chunk.capacity() <= SPARE_CHUNK
                            && state.spare_chunks.len() < SPARE_CHUNKS =>
                    {
                        state.spare_chunks.push(chunk);
                    }
                    _ => {}
                }
            }
        }
        if let Some(Stopped(reason)) = shared.lock().stopped.clone() {
            let note = format!("recording stopped early: {reason}");
            writer.event(Some(shared.millis()), &Event::Note(note))?;
        } else {
            self.finish_all(&mut writer, shared.millis())?;
        }
        writer.finish()?.finish().map(drop)
    }

    /// Writes an item. Returns its buffer.
    fn write(
        &mut self,
        writer: &mut Writer<TapeFile>,
        millis: u64,
        what: What,
    ) -> io::Result<Option<Room>> {
        match what {
            What::Bytes(stream, mut bytes) => {
                self.bytes(writer, millis, stream, &bytes)?;
                bytes.clear();
                return Ok(Some(Room::Own(bytes)));
            }
            What::Shared(stream, chunk) => {
                self.bytes(writer, millis, stream, &chunk)?;
                return Ok(Some(Room::Shared(chunk)));
            }
            What::End(stream) => {
                self.finish(writer, millis, stream)?;
                if stream == Stream::ToAgent {
                    writer.event(Some(millis), &Event::Note("stdin_close".to_owned()))?;
                }
            }
            What::Event(event) => self.event(writer, millis, event)?,
            What::Exit(exit) => {
                self.finish_all(writer, millis)?;
                writer.event(Some(millis), &Event::Exit(exit))?;
            }
        }
        Ok(None)
    }

    fn bytes(
        &mut self,
        writer: &mut Writer<TapeFile>,
        millis: u64,
        stream: Stream,
        mut rest: &[u8],
    ) -> io::Result<()> {
        while let Some(found) = self.decoders[stream as usize].next_in(&mut rest) {
            match found {
                Found::Within(line, _) if self.redactor.is_none() => {
                    writer.raw(millis, stream, line)?;
                }
                Found::Within(line, _) => {
                    self.event(writer, millis, stream.event(Line::from(line)))?;
                }
                Found::Frame(frame) => self.frame(writer, millis, stream, frame)?,
            }
        }
        Ok(())
    }

    fn finish_all(&mut self, writer: &mut Writer<TapeFile>, millis: u64) -> io::Result<()> {
        let streams = [Stream::ToAgent, Stream::ToHost, Stream::Stderr];
        streams.into_iter().try_for_each(|stream| self.finish(writer, millis, stream))
    }

    /// The last line of a stream, if it has no newline.
    fn finish(
        &mut self,
        writer: &mut Writer<TapeFile>,
        millis: u64,
        stream: Stream,
    ) -> io::Result<()> {
        match self.decoders[stream as usize].finish() {
            Some(frame) => self.frame(writer, millis, stream, frame),
            None => Ok(()),
        }
    }

    fn frame(
        &mut self,
        writer: &mut Writer<TapeFile>,
        millis: u64,
        stream: Stream,
        frame: Frame,
    ) -> io::Result<()> {
        let event = match frame {
            Frame::Line(line) => stream.event(line),
            Frame::TooLong(too_long) => Event::TooLong(too_long),
        };
        self.event(writer, millis, event)
    }

    fn event(
        &mut self,
        writer: &mut Writer<TapeFile>,
        millis: u64,
        event: Event,
    ) -> io::Result<()> {
        let event = match &mut self.redactor {
            Some(redactor) => redactor.event(event),
            None => event,
        };
        writer.event(Some(millis), &event)
    }
}
