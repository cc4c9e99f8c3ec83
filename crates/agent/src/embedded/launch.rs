//! [`run`]: the embedded agent as a process, from its command line to its exit code.

mod first_line;
pub(crate) mod input;
pub(crate) mod parse;
pub(crate) mod print;

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use duologue_protocol::visible;

use super::choose::{Chosen, choose};
use super::conversation::Conversation;
use super::setup::{Setup, Start};
use super::{Embedded, flags::Flags};
use crate::options::VERSION;
use crate::serve::{Exit, To, serve_process, stdin};
use crate::sessions::{Resumed, Sessions};
use parse::{Format, Invocation};

const HELP: &str = "\
Usage: duologue agent [flags] [prompt]

A drop-in for `claude -p` and for its stream-json mode, with real tools behind real permissions. It takes the flags
of Claude Code; those that mean nothing here are passed over. What answers is a scenario (--scenario FILE or
DUOLOGUE_SCENARIO), else a Messages API (ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL), else no
model at all: then a few plain requests are understood, such as \"read README.md\" or \"run ls\".

Its own flags:
  --scenario FILE   what the model says, from a file
  --fault FAULT     something goes wrong on purpose: die@3, hang@3, garbage@3, split, delay=10, flood=1000,
                    stderr=100000, answer-twice, never-answer, grandchild   (or DUOLOGUE_FAULT, or `fault` in the scenario)
  --lenient         every input form of the oldest descriptions works       (or DUOLOGUE_LENIENT)
  --dialect seeds   speaks in the forms of the oldest descriptions; seeds-system-result ends turns with system/result
  --install DIR     writes an executable named claude there that is this agent, with the flags that follow
";

/// Why an agent does not start: what is said on stderr, and what else on stdout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) message: String,
    /// A result in place of a conversation.
    pub(crate) result: Option<String>,
    /// A host is about to write its first line to stdin.
    host_writes: bool,
}

impl<T: Into<String>> From<T> for Refused {
    fn from(message: T) -> Self {
        Self { message: message.into(), result: None, host_writes: false }
    }
}

/// Runs the embedded agent with this command line, on stdin and stdout.
///
/// It behaves as `claude` does: an unknown flag is an error, and so is a session id that is in
/// use. What comes back is the exit code.
pub async fn run(args: impl IntoIterator<Item = String>) -> u8 {
    match start(args).await {
        Ok(exit) => {
            if let Some(message) = exit.message {
                complain(&message);
            }
            exit.code
        }
        Err(refused) => {
            if let Some(result) = refused.result {
                // The code tells that it failed, either way.
                let _ = say(&format!("{result}\n"));
            }
            complain(&refused.message);
            if refused.host_writes {
                first_line::wait(stdin(), first_line::LIMIT).await;
            }
            1
        }
    }
}

async fn start(args: impl IntoIterator<Item = String>) -> Result<Exit, Refused> {
    let flags = Flags::parse(args)?;
    let well = Exit { code: 0, message: None };
    if flags.has("--version") {
        say(&format!("{VERSION} (embedded agent of duologue {})\n", env!("CARGO_PKG_VERSION")))?;
        return Ok(well);
    }
    if flags.has("--help") {
        say(HELP)?;
        return Ok(well);
    }
    let var = |name: &str| std::env::var(name).ok();
    let mut invocation = Invocation::new(&flags, var)?;
    let setup = &mut invocation.setup;
    let given = flags.values("--betas").map(str::to_owned);
    let betas: Vec<String> = given.chain(setup.thought.betas().map(str::to_owned)).collect();
    let Chosen { model, name, key_source, fault } =
        choose(flags.value("--scenario"), &setup.cwd, &betas, var)?;
    if let Some(fault) = fault.filter(|_| setup.options.fault.is_none()) {
        setup.options.fault = Some(fault.parse().map_err(|error| format!("error: {error}"))?);
    }
    setup.options.info.models = super::choose::models(&name);
    setup.options.info.model = name.into();
    setup.options.info.api_key_source = key_source.into();
    let host_writes = invocation.input == Format::StreamJson;
    let conversation = open(setup).map_err(|refused| Refused { host_writes, ..refused })?;
    if let Some(notice) = model.notice() {
        complain(&notice);
    }
    let settings = super::shared::settings(setup);
    for fault in &settings.faults {
        complain(&format!("Settings are passed over: {fault}"));
    }
    let mut agent = Embedded::with_conversation(invocation.setup, model, conversation)?;
    let options = agent.options();
    let exit = match (invocation.input, invocation.output) {
        (Format::StreamJson, _) => serve_process(&mut agent, stdin(), To::stdout(), options).await,
        (_, output) => {
            let line = input::prompt_line(&invocation.prompt)?;
            print::one(&mut agent, line, output, invocation.is_verbose, options).await?
        }
    };
    agent.end().await;
    Ok(exit)
}

