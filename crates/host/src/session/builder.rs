//! [`SessionBuilder`]: how a session is set up.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duologue_protocol::control::{Elicitation, RequestUserDialog};
use duologue_protocol::launch::{ArgvBudget, CliVersion, Launch, PermissionPrompts};
use duologue_protocol::{CallbackId, Direction, Line, RawJson, RawObject, Text};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::dispatch::{Overflow, Tap};
use crate::error::Error;
use crate::find;
use crate::handlers::{
    Decision, DialogAnswer, ElicitationAnswer, Handlers, Hook, PermissionRequest, PlanDecision,
    PlanRequest, QuestionAnswer, QuestionRequest, boxed, callback_name,
};
#[cfg(feature = "mcp")]
use crate::mcp;
use crate::mcp::McpServer;
use crate::process::{Ladder, OsUser};
use crate::transport::Transport;

use super::config::{Config, Handshake, Respawn, Watchdog};
use super::handle::Session;
use super::inner::Inner;
use super::run;

/// Configures a session.
///
/// The methods are grouped:
///
/// - **Agent**: which program, which version, the handshake.
/// - **Launch options**: everything the CLI can be started with, one method for each option of
///   [`Launch`](crate::launch::Launch).
/// - **Handlers**: answers to the requests of the agent. Without a handler, requests are denied.
/// - **Behaviour**: timeouts, memory, respawn, watchdog.
/// - **Start**: [`start`](Self::start) a process, or [`connect`](Self::connect) to an agent that runs.
///
/// ```no_run
/// # async fn example() -> Result<(), duologue::Error> {
/// use duologue::Session;
/// use duologue::handlers::{Decision, PermissionRequest};
/// use duologue::permission::PermissionMode;
///
/// let session = Session::builder()
///     .model("sonnet")
///     .permission_mode(PermissionMode::Default)
///     .on_permission(|ask: PermissionRequest| async move {
///         match ask.tool_name() {
///             "Read" | "Grep" => Decision::allow(),
///             _ => Decision::deny("only reading is allowed"),
///         }
///     })
///     .start()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SessionBuilder {
    pub(super) config: Config,
    handlers: Handlers,
    version: Option<CliVersion>,
}

impl SessionBuilder {
    pub(crate) fn new() -> Self {
        Self { config: Config::default(), handlers: Handlers::default(), version: None }
    }

    pub(super) fn map_launch(mut self, change: impl FnOnce(Launch) -> Launch) -> Self {
        self.config.launch = change(self.config.launch);
        self
    }
}

