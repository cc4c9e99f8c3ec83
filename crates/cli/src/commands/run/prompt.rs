//! Reads the prompt.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::args::Run;
use crate::limit::Limit;

/// The prompt: the argument, the file, or both. The time limit applies: a pipe may never end.
pub(super) fn read(args: &Run, limit: &Limit) -> anyhow::Result<String> {
    let stdin = Path::new("-");
    let typed = args.prompt.as_deref().filter(|prompt| *prompt != "-");
    let text = match (typed, args.file.as_deref()) {
        (Some(typed), Some(file)) => format!("{typed}\n\n{}", from(file, limit)?),
        (Some(typed), None) => typed.to_owned(),
        (None, Some(file)) => {
            anyhow::ensure!(
                args.prompt.is_none() || file == stdin,
                "the prompt cannot come from both stdin and --file"
            );
            from(file, limit)?
        }
        (None, None) => {
            anyhow::ensure!(
                args.prompt.is_some() || !std::io::stdin().is_terminal(),
                "there is no prompt: give it as an argument, with --file, or on stdin"
            );
            from(stdin, limit)?
        }
    };
    anyhow::ensure!(
        !text.trim().is_empty(),
        "the prompt is empty: give it as an argument, with --file, or on stdin"
    );
    Ok(text)
}

fn from(path: &Path, limit: &Limit) -> anyhow::Result<String> {
    if !limit.is_set() {
        return whole(path);
    }
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    let path = path.to_owned();
    // The thread ends with this process at the latest.
    std::thread::spawn(move || send.send(whole(&path)));
    match receive.recv_timeout(limit.left().unwrap_or(Duration::MAX)) {
        Ok(text) => text,
        Err(_) => Err(limit.error("the prompt could not be read in time").into()),
    }
}

fn whole(path: &Path) -> anyhow::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("could not read the prompt from stdin")?;
        return Ok(text);
    }
    let context = || format!("could not read the prompt from {}", path.display());
    std::fs::read_to_string(path).with_context(context)
}
