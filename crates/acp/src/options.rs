//! [`Options`]: which agent is behind the bridge, and what the bridge may do.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use duologue::SessionBuilder;
use duologue_protocol::{DEFAULT_MAX_LINE, Direction, Line};
use duologue_sessions::Sessions;

/// Makes the builder of a new session.
type MakeBuilder = Arc<dyn Fn() -> SessionBuilder + Send + Sync>;

/// Called with every line of the client connection.
pub(crate) type OnLine = Arc<dyn Fn(LineDirection, &str) + Send + Sync>;

/// Called with every line of an agent, and the id of its session.
pub(crate) type OnAgentLine = Arc<dyn Fn(&str, Direction, &Line) + Send + Sync>;

/// The direction of a line between client and bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a line has two ends")]
pub enum LineDirection {
    /// The client wrote it.
    FromClient,
    /// The bridge wrote it.
    ToClient,
}

/// A command that manages the login of the agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Login {
    /// The program.
    pub program: PathBuf,
    /// Its arguments before `auth login` and `auth logout`.
    pub args: Vec<OsString>,
    /// The arguments with which the client starts this program again, in a terminal, to log in.
    pub terminal_args: Vec<String>,
}

impl Login {
    /// The login of `program`, as `program auth login`. `terminal_args` are the arguments with which the client starts this
    /// program to run it.
    pub fn new(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item: Into<OsString>>,
        terminal_args: impl IntoIterator<Item: Into<String>>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            terminal_args: terminal_args.into_iter().map(Into::into).collect(),
        }
    }
}

/// How the bridge works.
///
/// ```
/// use duologue::Session;
/// use duologue_acp::Options;
///
/// let options = Options::new(|| Session::builder().model("sonnet"));
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) builder: MakeBuilder,
    pub(crate) sessions: Option<Sessions>,
    pub(crate) login: Option<Login>,
    pub(crate) bypass: bool,
    pub(crate) max_line: usize,
    pub(crate) on_line: Option<OnLine>,
    pub(crate) on_agent_line: Option<OnAgentLine>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("sessions", &self.sessions)
            .field("login", &self.login)
            .field("bypass", &self.bypass)
            .field("max_line", &self.max_line)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// The function makes the builder of each session: the program, its flags, its environment. The bridge adds the
    /// conversation, the working directory, MCP servers and handlers.
    ///
    /// Stored sessions are those of [`Sessions::from_env`]; without a home directory, there are none.
    pub fn new(builder: impl Fn() -> SessionBuilder + Send + Sync + 'static) -> Self {
        Self {
            builder: Arc::new(builder),
            sessions: Sessions::from_env().ok(),
            login: None,
            bypass: false,
            max_line: DEFAULT_MAX_LINE,
            on_line: None,
            on_agent_line: None,
        }
    }

    /// Sets where stored sessions are: what `CLAUDE_CONFIG_DIR` of the agent names.
    #[must_use]
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Offers to log in and out.
    #[must_use]
    pub fn login(mut self, login: Login) -> Self {
        self.login = Some(login);
        self
    }

    /// Offers the mode `bypassPermissions`. The builder must
    /// [allow it](SessionBuilder::allow_dangerously_skip_permissions).
    #[must_use]
    pub const fn offer_bypass(mut self, offer: bool) -> Self {
        self.bypass = offer;
        self
    }

    /// Sets the maximum length of a line of the client in bytes. A longer line gets an error.
    #[must_use]
    pub const fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }

    /// Sets a callback for every line of the client connection, both ways: to record it, for instance. It must not block.
    #[must_use]
    pub fn on_line(
        mut self,
        on_line: impl Fn(LineDirection, &str) + Send + Sync + 'static,
    ) -> Self {
        self.on_line = Some(Arc::new(on_line));
        self
    }

    /// Sets a callback for every line between the bridge and its agents, with the id of the session. It must not block.
    ///
    /// It takes the place of a [`tap`](SessionBuilder::tap) of the builder.
    #[must_use]
    pub fn on_agent_line(
        mut self,
        on_line: impl Fn(&str, Direction, &Line) + Send + Sync + 'static,
    ) -> Self {
        self.on_agent_line = Some(Arc::new(on_line));
        self
    }
}
