//! `record --install`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use duologue::find::Search;
use duologue_terminal::{line, print, shown};

use crate::args::Record;
use crate::install::{self, Script};

/// Writes a `claude` to this folder that records.
pub(super) fn record(folder: &Path, args: &Record) -> anyhow::Result<()> {
    let folder = install::folder(folder)?;
    let agent = match args.command.first().map(PathBuf::from) {
        // Find the real one now: later, the `claude` on the PATH is the one that we write.
        Some(program) if program == Path::new("claude") => find(&folder)?,
        // It may be started from any directory.
        Some(program) if program.components().count() > 1 => std::path::absolute(program)?,
        Some(program) => program,
        None => find(&folder)?,
    };
    // The shell would read it as an option.
    anyhow::ensure!(
        !agent.as_os_str().as_encoded_bytes().starts_with(b"-"),
        "{} cannot be the name of a program; use a path",
        agent.display()
    );
    let agent: Vec<OsString> = std::iter::once(agent.into_os_string())
        .chain(args.command.iter().skip(1).cloned())
        .collect();
    let tapes = match &args.output {
        Some(output) => std::path::absolute(output)?,
        None => {
            let tapes = folder.join("tapes");
            fs::create_dir_all(&tapes)?;
            tapes
        }
    };
    let mut flags = vec![OsString::from("--queue"), args.queue.to_string().into()];
    if args.redact {
        flags.push("--redact".into());
    }
    for path in &args.paths {
        flags.extend(["--path".into(), OsString::from(path)]);
    }
    let script = Script::made_by("record")
        .code("case \"${1-}\" in -v|--version|-h|--help) exec ")
        .words(&agent)?
        .code("\"$@\";; esac\ntape=${DUOLOGUE_TAPE-}\n[ -n \"$tape\" ] || tape=")
        .word(&tapes)?
        .code("\nexec ")
        .word(install::us()?)?
        .code("record --number ")
        .words(&flags)?
        .code("--output \"$tape\" -- ")
        .words(&agent)?
        .code("\"$@\"\n");
    let path = install::claude(&folder, &script)?;
    print::err(&shown!("{} records to {}", line(path.as_path()), line(tapes.as_path())));
    Ok(())
}

/// The installed `claude` that was not written by `record --install`.
fn find(folder: &Path) -> anyhow::Result<PathBuf> {
    let ours = |program: &PathBuf| {
        let beside = program.parent().and_then(|entry| fs::canonicalize(entry).ok());
        beside.is_some_and(|entry| entry == folder) || install::is_made_by(program, "record")
    };
    Search::of_this_process()
        .all()
        .into_iter()
        .find(|program| !ours(program))
        .context("there is no `claude` on the PATH; name the agent after --")
}
