//! `duologue replay`.

mod agent;
mod host;

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;

use anyhow::Context as _;
use duologue_protocol::{Frame, Line, LineDecoder};
use duologue_terminal::{line, print, shown};

use crate::args::{Alike, OnMismatch, Replay, Speed};
use crate::exit;
use crate::install::{self, Script};

/// The variable with the default tape.
const TAPE: &str = "DUOLOGUE_TAPE";

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

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

/// Writes a `claude` that replays.
fn install(args: &Replay) -> anyhow::Result<u8> {
    let folder = install::folder(args.install.as_deref().context("no folder")?)?;
    let alike = match args.alike {
        Alike::Exact => "exact",
        Alike::Loose => "loose",
        Alike::Any => "any",
    };
    let mut flags = vec!["--match".to_owned(), alike.to_owned()];
    if args.on_mismatch == OnMismatch::Continue {
        flags.extend(["--on-mismatch", "continue"].map(str::to_owned));
    }
    if let Speed::Times(factor) = args.speed {
        flags.extend(["--speed".to_owned(), factor.to_string()]);
    }
    let tape = args.tape.as_ref().map(std::path::absolute).transpose()?.unwrap_or_default();
    let script = Script::made_by("replay")
        .code("tape=${DUOLOGUE_TAPE-}\n[ -n \"$tape\" ] || tape=")
        .word(tape)?
        .code(
            "\n[ -n \"$tape\" ] || { echo 'duologue: set DUOLOGUE_TAPE to the tape to replay' >&2; exit 2; }\nexec ",
        )
        .word(install::us()?)?
        .code("replay ")
        .words(flags)?
        .code("\"$tape\" -- \"$@\"\n");
    let path = install::claude(&folder, &script)?;
    print::err(&shown!("{} replays {}", line(path.as_path()), TAPE));
    Ok(exit::OK)
}

/// Sends the lines of a stream until it ends. Stops if the receiver is gone.
fn read_lines<T>(mut stream: impl Read, sender: &SyncSender<T>, message: impl Fn(Line) -> T) {
    let mut decoder = LineDecoder::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let mut rest = chunk.get(..count).unwrap_or_default();
        while let Some(frame) = decoder.next(&mut rest) {
            if let Frame::Line(line) = frame
                && sender.send(message(line)).is_err()
            {
                return;
            }
        }
    }
    if let Some(Frame::Line(line)) = decoder.finish() {
        let _ = sender.send(message(line));
    }
}
