//! `--install`: a `claude` that is something else.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::args::Record;
use crate::install::{self, MADE_BY, word};
use crate::print;
use crate::visible::{line, shown};

/// A `claude` in this folder that records.
pub(super) fn record(folder: &Path, args: &Record) -> anyhow::Result<()> {
    let folder = install::folder(folder)?;
    let agent = match args.command.first().map(PathBuf::from) {
        // Looked for now: when it is started, the `claude` that is found first is the one we make.
        Some(program) if program == Path::new("claude") => find(&folder)?,
        // It is started from anywhere.
        Some(program) if program.components().count() > 1 => std::path::absolute(program)?,
        Some(program) => program,
        None => find(&folder)?,
    };
    let agent = word(agent.as_os_str())?;
    let leading = args.command.iter().skip(1).map(|argument| word(argument));
    let leading = leading.collect::<anyhow::Result<Vec<_>>>()?;
    let agent = std::iter::once(agent).chain(leading).collect::<Vec<_>>().join(" ");
    let tapes = match &args.output {
        Some(output) => std::path::absolute(output)?,
        None => {
            let tapes = folder.join("tapes");
            fs::create_dir_all(&tapes)?;
            tapes
        }
    };
    let mut flags = format!(" --queue {}", args.queue);
    if args.redact {
        flags.push_str(" --redact");
    }
    for path in &args.paths {
        flags.push_str(" --path ");
        flags.push_str(&word(OsStr::new(path))?);
    }
    let us = install::us()?;
    let tapes = word(tapes.as_os_str())?;
    let script = format!(
        "{MADE_BY}record --install`: {agent}, recorded.\n\
         case \"${{1-}}\" in -v|--version|-h|--help) exec {agent} \"$@\";; esac\n\
         tape=${{DUOLOGUE_TAPE:-{tapes}}}\n\
         exec {us} record --number{flags} --output \"$tape\" -- {agent} \"$@\"\n"
    );
    let path = install::claude(&folder, &script)?;
    print::err(&shown!("{} records to {}", line(path.as_path()), line(&tapes)));
    Ok(())
}

/// The `claude` on the PATH that is not the one we make, and records nothing by itself.
fn find(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|entry| fs::canonicalize(entry).is_ok_and(|entry| entry != folder))
        .map(|entry| entry.join("claude"))
        .filter(|program| can_run(program) && !install::is_made_by(program, "record"))
        .find_map(|program| std::path::absolute(program).ok())
        .context("there is no `claude` on the PATH; name the agent after --")
}

fn can_run(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(program);
    metadata.is_ok_and(|program| program.is_file() && program.permissions().mode() & 0o111 != 0)
}
