//! Programs that stand in for `claude`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Writes `claude` into this folder, and tells where it is.
pub(crate) fn claude(folder: &Path, script: &str) -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("claude");
    let context = || format!("could not write {}", path.display());
    fs::write(&path, script).with_context(context)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).with_context(context)?;
    Ok(path)
}

/// The folder, which is made if it is not there.
pub(crate) fn folder(folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    Ok(fs::canonicalize(folder)?)
}

/// This program, as a word of a shell.
pub(crate) fn us() -> anyhow::Result<String> {
    word(std::env::current_exe()?.as_os_str())
}

/// One word of a shell, whatever is in it.
pub(crate) fn word(text: &OsStr) -> anyhow::Result<String> {
    let text = text.to_str().context("a path is not UTF-8")?;
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}