/// # Agent
impl SessionBuilder {
    /// Sets the agent's program. By default, `claude` is searched for: see [`find`](crate::find).
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.config.program = Some(program.into());
        self
    }

    /// Adds arguments before all others, such as the script that an interpreter runs.
    #[must_use]
    pub fn program_args(mut self, args: impl IntoIterator<Item: Into<OsString>>) -> Self {
        self.config.leading.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets how often a start is tried: once by default. A start is tried again if the agent exits or does not
    /// answer the handshake in time, after 0.1, 0.2, 0.4… seconds. Each failure is a [notice](Session::notices).
    #[must_use]
    pub const fn start_attempts(mut self, attempts: u32) -> Self {
        self.config.start_attempts = attempts;
        self
    }

    /// Sets the time between the starts of two agents of this program that have this option: zero by default.
    ///
    /// Agents that start at the same moment compete for the CPU and for files of the CLI.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), duologue::Error> {
    /// use std::time::Duration;
    /// use duologue::Session;
    ///
    /// let mut starts = tokio::task::JoinSet::new();
    /// for _ in 0..10 {
    ///     let builder = Session::builder().start_stagger(Duration::from_millis(250)).start_attempts(3);
    ///     starts.spawn(builder.start());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn start_stagger(mut self, gap: Duration) -> Self {
        self.config.start_stagger = gap;
        self
    }

    /// Replaces the agent between turns if its process group uses more memory than this, in bytes. It resumes its
    /// conversation, and changes such as the model or the permission mode are applied again, as with
    /// [`respawn`](Self::respawn). Prompts wait meanwhile; no turn fails. Needs `/proc`, so Linux only.
    ///
    /// ```
    /// # use duologue::Session;
    /// let builder = Session::builder().recycle_above(2 << 30);
    /// ```
    #[must_use]
    pub const fn recycle_above(mut self, bytes: u64) -> Self {
        self.config.recycle_above = Some(bytes);
        self
    }

    /// Runs the agent as another user of the system. This program must be root.
    ///
    /// The environment does not change: set `HOME` and `CLAUDE_CONFIG_DIR` where needed. Processes of another user
    /// get their signals from this program, so it must keep the permission to send them.
    #[must_use]
    pub const fn os_user(mut self, user: OsUser) -> Self {
        self.config.os_user = Some(user);
        self
    }

    /// Passes a W3C trace context to the agent, in the variables `TRACEPARENT` and `TRACESTATE`, so that its traces
    /// join those of this program. Variables that this program has inherited are replaced.
    ///
    /// A later [`env`](Self::env) of the same name wins.
    ///
    /// ```
    /// # use duologue::Session;
    /// let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let builder = Session::builder().trace_context(traceparent, None);
    /// ```
    #[must_use]
    pub fn trace_context(self, traceparent: impl Into<OsString>, tracestate: Option<&str>) -> Self {
        let traceparent = traceparent.into();
        self.map_launch(|launch| {
            let launch = launch.env("TRACEPARENT", traceparent);
            match tracestate {
                Some(state) => launch.env("TRACESTATE", state),
                None => launch.env_remove("TRACESTATE"),
            }
        })
    }

    /// Sets the version of the CLI. By default, the program is run once with `--version`.
    #[must_use]
    pub const fn cli_version(mut self, version: CliVersion) -> Self {
        self.version = Some(version);
        self
    }

    /// Sets all launch options at once, and replaces those that were set before.
    #[must_use]
    pub fn launch(mut self, launch: Launch) -> Self {
        self.config.launch = launch;
        self
    }

    /// Sets whether the agent is initialized before the first prompt.
    #[must_use]
    pub const fn handshake(mut self, handshake: Handshake) -> Self {
        self.config.handshake = handshake;
        self
    }

    /// Sets the timeout of the handshake: a minute by default.
    #[must_use]
    pub const fn handshake_within(mut self, timeout: Duration) -> Self {
        self.config.handshake_timeout = timeout;
        self
    }
}

