//! `duologue completions` and `duologue man`: generated from the command line.

use std::fs;
use std::io::Write as _;

use anyhow::Context as _;
use clap::{Arg, ArgAction, CommandFactory as _};
use duologue_agent::command_line::flags;
use duologue_terminal::print;

use crate::args::{Args, Completions, Man};
use crate::exit;
use crate::output_file::{Access, OutputFile};

/// The whole command line, with the flags of `agent`, which clap does not parse.
fn command() -> clap::Command {
    Args::command().mut_subcommand("agent", |agent| {
        let agent = agent.disable_help_flag(true).disable_version_flag(true);
        flags().fold(agent, |agent, flag| {
            let short = |name: &str| name.strip_prefix('-')?.chars().next().filter(|c| *c != '-');
            let long = flag.aliases.iter().filter_map(|name| name.strip_prefix("--"));
            let arg = Arg::new(flag.name).long(flag.name.trim_start_matches('-')).help(flag.doc);
            let arg = arg.visible_aliases(long);
            let arg =
                flag.aliases.iter().find_map(|name| short(name)).into_iter().fold(arg, Arg::short);
            agent.arg(match flag.value.name() {
                Some(name) => arg.action(ArgAction::Append).value_name(name),
                None => arg.action(ArgAction::SetTrue),
            })
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
