//! [`Step`]: one action of the agent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One action of the agent. Between steps, and while a step waits, it answers requests of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// The turn without a script: init, the prompt's text as the answer, result.
    Usual,
    /// `system/init`, and the replayed prompt if the host requested that.
    Init,
    /// An `assistant` line with a text.
    Text(String),
    /// An `assistant` line with a tool call.
    ToolUse {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// Its input.
        input: Value,
    },
    /// A `user` line with a tool's result. Queued prompts join the turn here.
    ToolResult {
        /// The call's id.
        id: String,
        /// The output.
        content: String,
        /// Whether that is an error.
        is_error: bool,
    },
    /// The `result` of a successful turn.
    Done(String),
    /// The `result` of a turn that failed, with this subtype.
    Failed(String),
    /// This line.
    Emit(Value),
    /// This line, which need not be JSON.
    Line(String),
    /// These bytes, without a newline.
    Raw(Vec<u8>),
    /// An `assistant` line with a text of this many bytes.
    Huge(usize),
    /// The same line many times, as fast as the host reads. See [`Step::flood`].
    Flood {
        /// How many.
        count: usize,
        /// The line, without its newline.
        line: String,
    },
    /// A line on stderr.
    Stderr(String),
    /// This many bytes on stderr, in lines.
    StderrBytes(usize),
    /// Sends a request to the host.
    Ask {
        /// The request's id.
        id: String,
        /// The request.
        request: Value,
        /// Whether the next step waits for the answer.
        wait: bool,
    },
    /// Withdraws a request.
    Withdraw(String),
    /// Answers the request of these steps: see [`Script::on`](super::Script::on). It may occur twice, or never.
    Reply(Answer),
    /// Waits for a line of the host, including lines since the last such wait. The end of stdin ends the wait.
    WaitFor(Kind),
    /// Notifies the test that it is here: [`Stage::reached`](super::Stage::reached).
    Mark(String),
    /// Waits until the test opens this gate: [`Stage::open`](super::Stage::open).
    Gate(String),
    /// Does nothing until the turn is interrupted. Requests are answered; the end of stdin has no effect.
    Stall,
    /// Reads and does nothing, forever.
    Silent,
    /// Stops reading.
    StopReading,
    /// Closes stdin: the host's writes fail.
    CloseStdin,
    /// Closes stdout while the agent keeps running.
    CloseStdout,
    /// Exits with this code.
    Exit(u8),
    /// Sends this signal to itself.
    Die(i32),
    /// Starts a process that runs for ten minutes.
    Grandchild {
        /// Whether it ignores TERM.
        ignores_term: bool,
        /// Whether it leaves the agent's group.
        own_group: bool,
        /// Whether it holds the agent's stdout and stderr open.
        holds_pipes: bool,
    },
}

/// An answer to a request of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// As the CLI does.
    Usual,
    /// With this payload.
    Success(Value),
    /// With this error.
    Error(String),
}

/// A kind of line of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A prompt other than those of this turn.
    Prompt,
    /// A line with this `type`.
    Type(String),
    /// A request with this subtype.
    Request(String),
    /// The answer to this request.
    Answer(String),
    /// The end of stdin.
    End,
}

impl Kind {
    /// Whether this line is of this kind.
    pub(super) fn fits(&self, line: &Value) -> bool {
        match self {
            Self::Prompt => line["type"] == "user",
            Self::Type(name) => line["type"] == name.as_str(),
            Self::Request(subtype) => {
                line["type"] == "control_request" && line["request"]["subtype"] == subtype.as_str()
            }
            Self::Answer(id) => {
                line["type"] == "control_response" && line["response"]["request_id"] == id.as_str()
            }
            Self::End => false,
        }
    }
}

impl Step {
    /// Sends a request and waits for the answer.
    pub fn ask(id: impl Into<String>, request: Value) -> Self {
        Self::Ask { id: id.into(), request, wait: true }
    }

    /// Sends a request and continues.
    pub fn ask_and_go_on(id: impl Into<String>, request: Value) -> Self {
        Self::Ask { id: id.into(), request, wait: false }
    }

    /// Sends a permission request and waits for the answer. The id of the tool call is `toolu_` and this id.
    pub fn can_use_tool(id: impl Into<String>, tool: &str, input: Value) -> Self {
        let id = id.into();
        let request = json!({
            "subtype": "can_use_tool",
            "tool_name": tool,
            "display_name": tool,
            "input": input,
            "tool_use_id": format!("toolu_{id}"),
        });
        Self::ask(id, request)
    }

    /// Calls a hook, and waits for the answer.
    pub fn hook_callback(id: impl Into<String>, callback: &str, input: Value) -> Self {
        let request = json!({
            "subtype": "hook_callback",
            "callback_id": callback,
            "input": input,
            "tool_use_id": null,
        });
        Self::ask(id, request)
    }

    /// Sends a message to an MCP server of the host, and waits for the answer.
    pub fn mcp_message(id: impl Into<String>, server: &str, message: Value) -> Self {
        let request =
            json!({ "subtype": "mcp_message", "server_name": server, "message": message });
        Self::ask(id, request)
    }

    /// This many text deltas, each in a line of this many bytes with its newline. A line has at least about 230 bytes.
    pub fn flood(count: usize, line_bytes: usize) -> Self {
        let line = |text: &str| {
            json!({
                "type": "stream_event",
                "event": {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": { "type": "text_delta", "text": text },
                },
                "session_id": "f100d000-0000-4000-8000-000000000000",
                "parent_tool_use_id": null,
                "uuid": "f100d000-0000-4000-8000-000000000001",
            })
            .to_string()
        };
        let padding = line_bytes.saturating_sub(line("").len() + 1);
        Self::Flood { count, line: line(&"x".repeat(padding)) }
    }

    /// This line many times.
    pub fn flood_of(count: usize, line: &Value) -> Self {
        Self::Flood { count, line: line.to_string() }
    }

    /// Starts a process that TERM ends.
    pub const fn grandchild() -> Self {
        Self::Grandchild { ignores_term: false, own_group: false, holds_pipes: false }
    }

    /// Starts a process that ignores TERM.
    pub const fn stubborn_grandchild() -> Self {
        Self::Grandchild { ignores_term: true, own_group: false, holds_pipes: false }
    }
}
