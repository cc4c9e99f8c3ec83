//! What a shell and `man` want to know of the command: made out of what can be typed.

use std::fs;
use std::io::Write as _;

use anyhow::Context as _;
use clap::{Arg, ArgAction, CommandFactory as _};
use duologue_agent::command_line;
use duologue_terminal::print;

use crate::args::{Args, Completions, Man};
use crate::exit;
use crate::output_file::{Access, OutputFile};

/// What a flag of `agent` is, in a few words. `duologue agent --help` says more of ours.
fn help(flag: &str) -> &'static str {
    match flag {
        "--install" => "Write an executable named claude there that is this agent",
        "--scenario" => "What the model says, from a file",
        "--fault" => "Let something go wrong on purpose",
        "--lenient" => "Accept every input form of the oldest descriptions",
        "--dialect" => "Speak in the forms of the oldest descriptions",
        "--help" | "-h" => "Print help",
        "--version" | "-v" => "Print the version",
        _ => "As in Claude Code",
    }
}

/// The whole command line. `agent` passes its flags on as they are, so clap does not know them.
fn command() -> clap::Command {
    Args::command().mut_subcommand("agent", |agent| {
        let agent = agent.disable_help_flag(true).disable_version_flag(true);
        let install =
            Arg::new("--install").long("install").value_name("DIR").help(help("--install"));
        command_line::flags().fold(agent.arg(install), |agent, (flag, takes_value)| {
            let name = flag.trim_start_matches('-');
            let mut letters = name.chars();
            let arg = match (letters.next(), letters.next()) {
                (Some(letter), None) => Arg::new(flag).short(letter),
                _ => Arg::new(flag).long(name),
            };
            let action = if takes_value { ArgAction::Append } else { ArgAction::SetTrue };
            agent.arg(arg.action(action).help(help(flag)))
        })
    })
}

pub(crate) fn completions(completions: &Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut command(), "duologue", &mut script);
    print::data().write_all(&script)?;
    Ok(exit::OK)
}

pub(crate) fn man(man: &Man) -> anyhow::Result<u8> {
    let folder = &man.folder;
    let cannot = || format!("the manual pages cannot be written to {}", folder.display());
    let made = tempfile::tempdir().with_context(cannot)?;
    clap_mangen::generate_to(command(), made.path()).with_context(cannot)?;
    fs::create_dir_all(folder).with_context(cannot)?;
    let mut pages = Vec::new();
    // All of them are checked before the first is written.
    for page in fs::read_dir(made.path()).with_context(cannot)? {
        let page = page.with_context(cannot)?;
        let (path, text) = (folder.join(page.file_name()), fs::read(page.path())?);
        // A page that says the same already is left alone.
        if fs::read(&path).is_ok_and(|there| there == text) {
            continue;
        }
        pages.push((OutputFile::check(&path, man.force)?, text));
    }
    for (file, text) in pages {
        let mut file = file.create(Access::Everyone)?;
        file.write_all(&text).with_context(cannot)?;
        file.finish()?;
    }
    Ok(exit::OK)
}
