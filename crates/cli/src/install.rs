//! Programs that stand in for `claude`.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::output_file::{Access, OutputFile};

/// How every program begins that was made here. What made it follows.
pub(crate) const MADE_BY: &str = "#!/bin/sh\n# Made by `duologue ";

/// Writes `claude` into this folder, and tells where it is. One that was not made here stays: it might
/// be the real one.
pub(crate) fn claude(folder: &Path, script: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join("claude");
    let is_ours =
        fs::symlink_metadata(&path).is_ok_and(|there| there.is_file()) && is_made_by(&path, "");
    anyhow::ensure!(
        is_ours || fs::symlink_metadata(&path).is_err(),
        "{} exists already, and was not made by duologue; name another folder",
        path.display()
    );
    // Another process may be starting the old one: it is replaced as a whole.
    let mut file = OutputFile::check(&path, is_ours)?.create(Access::Program)?;
    file.write_all(script.as_bytes())
        .with_context(|| format!("could not write {}", path.display()))?;
    file.finish()?;
    Ok(path)
}

/// Whether this program was made by this command of ours.
pub(crate) fn is_made_by(program: &Path, command: &str) -> bool {
    let mut start = Vec::new();
    let read = fs::File::open(program).and_then(|file| file.take(256).read_to_end(&mut start));
    read.is_ok() && start.starts_with(format!("{MADE_BY}{command}").as_bytes())
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