/// # Handlers
///
/// They answer the requests of the agent. Without a handler, requests are denied.
impl SessionBuilder {
    /// Decides whether a tool may be called.
    ///
    /// The handler runs in a task of its own and is dropped when the agent withdraws its request. If it
    /// panics, the request is denied.
    #[must_use]
    pub fn on_permission<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(PermissionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Decision> + Send + 'static,
    {
        self.handlers.permission = Some(Arc::new(move |ask| boxed(handler(ask))));
        self
    }

    /// Answers the model's questions. Without it, [`on_permission`](Self::on_permission) gets them.
    #[must_use]
    pub fn on_question<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(QuestionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = QuestionAnswer> + Send + 'static,
    {
        self.handlers.question = Some(Arc::new(move |ask| boxed(handler(ask))));
        self
    }

    /// Decides about plans. Without it, [`on_permission`](Self::on_permission) gets them.
    #[must_use]
    pub fn on_plan<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(PlanRequest) -> R + Send + Sync + 'static,
        R: Future<Output = PlanDecision> + Send + 'static,
    {
        self.handlers.plan = Some(Arc::new(move |ask| boxed(handler(ask))));
        self
    }

    /// Adds a hook: a callback for an event in the agent.
    #[must_use]
    pub fn hook(mut self, hook: Hook) -> Self {
        self.handlers.hooks.push(hook);
        self
    }

    /// Adds an MCP server in this program.
    #[must_use]
    pub fn mcp(mut self, server: impl McpServer) -> Self {
        self.handlers.mcp.push(Arc::new(server));
        self
    }

    /// Adds a tool in this program: see [`mcp::tool`](crate::mcp::tool). Its name for the model is
    /// `mcp__tools__<name>`.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn tool(mut self, tool: mcp::Tool) -> Self {
        self.handlers.add_tool(tool);
        self
    }

    /// Answers the elicitations of MCP servers. Without it they are declined.
    #[must_use]
    pub fn on_elicitation<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(Elicitation) -> R + Send + Sync + 'static,
        R: Future<Output = ElicitationAnswer> + Send + 'static,
    {
        self.handlers.elicitation = Some(Arc::new(move |ask| boxed(handler(ask))));
        self
    }

    /// Answers dialogs of these kinds. Other kinds stay unanswered: another host may answer them.
    #[must_use]
    pub fn on_dialog<F, R>(
        mut self,
        kinds: impl IntoIterator<Item: Into<String>>,
        handler: F,
    ) -> Self
    where
        F: Fn(RequestUserDialog) -> R + Send + Sync + 'static,
        R: Future<Output = DialogAnswer> + Send + 'static,
    {
        self.handlers.dialog_kinds.extend(kinds.into_iter().map(Into::into));
        self.handlers.dialog = Some(Arc::new(move |ask| boxed(handler(ask))));
        self
    }

    /// Answers requests of another subtype, with a payload or an error.
    #[must_use]
    pub fn on_request<F, R>(mut self, subtype: impl Into<String>, handler: F) -> Self
    where
        F: Fn(RawObject) -> R + Send + Sync + 'static,
        R: Future<Output = Result<RawJson, String>> + Send + 'static,
    {
        let handler = Arc::new(move |ask| boxed(handler(ask)));
        self.handlers.other.insert(subtype.into(), handler);
        self
    }

    /// Leaves requests without a handler open, to be answered with [`Session::respond`].
    #[must_use]
    pub const fn answer_by_hand(mut self) -> Self {
        self.handlers.by_hand = true;
        self
    }

    /// Limits the time for each answer, from when the request was read. There is no limit by default.
    ///
    /// The limit holds for permissions, questions, plans, elicitations, dialogs, MCP messages, requests of
    /// [`on_request`](Self::on_request), and requests that are [left open](Self::answer_by_hand). A late permission
    /// is denied; any other late request gets an error. [Hooks](crate::handlers::Hook::timeout) have a timeout of
    /// their own, and [`mcp_within`](Self::mcp_within) sets another limit for MCP.
    ///
    /// A late answer is never sent, even if the handler blocks its thread. As long as another thread of the
    /// runtime is free, the denial is sent on time.
    #[must_use]
    pub const fn answer_within(mut self, limit: Duration) -> Self {
        self.handlers.answer_within = Some(limit);
        self
    }

    /// Limits the time for each MCP message, such as a tool call, instead of
    /// [`answer_within`](Self::answer_within). A late message gets an error, and the tool is cancelled.
    #[must_use]
    pub const fn mcp_within(mut self, limit: Duration) -> Self {
        self.handlers.mcp_within = Some(limit);
        self
    }

    /// Sets a callback for each line of the agent's stderr. It must not block.
    #[must_use]
    pub fn on_stderr(mut self, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        self.config.on_stderr = Some(Arc::new(Mutex::new(on_line)));
        self
    }

    /// Sets a callback for notices that the user should see. See [`Session::notices`].
    #[must_use]
    pub fn on_notice(mut self, on_notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.config.on_notice = Some(Arc::new(on_notice));
        self
    }
}

/// # Behaviour
impl SessionBuilder {
    /// Sets the timeout of requests to the agent: a minute by default. `None` is without a limit.
    #[must_use]
    pub const fn request_within(mut self, timeout: Option<Duration>) -> Self {
        self.config.timeout = timeout;
        self
    }

