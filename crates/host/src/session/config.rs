//! The configuration of a session.

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

/// Whether the agent is initialized (`initialize`) before the first prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handshake {
    /// Send it. If the agent does not answer in time, it is used nevertheless, with a notice, unless
    /// something needs the handshake: hooks, in-process tools.
    #[default]
    Try,
    /// Send it. If the agent does not answer in time, that is an error.
    Require,
    /// Do not send it.
    Skip,
}

/// What happens when the agent dies before the session is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Respawn {
    pub(crate) times: u32,
    pub(crate) resend: bool,
}

impl Respawn {
    /// The session has ended.
    pub const fn never() -> Self {
        Self { times: 0, resend: false }
    }

    /// The agent is started again and resumes its conversation, at most this many times in a row
    /// without a turn that ends. Turns that ran fail; no prompt is sent twice.
    ///
    /// Changes since the start (the permission mode, the model, MCP servers, thinking, settings, added
    /// directories, permissions for the session…) are applied again, in the order in which they took effect,
    /// before any prompt is sent. If the agent refuses one, that is [a notice](crate::Session::notices); if
    /// it refuses the permission mode, the session ends.
    pub const fn up_to(times: u32) -> Self {
        Self { times, resend: false }
    }

    /// Sends prompts without a result again. What their turns have done already may be done again.
    #[must_use]
    pub const fn resend_prompts(mut self) -> Self {
        self.resend = true;
        self
    }
}

/// When an agent is considered stuck. The clock is paused while a tool runs or the host is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Watchdog {
    pub(crate) silence: Option<Duration>,
    pub(crate) turn: Option<Duration>,
}

impl Watchdog {
    /// A watchdog without limits.
    pub const fn new() -> Self {
        Self { silence: None, turn: None }
    }

    /// Sets how long the agent may be silent in a turn.
    #[must_use]
    pub const fn silence(mut self, most: Duration) -> Self {
        self.silence = Some(most);
        self
    }

    /// Sets how long a turn may take.
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

/// The configuration of a session.
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
    /// How long a turn may take to end after an interrupt.
    pub(crate) settle: Duration,
    pub(crate) ladder: Ladder,
    /// How long open work may delay a close.
    pub(crate) linger: Duration,
    pub(crate) budget: usize,
    pub(crate) overflow: Overflow,
    /// Where temporary files are created.
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
            // Older versions report only with this when they accept a prompt.
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
