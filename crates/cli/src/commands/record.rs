//! `duologue record`.

mod child;
mod install;
mod pump;
mod signals;
mod streams;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use duologue_tape::{Header, Recorder, Stopped, is_stream};
use duologue_terminal::{Foreign, line, shown};
use serde_json::json;

use crate::args::Record;
use crate::exit;
use crate::output_file::exists;

pub(crate) use child::start;

use child::Agent;
use signals::Signals;
use streams::Streams;

const MIB: usize = 1024 * 1024;

/// The most tapes of one name.
const MAX_NUMBER: u32 = 100_000;

/// How long to wait for a slow disk at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait at the end for a message on a stderr that is not read.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Record) -> anyhow::Result<u8> {
    if let Some(folder) = &args.install {
        install::record(folder, args)?;
        return Ok(exit::OK);
    }
    let Some(output) = &args.output else { anyhow::bail!("--output is missing") };
    let path = tape_path(output, args)?;
    if let Some(code) = child::refuse_missing(&args.command) {
        // An empty tape would block the next attempt.
        return Ok(code);
    }
    let streams = Streams::open()?;
    let messages = streams.messages();
    let (printed, was_printed) = mpsc::channel();
    let stopped = {
        let messages = messages.clone();
        move |reason: &dyn Display| {
            messages.print(&shown!("recording stopped early: {}", line(Foreign::of(reason))));
            let _ = printed.send(());
        }
    };
    let options = || {
        let stopped = stopped.clone();
        let options = Recorder::options().queue(args.queue.saturating_mul(MIB));
        let options = options.on_stop(move |reason: &Stopped| stopped(reason));
        match args.redact {
            true => options.redact(crate::commands::redact::redactor(&args.paths)),
            false => options,
        }
    };
    let create = |path: &Path| match args.force {
        true => options().create(path, &header(args)),
        false => options().create_new(path, &header(args)),
    };
    let recorder = match create_numbered(&path, args.number, create) {
        // The conversation continues, as with a disk that becomes full later.
        Err(error) if is_full(&error) => {
            stopped(&format!("{} could not be created: {error}", path.display()));
            options().create(Path::new("/dev/null"), &header(args))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => anyhow::bail!(exists(&path)),
        other => other,
    };
    let recorder = recorder.with_context(|| format!("could not create {}", path.display()))?;
    let tap = recorder.tap();

    // Before the agent is started, so that no signal is lost.
    let signals = Signals::register()?;
    let agent = Agent::start(&args.command)?;
    signals.forward_to(agent.target(), tap.clone())?;
    streams.detach()?;
    let end = agent.run(streams, &tap)?;
    tap.exit(end.exit());

    match recorder.finish(FLUSH_TIMEOUT) {
        Ok(counts) if args.redact => {
            messages.print(&shown!("replaced {}", line(Foreign::of(&counts))));
            let warning = crate::commands::redact::nothing_chosen(&args.paths, &counts);
            warning.into_iter().for_each(|warning| messages.print(&warning));
        }
        Ok(_) => {}
        Err(_) => {
            let _ = was_printed.recv_timeout(MESSAGE_TIMEOUT);
        }
    }
    Ok(end.follow())
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Creates the tape. With `number`, it is called `talk-2.tape` if `talk.tape` exists.
fn create_numbered<T>(
    path: &Path,
    number: bool,
    create: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let is_taken = |created: &io::Result<T>| {
        number && matches!(created, Err(error) if error.kind() == io::ErrorKind::AlreadyExists)
    };
    let mut created = create(path);
    let mut number = 2;
    while is_taken(&created) && number <= MAX_NUMBER {
        created = create(&numbered(path, number));
        number += 1;
    }
    created
}

/// `talk-2.tape.zst` for `talk.tape.zst`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The name may begin with a dot.
    let end = name.char_indices().skip(1).find(|(_, letter)| *letter == '.');
    let (stem, extension) = name.split_at(end.map_or(name.len(), |(end, _)| end));
    path.with_file_name(format!("{stem}-{number}{extension}"))
}

/// The path of the tape; in a folder, one with a new name.
fn tape_path(output: &Path, args: &Record) -> anyhow::Result<PathBuf> {
    if !output.is_dir() {
        // Fail before anything else is done. A file that appears later is not replaced either.
        let is_there = std::fs::symlink_metadata(output).is_ok() && !is_stream(output);
        anyhow::ensure!(args.force || args.number || !is_there, exists(output));
        return Ok(output.to_owned());
    }
    let millis = since_1970().as_millis();
    let name = format!("{}-{millis}-{}.tape", program(args), std::process::id());
    Ok(output.join(name))
}

fn header(args: &Record) -> Header {
    let argv = args.command.iter().map(|word| word.to_string_lossy().into_owned());
    let mut header = Header::new(program(args), argv);
    header.extra.insert("recorded_at".to_owned(), json!(since_1970().as_secs()));
    header
        .extra
        .insert("recorder".to_owned(), json!(concat!("duologue ", env!("CARGO_PKG_VERSION"))));
    header
}

/// The agent's name, without its folder.
fn program(args: &Record) -> String {
    let program = args.command.first().map(Path::new).and_then(Path::file_name);
    program.map_or_else(|| "agent".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