    /// Sets how long a turn may take to end after an interrupt before the agent is killed: 10 s by default.
    #[must_use]
    pub const fn settle_within(mut self, deadline: Duration) -> Self {
        self.config.settle = deadline;
        self
    }

    /// Sets how long each step of ending the agent may take.
    #[must_use]
    pub const fn ladder(mut self, ladder: Ladder) -> Self {
        self.config.ladder = ladder;
        self
    }

    /// Sets how long [`Session::close`] waits for turns, prompts, requests and background tasks that are
    /// open: ten minutes by default. Then the agent is ended.
    #[must_use]
    pub const fn linger(mut self, most: Duration) -> Self {
        self.config.linger = most;
        self
    }

    /// Sets how many unread bytes are kept in memory for each subscriber ([`Turn`](crate::Turn),
    /// [`Events`](crate::Events), [`Messages`](crate::Messages)): 64 MiB by default.
    #[must_use]
    pub const fn memory_budget(mut self, bytes: usize) -> Self {
        self.config.budget = bytes;
        self
    }

    /// Sets what happens beyond the memory budget: by default, what is not read goes to a temporary file.
    #[must_use]
    pub const fn overflow(mut self, overflow: Overflow) -> Self {
        self.config.overflow = overflow;
        self
    }

    /// Sets the directory of temporary files: the system's by default.
    #[must_use]
    pub fn spill_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.config.spill_dir = Some(dir.into());
        self
    }

    /// Runs each handler in a thread, so that it may block.
    pub(crate) const fn handlers_block(mut self) -> Self {
        self.config.handlers_block = true;
        self
    }

    /// Sets the most bytes a line of the agent may have: 64 MiB by default. A longer line is reported as
    /// malformed, and the conversation continues.
    #[must_use]
    pub const fn max_line(mut self, bytes: usize) -> Self {
        self.config.max_line = bytes;
        self
    }

    /// Sets how many pixels a side of an image may have: 2000 by default. The API accepts up to 8000 while a
    /// conversation has few images, and fails every turn once it has more.
    #[must_use]
    pub const fn max_image_pixels(mut self, pixels: usize) -> Self {
        self.config.max_image_pixels = pixels;
        self
    }

    /// Keeps at most one request of this host in flight, as some legacy agents need it.
    #[must_use]
    pub const fn serial(mut self) -> Self {
        self.config.serial = true;
        self
    }

    /// Talks to a legacy agent: every tool call is a request for permission, and `approve`, `deny` and
    /// `tool_result` lines are the answers. Current versions of the CLI do not support them.
    #[must_use]
    pub const fn legacy(mut self) -> Self {
        self.config.legacy = true;
        self
    }

    /// Sets a callback for every line, both ways, in the order of the conversation: to record it, for
    /// instance. It must not block: the conversation waits for it.
    #[must_use]
    pub fn tap(mut self, on_line: impl Fn(Direction, &Line) + Send + Sync + 'static) -> Self {
        self.config.tap = Some(Tap::new(on_line));
        self
    }

    /// Sets whether an agent that dies is started again: it is not by default.
    #[must_use]
    pub const fn respawn(mut self, respawn: Respawn) -> Self {
        self.config.respawn = respawn;
        self
    }

    /// Sets when the agent is considered stuck: never by default. It is interrupted, then killed, then
    /// started again if [`respawn`](Self::respawn) allows it.
    #[must_use]
    pub const fn watchdog(mut self, watchdog: Watchdog) -> Self {
        self.config.watchdog = watchdog;
        self
    }
}

/// # Start
impl SessionBuilder {
    /// Starts the agent and initializes it.
    ///
    /// It takes at most ten seconds to find out the version, unless [`cli_version`](Self::cli_version) sets
    /// it, plus [`handshake_within`](Self::handshake_within).
    ///
    /// Not cancel safe. If the future is dropped, the agent is killed.
    ///
    /// # Errors
    /// If Claude Code is not found, does not support the options, or cannot be started.
    pub async fn start(mut self) -> Result<Session, Error> {
        let program = find::cli(self.config.program.as_deref())?;
        if self.version.is_none() {
            let asked = find::version(&program, &self.config.leading);
            // An agent that does not answer this will not answer the handshake either.
            let asked = tokio::time::timeout(self.config.handshake_timeout, asked).await;
            self.version = asked.ok().flatten();
        }
        self.config.program = Some(program);
        self.begin(Transport::Process).await
    }

