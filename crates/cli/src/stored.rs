//! Stored sessions as input of a command.

use std::fs::File;
use std::io::{BufWriter, Seek as _};
use std::path::Path;

use anyhow::Context as _;
use duologue_model::Prices;
use duologue_sessions::{Sessions, StoredSession, UsageOptions};
use duologue_tape::write_stored;

/// The sessions of the user.
///
/// # Errors
/// If there is no config directory, or the project is not a directory.
pub(crate) fn sessions(
    config_dir: Option<&Path>,
    project: Option<&Path>,
) -> anyhow::Result<Sessions> {
    let sessions = match config_dir {
        Some(folder) => Sessions::in_config_dir(std::path::absolute(folder)?),
        None => Sessions::from_env()?,
    };
    let Some(project) = project else { return Ok(sessions) };
    Ok(sessions.in_project(std::path::absolute(project)?))
}

/// The session that this argument names, if it is not a file and looks like the id of one.
pub(crate) fn named(path: &Path) -> Option<StoredSession> {
    let id = path.to_str().filter(|_| !path.exists())?;
    Sessions::from_env().ok()?.get(id).ok()
}

/// The tape of a session, in a temporary file.
///
/// # Errors
/// If the session cannot be read, or the file cannot be written.
pub(crate) fn tape(session: &StoredSession) -> anyhow::Result<File> {
    let context = || format!("session {} could not be read", session.id());
    let file = tempfile::tempfile().with_context(context)?;
    let written = write_stored(session, BufWriter::new(file)).with_context(context)?;
    let mut file = written.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Counts responses with the known prices and those of `DUOLOGUE_PRICES`.
///
/// # Errors
/// If that file cannot be read.
pub(crate) fn usage_options() -> anyhow::Result<UsageOptions> {
    let prices = Prices::from_env()?;
    Ok(UsageOptions::default().price(move |model, tokens| {
        let mut counted = duologue_model::Tokens::default();
        counted.input = tokens.input;
        counted.output = tokens.output;
        counted.cache_read = tokens.cache_read;
        counted.cache_write = tokens.cache_write;
        counted.cache_write_1h = tokens.cache_write_1h;
        prices.cost(model, &counted)
    }))
}
