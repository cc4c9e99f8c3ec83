//! `duologue agent`.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use duologue_embedded::Setup;
use duologue_terminal::print;

use crate::args::Agent;
use crate::install::{self, Script};
use crate::{exit, runtime};

pub(crate) fn run(args: &Agent) -> anyhow::Result<u8> {
    if let Some((folder, flags)) = install_folder(&args.flags)? {
        return install(Path::new(folder), flags);
    }
    runtime::block_on(async { Ok(duologue_embedded::run(args.flags.iter().cloned()).await) })
}

/// The value of `--install`, which must come first, and the other flags.
fn install_folder(flags: &[String]) -> anyhow::Result<Option<(&str, &[String])>> {
    Ok(match flags {
        [flag, folder, rest @ ..] if flag == "--install" && !folder.starts_with('-') => {
            Some((folder, rest))
        }
        [flag, ..] if flag == "--install" => {
            anyhow::bail!("--install takes a folder: duologue agent --install DIR [FLAGS]")
        }
        [flag, rest @ ..] => flag.strip_prefix("--install=").map(|folder| (folder, rest)),
        [] => None,
    })
}

/// Writes an executable named `claude` that runs this agent with these flags, for hosts that take a path without arguments.
fn install(folder: &Path, flags: &[String]) -> anyhow::Result<u8> {
    // Fail now and not when it is started.
    Setup::with_args(".", flags).map_err(anyhow::Error::msg)?;
    let named = |flag: &String| flag.strip_prefix("--scenario=").map(str::to_owned);
    let next = flags.iter().skip_while(|flag| *flag != "--scenario").nth(1);
    if let Some(scenario) = flags.iter().find_map(named).or_else(|| next.cloned()) {
        duologue_model::Scenario::read(&scenario)?;
    }
    let folder = &install::folder(folder)?;
    let mut script = Script::made_by("agent").code("exec ").word(install::us()?)?.code("agent ");
    let mut is_path = false;
    for flag in flags {
        // It may be started from any directory.
        let absolute = |path: &str| std::path::absolute(path).map(|path| path.into_os_string());
        let flag = match flag.strip_prefix("--scenario=") {
            Some(path) => {
                let mut flag = OsString::from("--scenario=");
                flag.push(absolute(path)?);
                flag
            }
            None if is_path => absolute(flag)?,
            None => OsString::from(flag),
        };
        is_path = flag == "--scenario";
        script = script.word(&flag)?;
    }
    let path = install::claude(folder, &script.code("\"$@\"\n"))?;
    writeln!(print::data(), "{}", path.display())?;
    Ok(exit::OK)
}
