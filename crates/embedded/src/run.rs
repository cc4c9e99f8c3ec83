//! [`run`]: the embedded agent as a process, from its command line to its exit code.

mod first_line;
mod subcommands;

use duologue_agent::command_line::{CommandLine, Effect, Format, flags_help};
use duologue_agent::stdio::{StartError, complain, say, serve_command_line, stdin};
use duologue_agent::{Exit, VERSION};

use crate::Embedded;
use crate::conversation::Conversation;
use crate::mcp_config::McpFiles;
use crate::models::{self, Chosen, choose};
use crate::session_store::{Resumed, Sessions};
use crate::setup::{Setup, Start};
use crate::setup_from_args::setup_of_process;

const HELP: &str = "\
Usage: duologue agent [flags] [prompt]

A drop-in for `claude -p` and for its stream-json mode, with real tools behind real permissions. What answers is a scenario
(--scenario FILE or DUOLOGUE_SCENARIO), else a Messages API (ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN,
ANTHROPIC_BASE_URL), else no model at all: then a few plain requests are understood, such as \"read README.md\" or
\"run ls\".
";

const COMMANDS: &str = "\
Commands:
  auth status [--json|--text]           Show how requests to the model are authenticated
  mcp list|get|add|add-json|remove      Configure MCP servers
  doctor                                Show which model answers, and from where settings are read
  update                                This agent is updated with duologue
";

fn help() -> String {
    let own = flags_help(&[Effect::EmbeddedOwn, Effect::Own, Effect::Command]);
    let obeyed = flags_help(&[Effect::Agent, Effect::Embedded]);
    let ignored = flags_help(&[Effect::Ignored]);
    format!(
        "{HELP}\n{COMMANDS}\nFlags of duologue:\n{own}\nFlags of Claude Code:\n{obeyed}\nAccepted, without effect:\n{ignored}"
    )
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
                // The exit code reports the failure, either way.
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

async fn start(args: impl IntoIterator<Item = String>) -> Result<Exit, StartError> {
    let args: Vec<String> = args.into_iter().collect();
    if let Some(exit) = subcommands::run(&args).await? {
        return Ok(exit);
    }
    let line = CommandLine::parse(args)?;
    if line.version {
        say(&format!("{VERSION} (embedded agent of duologue {})\n", env!("CARGO_PKG_VERSION")))?;
        return Ok(Exit::success());
    }
    if line.help {
        say(&help())?;
        return Ok(Exit::success());
    }
    let var = |name: &str| std::env::var(name).ok();
    let mut setup = setup_of_process(&line, var)?;
    let mut settings = setup.load_settings();
    setup.check_settings(&settings)?;
    let files = McpFiles::new(&setup.config, &setup.cwd, setup.project_root());
    if !files.is_trusted() {
        let how = format!(
            "Run Claude Code interactively here once and accept the trust dialog, or set projects[\"{}\"].hasTrustDialogAccepted: true in {}.",
            files.cwd.display(),
            files.user.display()
        );
        let (grants, messages) = settings.distrust(&how);
        setup.distrusted = grants;
        messages.iter().for_each(|message| complain(message));
    }
    let betas = line.betas.iter().cloned();
    let betas: Vec<String> = betas.chain(setup.reasoning.betas().map(str::to_owned)).collect();
    let Chosen { model, name, key_source, fault } =
        choose(line.scenario.as_deref(), &setup.cwd, &betas, var)?;
    if let Some(fault) = fault.filter(|_| setup.options.fault.is_none()) {
        setup.options.fault = Some(fault.parse().map_err(|error| format!("error: {error}"))?);
    }
    setup.options.info.models = models::models(&name);
    setup.options.info.model = name.into();
    setup.options.info.api_key_source = key_source.into();
    let conversation = open(&mut setup).map_err(|mut error| {
        error.host_writes = line.input == Format::StreamJson;
        error
    })?;
    if let Some(notice) = model.notice() {
        complain(&notice);
    }
    for fault in &settings.faults {
        complain(&format!("Settings are ignored: {fault}"));
    }
    let mut agent = Embedded::with_conversation(setup, &settings, model, conversation)?;
    let options = agent.options();
    let exit = serve_command_line(&mut agent, &line, options).await?;
    agent.end().await;
    Ok(exit)
}

/// Opens the conversation that the setup names.
fn open(setup: &mut Setup) -> Result<Conversation, StartError> {
    let sessions = Sessions::new(&setup.config, &setup.cwd);
    let given = setup.options.info.session_id.as_ref().map(|id| id.as_str().to_owned());
    if let Some(id) = &given {
        if sessions.path(id).is_none() {
            return Err("Error: Invalid session ID. Must be a valid UUID.".into());
        }
        // Legacy hosts resume a conversation by its id.
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
fn cut(resumed: Resumed, setup: &Setup, id: &str) -> Result<Resumed, StartError> {
    let Some(at) = &setup.resume_at else { return Ok(resumed) };
    if let Some(turn) = &setup.drops_turn {
        let lost = resumed.prompts_after(at);
        if let Some(other) = lost.iter().find(|prompt| *prompt != turn) {
            let why = format!(
                "Resume rejected by --resume-drops-turn: resuming at {at} would discard entries not attributable to turn {turn}: range does not start with the declared turn prompt; first discarded entry 1 [type=user, uuid={other}]"
            );
            return Err(StartError::resume(why, id));
        }
    }
    let none = || StartError::resume(format!("No message found with message.uuid of: {at}"), id);
    resumed.up_to(at).ok_or_else(none)
}

/// The conversation does not exist. The CLI reports it on stderr and as a result.
fn unknown(sessions: &Sessions, id: &str) -> StartError {
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
    StartError::resume(message, &session)
}
