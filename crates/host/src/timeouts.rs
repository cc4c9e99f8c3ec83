//! Every timeout of this crate: its name, its default, and what it bounds.

use std::time::Duration;

/// How long the agent is not read so that a subscriber that reads, but too slowly, can catch up. It keeps
/// the memory for a flood small. A subscriber that takes longer is not waited for until it reads again.
pub(crate) const READER_CATCH_UP: Duration = Duration::from_millis(100);

/// How long an agent that has closed its stdin may be silent before the run ends.
pub(crate) const STDIN_CLOSED_GRACE: Duration = Duration::from_secs(2);

/// How long the rest of stdout may take once the process has exited. After that, a process that has left
/// the group holds the pipe open.
pub(crate) const STDOUT_DRAIN: Duration = Duration::from_millis(500);

/// How much longer than its timeout a request may take if the dispatcher has not taken it.
pub(crate) const COMMAND_SLACK: Duration = Duration::from_secs(1);

/// How long the handshake may take by default.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(60);

/// How long other requests of the host may take by default.
pub(crate) const REQUEST: Duration = Duration::from_secs(60);

/// How long the agent may take to acknowledge a message of an MCP server.
pub(crate) const MCP_FORWARD: Duration = Duration::from_secs(60);

/// How long a turn may take to end after an interrupt by default. Then the agent is killed.
pub(crate) const INTERRUPT_SETTLE: Duration = Duration::from_secs(10);

/// How long the reply to an interrupt may take.
pub(crate) const INTERRUPT_RECEIPT: Duration = Duration::from_secs(10);

/// How long an agent may take to exit after SIGINT has ended its turn. One that takes longer keeps running.
pub(crate) const EXIT_AFTER_SIGINT: Duration = Duration::from_millis(1500);

/// How long to wait for an exit because of an unknown conversation: CLI versions before 2.1.197 look for
/// the conversation only after the handshake.
pub(crate) const RESUME_CHECK: Duration = Duration::from_secs(1);

/// How long to wait before the agent is started again, the first time. Doubled each time.
pub(crate) const RESPAWN_DELAY: Duration = Duration::from_millis(100);

/// How long `close` waits by default for turns, prompts, requests and background work.
pub(crate) const LINGER: Duration = Duration::from_secs(600);

/// How long `close` waits for an agent that reads nothing from its stdin.
pub(crate) const CLOSE_UNREAD: Duration = Duration::from_secs(5);

/// How long `close` waits for a silent agent after a line that could not be decoded.
pub(crate) const CLOSE_SILENT: Duration = Duration::from_secs(5);

/// How often `close` checks whether the agent reads and writes.
pub(crate) const CLOSE_CHECK: Duration = Duration::from_secs(1);

/// How long `close` waits for the end of a run once its process has exited.
pub(crate) const CLOSE_RUN_END: Duration = Duration::from_secs(1);

/// How long `kill` waits for the end of a run.
pub(crate) const KILL_RUN_END: Duration = Duration::from_secs(2);

/// How long an agent may take by default to exit once its stdin is closed. Then it gets SIGTERM.
pub(crate) const STDIN_GRACE: Duration = Duration::from_secs(2);

/// How long an agent may take by default to exit after SIGTERM. Then it gets SIGKILL.
pub(crate) const TERM_GRACE: Duration = Duration::from_secs(5);

/// How long to wait by default for the exit after SIGKILL.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(2);

/// How long stderr and the process group may take to end once the leader has exited.
pub(crate) const EXIT_SETTLE: Duration = Duration::from_millis(200);

/// How long dropping a process may take to reap it.
pub(crate) const DROP_WAIT: Duration = Duration::from_millis(100);

/// How long a CLI may take to print its version.
pub(crate) const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// A hook must answer this much before its timeout, or a tenth of the timeout if that is less. Some versions
/// of the CLI run the tool when a hook times out on their side.
pub(crate) const HOOK_MARGIN: Duration = Duration::from_secs(1);
