//! A terminal that a test holds the other end of.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use duologue_testkit::leak::{assert_gone_blocking, wait_until};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use super::play::Play;

/// A terminal, and the command in it.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<String>>,
    /// While it is held, the screen is not read.
    eyes: Arc<Mutex<()>>,
    seen: usize,
    /// Kept open, so that its settings can be asked for when the command has ended.
    inside: OwnedFd,
}

impl Terminal {
    pub(crate) fn open(command: Command) -> Self {
        Self::sized(command, 30, 80)
    }

    pub(crate) fn sized(mut command: Command, rows: u16, columns: u16) -> Self {
        let outside =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&outside).unwrap();
        unlockpt(&outside).unwrap();
        let name = ptsname(&outside, Vec::new()).unwrap();
        let inside =
            open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&inside, size).unwrap();
        let stdio = || inside.try_clone().unwrap();
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        command.env("TERM", "xterm-256color").env("NO_COLOR", "1").env_remove("XDG_DATA_HOME");
        let child = command.spawn().unwrap();
        let keys = File::from(outside);
        let screen = Arc::new(Mutex::new(String::new()));
        let eyes = Arc::new(Mutex::new(()));
        let (mut reader, written) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        let open_eyes = Arc::clone(&eyes);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut rest = Vec::new();
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                rest.extend_from_slice(&bytes[..count]);
                let whole = match std::str::from_utf8(&rest) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => rest.len(),
                };
                let text: Vec<u8> = rest.drain(..whole).collect();
                written.lock().unwrap().push_str(&String::from_utf8_lossy(&text));
                drop(open_eyes.lock().unwrap());
            }
        });
        Self { child, keys, screen, eyes, seen: 0, inside }
    }

    /// Nothing is read until this is dropped.
    pub(crate) fn pause(&self) -> impl Drop + use<> {
        struct Pause(Option<std::sync::mpsc::Sender<()>>);
        impl Drop for Pause {
            fn drop(&mut self) {
                self.0 = None;
            }
        }
        let (held, is_held) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let eyes = Arc::clone(&self.eyes);
        std::thread::spawn(move || {
            let _closed = eyes.lock().unwrap();
            held.send(()).unwrap();
            let _ = ended.recv();
        });
        is_held.recv().unwrap();
        Pause(Some(end))
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.inside, size).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn len(&self) -> usize {
        self.screen.lock().unwrap().len()
    }

    /// Waits until more is shown than that.
    pub(crate) fn grows(&self, before: usize) {
        assert!(wait_until(|| self.len() > before), "nothing happens");
    }

    pub(crate) fn has_shown(&self, text: &str) -> bool {
        self.screen.lock().unwrap().contains(text)
    }

    /// How many lines were shown since this was, for the last time.
    pub(crate) fn lines_since(&self, text: &str) -> usize {
        let screen = self.screen.lock().unwrap();
        screen[screen.rfind(text).unwrap()..].lines().count()
    }

    /// Waits until the command has ended, whatever its exit code.
    pub(crate) fn whole(mut self) -> String {
        assert!(wait_until(|| self.child.try_wait().unwrap().is_some()), "it does not exit");
        // What it wrote last is still on its way: nothing follows a mark of our own.
        let mut inside = File::from(self.inside.try_clone().unwrap());
        inside.write_all("<END>".as_bytes()).unwrap();
        assert!(wait_until(|| self.has_shown("<END>")));
        self.screen.lock().unwrap().clone()
    }

    /// Waits until this is shown, after what was waited for before.
    pub(crate) fn shows(&mut self, text: &str) {
        let found = |screen: &str, seen: usize| screen[seen..].find(text).map(|at| seen + at);
        wait_until(|| found(&self.screen.lock().unwrap(), self.seen).is_some());
        let screen = self.screen.lock().unwrap().clone();
        let at = found(&screen, self.seen);
        let at = at.unwrap_or_else(|| panic!("no {text:?} in {:?}", &screen[self.seen..]));
        self.seen = at + text.len();
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Presses Ctrl-D and waits for the end.
    pub(crate) fn exit(mut self, play: &Play) -> String {
        self.types("\u{4}");
        self.ends(play)
    }

    pub(crate) fn ends(mut self, play: &Play) -> String {
        let ended = wait_until(|| self.child.try_wait().unwrap().is_some());
        assert!(ended, "it does not exit: {:?}", self.screen.lock().unwrap());
        assert!(self.child.wait().unwrap().success());
        assert_gone_blocking(&play.stage.pids());
        let settings = tcgetattr(&self.inside).unwrap();
        assert!(settings.local_modes.contains(rustix::termios::LocalModes::ICANON));
        self.screen.lock().unwrap().clone()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that has failed leaves nothing behind.
        let _ = self.child.kill();
    }
}
