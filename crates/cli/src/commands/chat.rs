//! `duologue chat`.

use duologue_chat::{End, Options, chat};

use crate::agent::Agent;
use crate::args::Chat;
use crate::{errors, exit, runtime};

pub(crate) fn run(args: &Chat) -> anyhow::Result<u8> {
    let is_named = || Agent::resolve(&args.session.agent).is_ok_and(|agent| agent.is_ours());
    let mut options = Options::new();
    options.prompt.clone_from(&args.prompt);
    options.thinking = args.thinking;
    options.is_embedded = args.session.is_embedded() || is_named();
    options.describe_error = errors::spelled;
    let builder = args.session.builder()?;
    let end = runtime::block_on(chat(builder, options))?;
    Ok(match end {
        End::Succeeded => args.session.code_of_success(),
        End::Failed => exit::FAILED,
        _ => exit::OK,
    })
}