    /// Connects to an agent that runs already, over these two halves of a pipe or socket.
    ///
    /// Options that become command-line arguments or environment variables (rules, limits, the directory) have no
    /// effect: pass the agent its [`arguments`](Self::arguments). There is no process to start again, so
    /// [`respawn`](Self::respawn) has no effect either.
    ///
    /// ```
    /// # async fn example(socket: tokio::net::TcpStream) -> Result<(), duologue::Error> {
    /// use duologue::Session;
    ///
    /// let (reader, writer) = socket.into_split();
    /// let session = Session::builder().connect(reader, writer).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Not cancel safe. If the future is dropped, the connection is closed.
    ///
    /// # Errors
    /// If the handshake fails and is required.
    pub async fn connect<R, W>(self, reader: R, writer: W) -> Result<Session, Error>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        self.begin(Transport::pipe(Box::new(reader), Box::new(writer))).await
    }

    /// The command-line arguments for these options, without [`program_args`](Self::program_args): for an agent that
    /// the program starts itself, such as the embedded agent in a test.
    ///
    /// ```
    /// use duologue::Session;
    ///
    /// let args = Session::builder().disallowed_tools(["Bash"]).arguments()?;
    /// assert!(args.iter().any(|arg| arg.to_string_lossy().contains("Bash")));
    /// # Ok::<(), duologue::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the options contradict each other, or the CLI version that was set does not support them.
    pub fn arguments(&self) -> Result<Vec<OsString>, Error> {
        // No files are used: nothing would remove them.
        let launch = self.whole_launch().argv_budget(ArgvBudget::new(usize::MAX, usize::MAX));
        Ok(launch.plan(self.version.as_ref())?.args)
    }

    /// The launch options, with those that follow from the handlers.
    fn whole_launch(&self) -> Launch {
        let mut launch = self.config.launch.clone();
        for (number, hook) in self.handlers.hooks.iter().enumerate() {
            let matcher = hook.as_matcher(CallbackId::from(callback_name(number)));
            launch = launch.hook(hook.event.as_str(), matcher);
        }
        for server in self.handlers.mcp_servers() {
            launch = launch.sdk_mcp_server(Text::from(server.name()));
        }
        if !self.handlers.dialog_kinds.is_empty() {
            launch = launch
                .supported_dialog_kinds(self.handlers.dialog_kinds.iter().map(String::as_str));
        }
        // A legacy agent asks by the tool call itself; a request would be a second question.
        let asks = self.handlers.wants_permissions() && !self.config.legacy;
        if asks && !launch.has_permission_prompts() {
            launch = launch.permission_prompts(PermissionPrompts::Host);
        }
        launch
    }

    async fn begin(mut self, transport: Transport) -> Result<Session, Error> {
        self.config.launch = self.whole_launch();
        let verbatim = self.config.launch.plan(self.version.as_ref())?.verbatim_prompts;
        let tested = self.version.as_ref().is_none_or(find::is_tested);
        let version = self.version;
        let has_permission_handler = self.handlers.permission.is_some();
        let inner = Inner::new(self.config, self.handlers, transport, self.version, verbatim);
        let inner = Arc::new(inner);
        if !tested && let Some(version) = version {
            inner.notice(format!(
                "Claude Code {version} was never tested with this host: what is new in it may be \
                 shown as unknown"
            ));
        }
        if has_permission_handler && let Some(shadowed) = inner.config.launch.shadowed_permissions()
        {
            inner.notice(shadowed.to_string());
        }
        run::start(&inner).await?;
        Ok(Session::new(inner))
    }
}
