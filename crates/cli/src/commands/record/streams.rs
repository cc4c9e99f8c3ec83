//! [`Streams`]: our standard streams, each of which can be closed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};

use duologue_terminal::{Shown, shown};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

/// Our standard streams. When one of these is dropped after [`detach`](Self::detach), it is closed.
pub(super) struct Streams {
    pub(super) stdin: File,
    pub(super) stdout: File,
    pub(super) stderr: Arc<File>,
}

/// Prints messages of `record` itself, as long as the agent has not closed its stderr.
#[derive(Clone)]
pub(super) struct Messages(Weak<File>);

impl Messages {
    pub(super) fn print(&self, text: &Shown) {
        if let Some(stderr) = self.0.upgrade() {
            // There is no other place to report an error.
            let _ = (&*stderr).write_all(shown!("duologue: {}\n", text).as_str().as_bytes());
        }
    }
}

impl Streams {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self {
            stdin: file(rustix::stdio::stdin())?,
            stdout: file(rustix::stdio::stdout())?,
            stderr: Arc::new(file(rustix::stdio::stderr())?),
        })
    }

    pub(super) fn messages(&self) -> Messages {
        Messages(Arc::downgrade(&self.stderr))
    }

    /// Closes all other handles of the streams in this process.
    pub(super) fn detach(&self) -> io::Result<()> {
        let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&nothing)?;
        dup2_stdout(&nothing)?;
        dup2_stderr(&nothing)?;
        Ok(())
    }
}

fn file(stream: impl AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}