/// What this command line asks of an agent that works in this directory.
pub(super) fn setup_of(cwd: &Path, args: Vec<String>) -> Result<Setup, String> {
    let flags = Flags::parse(args)?;
    // Only what the CLI has there to keep root from harm.
    let var = |name: &str| (name == "IS_SANDBOX").then(|| std::env::var(name).ok())?;
    parse::setup(&flags, cwd, &var).map_err(|refused| refused.message)
}

/// Opens the conversation that the setup names.
fn open(setup: &mut Setup) -> Result<Conversation, Refused> {
    let sessions = Sessions::new(&setup.config, &setup.cwd);
    let given = setup.options.info.session_id.as_ref().map(|id| id.as_str().to_owned());
    if let Some(id) = &given {
        if sessions.path(id).is_none() {
            return Err("Error: Invalid session ID. Must be a valid UUID.".into());
        }
        // The oldest descriptions have it that a conversation of that name goes on.
        if sessions.exists(id) && setup.options.lenient && setup.start == Start::New {
            setup.start = Start::Old { id: id.clone(), fork: false };
        } else if sessions.exists(id) {
            return Err(format!("Error: Session ID {id} is already in use.").into());
        }
    }
    let new_id = || given.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let (old, fork) = match &setup.start {
        Start::New => (None, false),
        Start::Newest { fork } => {
            let newest = sessions.newest().ok_or("No conversation found to continue")?;
            (Some(newest), *fork)
        }
        Start::Old { id, fork } => (Some(id.clone()), *fork),
    };
    let (id, conversation) = match old {
        None => {
            let (id, conversation) = (new_id(), Conversation::default());
            if setup.persists {
                conversation.keep_in(sessions.clone(), &id);
            }
            (id, conversation)
        }
        Some(old) => {
            let resumed = sessions.resume(&old).map_err(|_| unknown(&sessions, &old))?;
            let resumed = cut(resumed, setup, &old)?;
            let conversation = Conversation::new(resumed.messages());
            conversation.set_cost_before(resumed.cost().cloned());
            let id = if fork { new_id() } else { old };
            if setup.persists {
                let writer = match fork {
                    true => sessions.fork(&resumed, &id),
                    false => sessions.append_to(&id, &resumed),
                };
                conversation.keep_on(writer.map_err(|error| format!("Error: {error}"))?);
            }
            (id, conversation)
        }
    };
    let path = sessions.path(&id).unwrap_or_default();
    setup.options.info.transcript_path = path.to_string_lossy().into_owned().into();
    setup.options.info.session_id = Some(id.into());
    Ok(conversation)
}

/// A conversation up to the message that the setup names.
fn cut(resumed: Resumed, setup: &Setup, id: &str) -> Result<Resumed, Refused> {
    let Some(at) = &setup.resume_at else { return Ok(resumed) };
    if let Some(turn) = &setup.drops_turn {
        let lost = resumed.prompts_after(at);
        if let Some(other) = lost.iter().find(|prompt| *prompt != turn) {
            let why = format!(
                "Resume rejected by --resume-drops-turn: resuming at {at} would discard entries not attributable to turn {turn}: first discarded entry [type=user, uuid={other}]"
            );
            return Err(refused(why, id));
        }
    }
    let none = || refused(format!("No message found with message.uuid of: {at}"), id);
    resumed.up_to(at).ok_or_else(none)
}

/// There is no such conversation. The CLI says so twice.
fn unknown(sessions: &Sessions, id: &str) -> Refused {
    let message = if sessions.path(id).is_some() {
        format!("No conversation found with session ID: {id}")
    } else {
        format!(
            "Error: --resume requires a valid session ID or session title when used with --print. \
             Usage: claude -p --resume <session-id|title>. Provided value \"{id}\" is not a UUID \
             and does not match any session title."
        )
    };
    let session =
        if sessions.path(id).is_some() { id.to_owned() } else { uuid::Uuid::new_v4().to_string() };
    refused(message, &session)
}

/// Why a conversation cannot be resumed, said on stderr and as a result.
pub(crate) fn refused(message: String, session: &str) -> Refused {
    let result = serde_json::json!({
        "type": "result", "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0,
        "is_error": true, "num_turns": 0, "stop_reason": null,
        "session_id": session, "total_cost_usd": 0,
        "usage": { "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0 },
        "modelUsage": {}, "permission_denials": [], "uuid": uuid::Uuid::new_v4().to_string(),
        "errors": [message],
    });
    Refused { message, result: Some(result.to_string()), host_writes: false }
}

/// Whoever has read enough need not be told that there is more.
pub(crate) fn say(text: &str) -> Result<(), Refused> {
    let mut out = std::io::stdout();
    // Programs get what was said; on a terminal it must not be obeyed.
    let shown = if out.is_terminal() { visible::block(text) } else { text.into() };
    let text = shown.as_ref();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("Error: the answer could not be written to stdout: {error}").into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn complain(message: &str) {
    // It may quote a scenario or the command line.
    let message = visible::block(message);
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}
