//! How a session behaves.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duologue_protocol::DEFAULT_MAX_LINE;
use duologue_protocol::launch::Launch;

use crate::dispatch::{DEFAULT_BUDGET, Overflow, Tap};
use crate::process::{Ladder, OsUser};
use crate::prompt::MAX_PIXELS;
use crate::timeouts::{HANDSHAKE, INTERRUPT_SETTLE, LINGER, REQUEST};

/// What is done about the handshake (`initialize`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handshake {
    /// Shake hands; an agent that does not answer in time is used all the same, with a notice, unless
    /// something needs it: hooks, in-process tools.
    #[default]
    Try,
    /// Shake hands; an agent that does not answer in time is an error.
    Require,
    /// Do not.
    Skip,
}

/// What is done when the agent dies before the session is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Respawn {
    pub(crate) times: u32,
    pub(crate) resend: bool,
}

impl Respawn {
    /// Nothing: the session is over.
    pub const fn never() -> Self {
        Self { times: 0, resend: false }
    }

    /// It is started again and resumes its conversation, at most so many times in a row without a
    /// turn that ends. Turns that ran fail; no prompt is sent twice.
    ///
    /// What was changed since (the permission mode, the model, MCP servers, thinking, settings, added
    /// directories, permissions for the session…) is changed again, in the order in which it took effect,
    /// before any prompt is sent. What the agent refuses then is [a notice](crate::Session::notices); if
    /// it refuses the permission mode, the session is over.
    pub const fn up_to(times: u32) -> Self {
        Self { times, resend: false }
    }

    /// Prompts without a result are sent again. What their turns have done already is done again, too.
    #[must_use]
    pub const fn resend_prompts(mut self) -> Self {
        self.resend = true;
        self
    }
}

/// When an agent is taken for stuck. The clock stands still while a tool runs or the host is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Watchdog {
    pub(crate) silence: Option<Duration>,
    pub(crate) turn: Option<Duration>,
}

impl Watchdog {
    /// One that watches nothing yet.
    pub const fn new() -> Self {
        Self { silence: None, turn: None }
    }

    /// In a turn, the agent may be silent so long.
    #[must_use]
    pub const fn silence(mut self, most: Duration) -> Self {
        self.silence = Some(most);
        self
    }

    /// A turn may take so long.
    #[must_use]
    pub const fn turn(mut self, most: Duration) -> Self {
        self.turn = Some(most);
        self
    }

    pub(crate) const fn watches(&self) -> bool {
        self.silence.is_some() || self.turn.is_some()
    }
}

pub(crate) type OnLine = Arc<Mutex<dyn FnMut(&str) + Send>>;
pub(crate) type OnNotice = Arc<dyn Fn(&str) + Send + Sync>;

/// How a session behaves.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) launch: Launch,
    pub(crate) program: Option<PathBuf>,
    pub(crate) leading: Vec<OsString>,
    pub(crate) os_user: Option<OsUser>,
    /// How often a start is tried.
    pub(crate) start_attempts: u32,
    /// The time between the starts of two agents.
    pub(crate) start_stagger: Duration,
    /// The memory, in bytes, above which the agent is replaced between turns.
    pub(crate) recycle_above: Option<u64>,
    pub(crate) handshake: Handshake,
    pub(crate) handshake_timeout: Duration,
    /// How long other requests may take.
    pub(crate) timeout: Option<Duration>,
    /// How long an interrupt may take to settle.
    pub(crate) settle: Duration,
    pub(crate) ladder: Ladder,
    /// How long work in the background may hold up a close.
    pub(crate) linger: Duration,
    pub(crate) budget: usize,
    pub(crate) overflow: Overflow,
    /// Where what does not fit into memory is kept.
    pub(crate) spill_dir: Option<PathBuf>,
    /// Handlers may block their thread.
    pub(crate) handlers_block: bool,
    pub(crate) max_line: usize,
    pub(crate) max_image_pixels: usize,
    pub(crate) serial: bool,
    pub(crate) legacy: bool,
    pub(crate) tap: Option<Tap>,
    pub(crate) respawn: Respawn,
    pub(crate) watchdog: Watchdog,
    pub(crate) on_stderr: Option<OnLine>,
    pub(crate) on_notice: Option<OnNotice>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Prompts are told when they are taken: older versions do not tell otherwise.
            launch: Launch::new().replay_user_messages(true),
            program: None,
            leading: Vec::new(),
            os_user: None,
            start_attempts: 1,
            start_stagger: Duration::ZERO,
            recycle_above: None,
            handshake: Handshake::default(),
            handshake_timeout: HANDSHAKE,
            timeout: Some(REQUEST),
            settle: INTERRUPT_SETTLE,
            ladder: Ladder::default(),
            linger: LINGER,
            budget: DEFAULT_BUDGET,
            overflow: Overflow::default(),
            spill_dir: None,
            handlers_block: false,
            max_line: DEFAULT_MAX_LINE,
            max_image_pixels: MAX_PIXELS,
            serial: false,
            legacy: false,
            tap: None,
            respawn: Respawn::never(),
            watchdog: Watchdog::new(),
            on_stderr: None,
            on_notice: None,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("launch", &self.launch)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
