//! [`Splice`]: moves bytes from one pipe to another and takes a copy, without copying twice.

use std::fs::File;
use std::io;

use rustix::buffer::spare_capacity;
use rustix::io::read;

/// Where the copied bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// Only in the buffer: they must be written.
    Taken,
    /// Still in the pipe: they must be moved on.
    Left,
}

/// On Linux, the content of a pipe can be copied with `tee` and then moved to the next pipe with `splice`: it is copied
/// once, for the tape, and not a second time for the reader.
#[cfg(target_os = "linux")]
pub(super) struct Splice {
    /// The pipe for `tee`. Created when it is needed; `Some(None)` if it cannot be used.
    side: Option<Option<(File, File)>>,
}

#[cfg(target_os = "linux")]
impl Splice {
    /// Both streams must be pipes.
    pub(super) fn between(from: &File, to: &File) -> Self {
        let pipes = [from, to].map(rustix::pipe::fcntl_getpipe_size);
        Self { side: if pipes.iter().all(Result::is_ok) { None } else { Some(None) } }
    }

    /// Reads into the free space of the buffer. Reads nothing at the end of the stream.
    pub(super) fn read(&mut self, from: &File, room: &mut Vec<u8>) -> io::Result<Copied> {
        if self.look(from, room)? {
            return Ok(Copied::Left);
        }
        read(from, spare_capacity(room))?;
        Ok(Copied::Taken)
    }

    /// Copies the content of the pipe, if that is much: a few bytes that are moved on take a whole page of the next
    /// pipe.
    fn look(&mut self, from: &File, room: &mut Vec<u8>) -> io::Result<bool> {
        use rustix::pipe::{SpliceFlags, tee};
        if matches!(self.side, Some(None)) {
            return Ok(false);
        }
        let waits = rustix::io::ioctl_fionread(from).unwrap_or_default();
        if waits < super::MIN_SHARED as u64 {
            return Ok(false);
        }
        let Some((side, into)) = self.side.get_or_insert_with(|| side().ok()) else {
            return Ok(false);
        };
        let Ok(count) = tee(from, &*into, room.capacity(), SpliceFlags::NONBLOCK) else {
            // Not possible here: read instead.
            return Ok(false);
        };
        while room.len() < count {
            match read(&*side, spare_capacity(room)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(count > 0)
    }

    /// Moves on what was copied.
    pub(super) fn move_on(from: &File, to: &File, mut count: usize) -> io::Result<()> {
        use rustix::pipe::{SpliceFlags, splice};
        while count > 0 {
            match splice(from, None, to, None, count, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(moved) => count = count.saturating_sub(moved),
                Err(error) => super::try_again(error.into(), to)?,
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn side() -> io::Result<(File, File)> {
    use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
    let (side, into) = pipe_with(PipeFlags::CLOEXEC)?;
    // The system may refuse; then less is copied at once.
    let _ = fcntl_setpipe_size(&into, super::CHUNK);
    Ok((side.into(), into.into()))
}

/// On other systems, everything is read and written.
#[cfg(not(target_os = "linux"))]
pub(super) struct Splice;

#[cfg(not(target_os = "linux"))]
impl Splice {
    pub(super) fn between(_: &File, _: &File) -> Self {
        Self
    }

    pub(super) fn read(&mut self, from: &File, room: &mut Vec<u8>) -> io::Result<Copied> {
        read(from, spare_capacity(room))?;
        Ok(Copied::Taken)
    }

    pub(super) fn move_on(_: &File, _: &File, _: usize) -> io::Result<()> {
        Ok(())
    }
}
