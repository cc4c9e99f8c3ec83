//! `duologue completions` and `duologue man`: generated from the command line.

use std::fs;
use std::io::Write as _;

use anyhow::Context as _;
use clap::{Arg, ArgAction, CommandFactory as _};
use duologue_agent::command_line;
use duologue_terminal::print;

use crate::args::{Args, Completions, Man};
use crate::exit;
use crate::output_file::{Access, OutputFile};

/// The short help of a flag of `agent`. `duologue agent --help` has the full one.
fn help(flag: &str) -> &'static str {
    match flag {
        "--install" => "Write an executable named claude to this folder that runs this agent",
        "--scenario" => "Play the model from a scenario file",
        "--fault" => "Inject a fault",
        "--lenient" => "Accept all legacy input forms",
        "--dialect" => "Write legacy output forms",
        "--help" | "-h" => "Print help",
        "--version" | "-v" => "Print the version",
        _ => "As in Claude Code",
    }
}

/// The whole command line, with the flags of `agent`, which clap does not parse.
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
    // Check all of them before the first is written.
    for page in fs::read_dir(made.path()).with_context(cannot)? {
        let page = page.with_context(cannot)?;
        let (path, text) = (folder.join(page.file_name()), fs::read(page.path())?);
        // Leave an identical page alone.
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
