//! `duologue replay`.

mod agent;
mod host;

use std::path::PathBuf;

use anyhow::Context as _;

use crate::args::{Alike, OnMismatch, Replay, Speed};
use crate::exit;
use crate::install::{self, MADE_BY, word};
use crate::print;
use crate::visible::{line, shown};

/// Where the tape is, if nobody says so.
const TAPE: &str = "DUOLOGUE_TAPE";

pub(crate) fn run(args: &Replay) -> anyhow::Result<u8> {
    if args.install.is_some() {
        return install(args);
    }
    let mut rest = args.rest.as_slice();
    let tape = match (&args.tape, std::env::var_os(TAPE)) {
        (Some(tape), _) => tape.clone(),
        (None, Some(tape)) if !tape.is_empty() => PathBuf::from(tape),
        _ => anyhow::bail!("name a tape, or set {TAPE}"),
    };
    if rest.first().is_some_and(|word| word == "--") {
        rest = rest.get(1..).unwrap_or_default();
    }
    if args.as_host {
        anyhow::ensure!(!rest.is_empty(), "name the agent after --");
        return host::run(&tape, rest, args);
    }
    let rest: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    agent::run(&tape, &rest, args)
}

/// A `claude` that replays.
fn install(args: &Replay) -> anyhow::Result<u8> {
    let folder = install::folder(args.install.as_deref().context("no folder")?)?;
    let us = install::us()?;
    let mut flags = String::new();
    let alike = match args.alike {
        Alike::Exact => "exact",
        Alike::Loose => "loose",
        Alike::Any => "any",
    };
    flags.push_str(&format!(" --match {alike}"));
    if args.on_mismatch == OnMismatch::Continue {
        flags.push_str(" --on-mismatch continue");
    }
    if let Speed::Times(factor) = args.speed {
        flags.push_str(&format!(" --speed {factor}"));
    }
    let tape = match &args.tape {
        Some(tape) => word(std::path::absolute(tape)?.as_os_str())?,
        None => "''".to_owned(),
    };
    let script = format!(
        "{MADE_BY}replay --install`: the agent on a tape.\n\
         tape=${{{TAPE}:-{tape}}}\n\
         [ -n \"$tape\" ] || {{ echo 'duologue: set {TAPE} to the tape that is to be replayed' >&2; exit 2; }}\n\
         exec {us} replay{flags} \"$tape\" -- \"$@\"\n"
    );
    let path = install::claude(&folder, &script)?;
    print::err(&shown!("{} replays {}", line(path.as_path()), TAPE));
    Ok(exit::OK)
}
