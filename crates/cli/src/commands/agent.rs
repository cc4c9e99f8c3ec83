//! `duologue agent`.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use duologue_agent::embedded;

use crate::args::Agent;
use crate::install::{self, MADE_BY};
use crate::{exit, runtime};

pub(crate) fn run(args: &Agent) -> anyhow::Result<u8> {
    if let Some(folder) = install_folder(&args.flags)? {
        return install(Path::new(folder));
    }
    runtime::block_on(async { Ok(embedded::run(args.flags.iter().cloned()).await) })
}

/// The value of `--install`, which stands alone.
fn install_folder(flags: &[String]) -> anyhow::Result<Option<&str>> {
    Ok(match flags {
        [flag, folder] if flag == "--install" => Some(folder),
        [flag] if flag.starts_with("--install=") => flag.strip_prefix("--install="),
        [flag, ..] if flag == "--install" || flag.starts_with("--install=") => anyhow::bail!(
            "--install takes a folder and nothing else: duologue agent --install DIR\n\
             Other flags go to the claude in it, or into its environment: DUOLOGUE_SCENARIO, DUOLOGUE_FAULT"
        ),
        _ => None,
    })
}

/// Writes an executable named `claude`, for hosts that take one path and no arguments.
fn install(folder: &Path) -> anyhow::Result<u8> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let us = install::us()?;
    let script = format!("{MADE_BY}agent --install`.\nexec {us} agent \"$@\"\n");
    let path = install::claude(folder, &script)?;
    anstream::println!("{}", path.display());
    Ok(exit::OK)
}
