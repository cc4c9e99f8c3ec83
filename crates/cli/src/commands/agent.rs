//! `duologue agent`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use duologue_agent::embedded;

use crate::args::Agent;
use crate::{exit, runtime};

pub(crate) fn run(args: &Agent) -> anyhow::Result<u8> {
    if let Some(folder) = install_folder(&args.flags) {
        return install(Path::new(folder));
    }
    runtime::block_on(async { Ok(embedded::run(args.flags.iter().cloned()).await) })
}

/// The value of `--install`, which stands alone.
fn install_folder(flags: &[String]) -> Option<&str> {
    match flags {
        [flag, folder] if flag == "--install" => Some(folder),
        [flag] => flag.strip_prefix("--install="),
        _ => None,
    }
}

/// Writes an executable named `claude`, for hosts that take one path and no arguments.
fn install(folder: &Path) -> anyhow::Result<u8> {
    let program = std::env::current_exe().context("this program cannot be found")?;
    let program = program.to_str().context("the path of this program is no text")?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let path = folder.join("claude");
    let script = format!("#!/bin/sh\nexec {} agent \"$@\"\n", shell_words::quote(program));
    let context = || format!("{} cannot be written", path.display());
    fs::write(&path, script).with_context(context)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).with_context(context)?;
    anstream::println!("{}", path.display());
    Ok(exit::OK)
}
