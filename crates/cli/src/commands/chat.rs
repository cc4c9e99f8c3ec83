//! `duologue chat`.

use duologue::launch::Conversation;
use duologue_chat::{End, Options, chat};

use crate::agent::Agent;
use crate::args::Chat;
use crate::session_args::SessionArgs;
use crate::{errors, exit, resume, runtime};

pub(crate) fn run(args: &Chat) -> anyhow::Result<u8> {
    let is_named = || Agent::resolve(&args.session.agent).is_ok_and(|agent| agent.is_ours());
    let mut options = Options::new();
    options.prompt.clone_from(&args.prompt);
    options.thinking = args.thinking;
    options.is_embedded = args.session.is_embedded() || is_named();
    options.describe_error = errors::spelled;
    let conversation = args.session.conversation()?;
    let cwd = args.session.cwd.as_deref();
    let old = match &conversation {
        Conversation::Resume { id: of, .. } | Conversation::Fork { of, .. } => {
            resume::stored(Some(of.as_str()), cwd)
        }
        Conversation::Continue | Conversation::ForkContinue { .. } => resume::stored(None, cwd),
        _ => None,
    };
    options.earlier = old.as_ref().map(resume::end_of).unwrap_or_default();
    options.resume_command = Some(resume_command(&args.session));
    let builder = args.session.builder_for(conversation)?;
    let end = runtime::block_on(chat(builder, options))?;
    Ok(match end {
        End::Succeeded => args.session.code_of_success(),
        End::Failed => exit::FAILED,
        _ => exit::OK,
    })
}

/// The command that resumes a conversation of this agent, without the id.
fn resume_command(session: &SessionArgs) -> String {
    let mut words = vec!["duologue".to_owned(), "chat".to_owned()];
    if session.embedded {
        words.push("--embedded".to_owned());
    }
    for word in &session.agent {
        words.extend(["--agent".to_owned(), word.clone()]);
    }
    if let Some(cwd) = &session.cwd {
        words.extend(["--cwd".to_owned(), cwd.display().to_string()]);
    }
    words.push("--resume".to_owned());
    shell_words::join(words)
}
