//! [`Lane`]: how bytes get from one stream to another while we take a copy.

use std::fs::File;
use std::io;

use rustix::buffer::spare_capacity;
use rustix::io::read;

/// Where the bytes are that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// Here only: they must be written.
    Taken,
    /// Still in the pipe: they must be handed over.
    Left,
}

/// On Linux, what waits in a pipe can be looked at and then handed to the next pipe as it is: it is copied
/// once, for the tape, and not a second time for whoever reads.
#[cfg(target_os = "linux")]
pub(super) struct Lane {
    /// What is looked at goes through here. Made when it is needed; none if it cannot be.
    side: Option<Option<(File, File)>>,
}

#[cfg(target_os = "linux")]
impl Lane {
    /// Only pipes can do it.
    pub(super) fn between(from: &File, to: &File) -> Self {
        let pipes = [from, to].map(rustix::pipe::fcntl_getpipe_size);
        Self { side: if pipes.iter().all(Result::is_ok) { None } else { Some(None) } }
    }

    /// Reads what there is into the room that is left. At the end of the stream that is nothing.
    pub(super) fn read(&mut self, from: &File, room: &mut Vec<u8>) -> io::Result<Copied> {
        if self.look(from, room)? {
            return Ok(Copied::Left);
        }
        read(from, spare_capacity(room))?;
        Ok(Copied::Taken)
    }

    /// Copies what waits, if that is much. A few bytes that are handed over take as much room in the
    /// next pipe as a page.
    fn look(&mut self, from: &File, room: &mut Vec<u8>) -> io::Result<bool> {
        use rustix::pipe::{SpliceFlags, tee};
        if matches!(self.side, Some(None)) {
            return Ok(false);
        }
        let waits = rustix::io::ioctl_fionread(from).unwrap_or_default();
        if waits < super::WORTH_SHARING as u64 {
            return Ok(false);
        }
        let Some((side, into)) = self.side.get_or_insert_with(|| side().ok()) else {
            return Ok(false);
        };
        let Ok(count) = tee(from, &*into, room.capacity(), SpliceFlags::NONBLOCK) else {
            // It is not as we thought: then it is read.
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

    /// Hands over what was looked at.
    pub(super) fn hand_over(from: &File, to: &File, mut count: usize) -> io::Result<()> {
        use rustix::pipe::{SpliceFlags, splice};
        while count > 0 {
            match splice(from, None, to, None, count, SpliceFlags::MOVE) {
                // It was there when it was looked at.
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
    // Nobody gives more at once. The system may refuse; then less is looked at.
    let _ = fcntl_setpipe_size(&into, super::CHUNK);
    Ok((side.into(), into.into()))
}

/// Elsewhere, everything is read and written.
#[cfg(not(target_os = "linux"))]
pub(super) struct Lane;

#[cfg(not(target_os = "linux"))]
impl Lane {
    pub(super) fn between(_: &File, _: &File) -> Self {
        Self
    }

    pub(super) fn read(&mut self, from: &File, room: &mut Vec<u8>) -> io::Result<Copied> {
        read(from, spare_capacity(room))?;
        Ok(Copied::Taken)
    }

    pub(super) fn hand_over(_: &File, _: &File, _: usize) -> io::Result<()> {
        Ok(())
    }
}
