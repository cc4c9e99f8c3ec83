//! `duologue chat` in a terminal: one that this test holds the other end of.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use duologue_testkit::fake::{Script, Step};
use duologue_testkit::leak::{assert_gone_blocking, wait_until};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};

use super::play::{self, Play};

/// A terminal, and the command in it.
struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<String>>,
    seen: usize,
    /// Kept open, so that its settings can be asked for when the command has ended.
    inside: OwnedFd,
}

impl Terminal {
    fn open(mut command: Command) -> Self {
        let outside =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&outside).unwrap();
        unlockpt(&outside).unwrap();
        let name = ptsname(&outside, Vec::new()).unwrap();
        let inside =
            open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let size = Winsize { ws_row: 30, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&inside, size).unwrap();
        let stdio = || inside.try_clone().unwrap();
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        command.env("TERM", "xterm-256color").env("NO_COLOR", "1").env_remove("XDG_DATA_HOME");
        let child = command.spawn().unwrap();
        let keys = File::from(outside);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reader, written) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                written.lock().unwrap().push_str(&text);
            }
        });
        Self { child, keys, screen, seen: 0, inside }
    }

    /// Waits until this is shown, after what was waited for before.
    fn shows(&mut self, text: &str) {
        let found = |screen: &str, seen: usize| screen[seen..].find(text).map(|at| seen + at);
        wait_until(|| found(&self.screen.lock().unwrap(), self.seen).is_some());
        let screen = self.screen.lock().unwrap().clone();
        let at = found(&screen, self.seen);
        let at = at.unwrap_or_else(|| panic!("no {text:?} in {:?}", &screen[self.seen..]));
        self.seen = at + text.len();
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn ends(mut self, play: &Play) -> String {
        let ended = wait_until(|| self.child.try_wait().unwrap().is_some());
        assert!(ended, "it goes on: {:?}", self.screen.lock().unwrap());
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

fn answer(play: &Play, id: &str) -> Value {
    let line = play.stage.wait_for_blocking(|line| line["response"]["request_id"] == id);
    line["response"]["response"].clone()
}

#[test]
fn a_person_decides() {
    let play = Play::turn([
        Step::Init,
        Step::can_use_tool("a", "Bash", json!({ "command": "ls" })),
        Step::can_use_tool("b", "Bash", json!({ "command": "rm x" })),
        play::text("All right."),
        Step::Done("All right.".to_owned()),
    ]);
    let mut terminal = Terminal::open(play.command(&["chat"]));
    terminal.shows("› ");
    terminal.types("look\r");
    terminal.shows("? May the agent use Bash?");
    terminal.shows("Esc says no");
    terminal.types("1");
    terminal.shows("allowed once");
    terminal.shows("    rm x");
    terminal.shows("Esc says no");
    terminal.types("2too risky\r");
    terminal.shows("not allowed: too risky");
    terminal.shows("All right.");
    terminal.shows("› ");
    assert_eq!(answer(&play, "a")["behavior"], "allow");
    assert_eq!(answer(&play, "b")["message"], "too risky");
    terminal.types("\u{4}");
    terminal.ends(&play);
}

#[test]
fn a_turn_is_interrupted_and_the_next_works() {
    let play = Play::turn([Step::Init, play::text("I begin."), Step::Stall]);
    let mut terminal = Terminal::open(play.command(&["chat", "begin"]));
    terminal.shows("I begin.");
    terminal.types("\u{3}");
    terminal.shows("✗ interrupted");
    terminal.shows("› ");
    terminal.types("again\r");
    play.stage.wait_for_blocking(|line| line["message"]["content"] == "again");
    terminal.shows("$0.25");
    terminal.shows("› ");
    terminal.types("/exit\r");
    terminal.ends(&play);
}

#[test]
fn a_second_interrupt_leaves() {
    let play = Play::new(
        &Script::new()
            .turn([Step::Init, play::text("I begin."), Step::Stall])
            .never_answers("interrupt"),
    );
    let mut terminal = Terminal::open(play.command(&["chat", "begin"]));
    terminal.shows("I begin.");
    terminal.types("\u{3}");
    terminal.shows("interrupting");
    terminal.types("\u{3}");
    terminal.shows("leaving");
    terminal.types("\u{3}");
    terminal.ends(&play);
}

#[test]
fn what_is_no_longer_asked_goes_away_and_the_rest_is_shown_above_the_prompt() {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
    let play = Play::turn([
        Step::Init,
        Step::ask_and_go_on("a", request),
        Step::Gate("withdraw".to_owned()),
        Step::Withdraw("a".to_owned()),
        Step::Done(String::new()),
        Step::Gate("more".to_owned()),
        play::text("By the way."),
        Step::Done("By the way.".to_owned()),
    ]);
    let mut terminal = Terminal::open(play.command(&["chat", "begin"]));
    terminal.shows("Esc says no");
    play.stage.open("withdraw").unwrap();
    terminal.shows("no longer asked");
    terminal.shows("› ");
    terminal.types("half");
    terminal.shows("half");
    play.stage.open("more").unwrap();
    terminal.shows("By the way.");
    // The line that is being typed stands below it again.
    terminal.shows("› half");
    terminal.types("\u{3}");
    terminal.shows("again leaves");
    terminal.types("\u{4}");
    terminal.ends(&play);
}

#[test]
fn who_types_faster_than_the_screen_changes_loses_no_key() {
    let play = Play::turn([Step::Init, Step::Done(String::new())]);
    let mut terminal = Terminal::open(play.command(&["chat"]));
    terminal.shows("› ");
    terminal.types("one\rtwo\r");
    play.stage.wait_for_blocking(|line| line["message"]["content"] == "one");
    play.stage.wait_for_blocking(|line| line["message"]["content"] == "two");
    terminal.shows("$0.25");
    terminal.shows("$0.25");
    terminal.shows("› ");
    terminal.types("\u{4}");
    terminal.ends(&play);
}
