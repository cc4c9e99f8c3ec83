//! The guard: kills the agents of a host that dies, even by `kill -9`, and removes their temporary
//! files, which may contain secrets.
//!
//! It is one small shell per host, shared by all its agents. Its stdin is a pipe whose other end only the
//! host holds. The host writes the ids of process groups and the paths of folders to it. When the pipe ends, the
//! host has died, and the guard kills the remaining groups and removes the remaining folders. On Linux it also kills
//! descendants that have left their group, such as commands of the agent. It has a process group of its own, so
//! that Ctrl-C does not reach it, and exits with the last agent.
//!
//! Why not `PR_SET_PDEATHSIG`? It must be set between fork and exec, which is `unsafe`. It fires when
//! the *thread* that forked ends, which in a runtime is any worker. It reaches the child only, not
//! its descendants. And it exists on Linux only.
//!
//! Not covered: an agent whose host dies in the microseconds between the agent's start and the line to the
//! guard (its stdin ends in any case), and daemons: processes whose parent has ended. An agent does not inherit the
//! pipe: the standard library opens it close-on-exec. A host that forks without exec shares the pipe, and the
//! guard then waits for both.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

/// Exists on every POSIX system.
const SHELL: &str = "/bin/sh";

const SCRIPT: &str = include_str!("guard.sh");

/// The longest path of a folder: writes of 512 bytes to a pipe are atomic on every system, 4096 on Linux.
const MAX_PATH: usize = 500;

/// The guard of this host, if one is running.
static OURS: Mutex<Weak<Guard>> = Mutex::new(Weak::new());

/// A shell, and what it guards.
#[derive(Debug)]
pub(super) struct Guard {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    shell: Shell,
    groups: BTreeSet<u32>,
    folders: BTreeSet<PathBuf>,
}

#[derive(Debug)]
struct Shell {
    path: PathBuf,
    #[cfg_attr(not(test), expect(dead_code, reason = "used by tests"))]
    pid: u32,
    /// Taken at the end.
    running: Option<(Child, ChildStdin)>,
}

/// A group that is guarded until this is dropped.
#[derive(Debug)]
pub(super) struct Guarded {
    guard: Arc<Guard>,
    group: u32,
}

/// A folder that is guarded until this is dropped.
#[derive(Debug)]
pub(super) struct GuardedFolder {
    guard: Arc<Guard>,
    folder: PathBuf,
}

impl Guard {
    /// The guard of this host. The first call starts it.
    pub(super) fn ours() -> io::Result<Arc<Self>> {
        let mut ours = lock(&OURS);
        if let Some(guard) = ours.upgrade() {
            return Ok(guard);
        }
        let guard = Arc::new(Self::start(Path::new(SHELL))?);
        *ours = Arc::downgrade(&guard);
        Ok(guard)
    }

    pub(super) fn start(shell: &Path) -> io::Result<Self> {
        let shell = Shell::start(shell)?;
        let state = State { shell, groups: BTreeSet::new(), folders: BTreeSet::new() };
        Ok(Self { state: Mutex::new(state) })
    }

    /// Guards a process group.
    pub(super) fn watch(self: &Arc<Self>, group: u32) -> io::Result<Guarded> {
        let mut state = lock(&self.state);
        state.groups.insert(group);
        if let Err(error) = state.write(b'+', group.to_string().as_bytes()) {
            state.groups.remove(&group);
            return Err(error);
        }
        Ok(Guarded { guard: Arc::clone(self), group })
    }

    /// Guards a folder. Its name begins with `duologue-`.
    pub(super) fn watch_folder(self: &Arc<Self>, folder: &Path) -> io::Result<GuardedFolder> {
        let name = folder.as_os_str().as_encoded_bytes();
        if name.contains(&b'\n') || name.len() > MAX_PATH || !folder.is_absolute() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut state = lock(&self.state);
        state.folders.insert(folder.to_owned());
        if let Err(error) = state.write(b'f', name) {
            state.folders.remove(folder);
            return Err(error);
        }
        Ok(GuardedFolder { guard: Arc::clone(self), folder: folder.to_owned() })
    }

    /// The process id of the shell.
    #[cfg(test)]
    pub(super) fn pid(&self) -> u32 {
        lock(&self.state).shell.pid
    }

    /// Closes the pipe, as the death of the host does.
    #[cfg(test)]
    pub(super) fn hang_up(&self) {
        lock(&self.state).shell.finish();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let mut state = lock(&self.guard.state);
        state.groups.remove(&self.group);
        // If the shell has died, it will not kill the group.
        let _ = state.write(b'-', self.group.to_string().as_bytes());
    }
}

impl Drop for GuardedFolder {
    fn drop(&mut self) {
        let mut state = lock(&self.guard.state);
        state.folders.remove(&self.folder);
        let _ = state.write(b'd', self.folder.as_os_str().as_encoded_bytes());
    }
}

impl State {
    /// Writes a line to the shell. A shell that has died or does not read is replaced, and the new one gets
    /// everything.
    fn write(&mut self, what: u8, name: &[u8]) -> io::Result<()> {
        if self.shell.write(what, name).is_ok() {
            return Ok(());
        }
        self.shell.kill();
        self.shell = Shell::start(&self.shell.path)?;
        for group in &self.groups {
            self.shell.write(b'+', group.to_string().as_bytes())?;
        }
        for folder in &self.folders {
            self.shell.write(b'f', folder.as_os_str().as_encoded_bytes())?;
        }
        Ok(())
    }
}

impl Shell {
    fn start(path: &Path) -> io::Result<Self> {
        let mut command = Command::new(path);
        command
            .arg("-c")
            .arg(SCRIPT)
            .arg("duologue-guard")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipe = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        // A write must not block if the shell was stopped and the pipe is full.
        if let Ok(flags) = rustix::fs::fcntl_getfl(&pipe) {
            let _ = rustix::fs::fcntl_setfl(&pipe, flags | rustix::fs::OFlags::NONBLOCK);
        }
        Ok(Self { path: path.to_owned(), pid: child.id(), running: Some((child, pipe)) })
    }

    /// A line is shorter than an atomic write to a pipe.
    fn write(&mut self, what: u8, name: &[u8]) -> io::Result<()> {
        let line = [&[what, b' '], name, b"\n"].concat();
        let (_, pipe) = self.running.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(&line)
    }

    /// Kills the shell. It does not kill any group then.
    fn kill(&mut self) {
        if let Some((mut shell, _pipe)) = self.running.take() {
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }

    /// Closes the pipe, which ends the shell, and reaps it on another thread.
    fn finish(&mut self) {
        let Some((shell, pipe)) = self.running.take() else { return };
        drop(pipe);
        let shell = Arc::new(Mutex::new(shell));
        let reaped = Arc::clone(&shell);
        let reaper = thread::Builder::new().name("duologue-guard".to_owned());
        if reaper.spawn(move || lock(&reaped).wait()).is_err() {
            // Without a thread, wait here: the shell exits at once.
            let _ = lock(&shell).wait();
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.finish();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
