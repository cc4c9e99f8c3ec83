//! Executables named `claude`: shell scripts in which every argument is one quoted word.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::output_file::{Access, OutputFile};

/// The beginning of every script that is written here. The subcommand follows.
const MADE_BY: &str = "#!/bin/sh\n# Made by `duologue ";

/// Builds a script. Text from outside is added only by [`word`](Self::word).
#[derive(Clone, Debug)]
pub(crate) struct Script {
    text: Vec<u8>,
}

impl Script {
    /// An empty script of this subcommand.
    pub(crate) fn made_by(command: &'static str) -> Self {
        Self { text: format!("{MADE_BY}{command} --install`.\n").into_bytes() }
    }

    /// Adds a literal.
    #[must_use]
    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.text.extend_from_slice(code.as_bytes());
        self
    }

    /// Adds one quoted word and a space.
    ///
    /// # Errors
    /// If it contains a zero byte.
    pub(crate) fn word(mut self, word: impl AsRef<OsStr>) -> anyhow::Result<Self> {
        self.text.extend_from_slice(&quoted(word.as_ref())?);
        self.text.push(b' ');
        Ok(self)
    }

    /// Adds words.
    pub(crate) fn words(
        self,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> anyhow::Result<Self> {
        words.into_iter().try_fold(self, Self::word)
    }
}

/// Quotes bytes as one word of a shell.
fn quoted(word: &OsStr) -> anyhow::Result<Vec<u8>> {
    anyhow::ensure!(!word.as_bytes().contains(&0), "{word:?} contains a zero byte");
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    Ok(quoted)
}

/// Writes `claude` to this folder, and returns its path. Does not replace one that was not written here: it might be the real
/// one.
pub(crate) fn claude(folder: &Path, script: &Script) -> anyhow::Result<PathBuf> {
    let path = folder.join("claude");
    let is_ours =
        fs::symlink_metadata(&path).is_ok_and(|there| there.is_file()) && is_made_by(&path, "");
    anyhow::ensure!(
        is_ours || fs::symlink_metadata(&path).is_err(),
        "{} exists already, and was not written by duologue; choose another folder",
        path.display()
    );
    // Another process may be starting the old one, so it is replaced atomically.
    let mut file = OutputFile::check(&path, is_ours)?.create(Access::Program)?;
    file.write_all(&script.text).with_context(|| format!("could not write {}", path.display()))?;
    file.finish()?;
    Ok(path)
}

/// Whether this program was written by this subcommand.
pub(crate) fn is_made_by(program: &Path, command: &str) -> bool {
    let mut start = Vec::new();
    let read = fs::File::open(program).and_then(|file| file.take(256).read_to_end(&mut start));
    read.is_ok() && start.starts_with(format!("{MADE_BY}{command}").as_bytes())
}

/// Creates the folder if necessary, and returns its real path.
pub(crate) fn folder(folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    Ok(fs::canonicalize(folder)?)
}

/// The path of this program.
pub(crate) fn us() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("this program cannot be found")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::process::Command;

    use super::*;

    /// The words of a script, as a shell reads them.
    fn run(shell: &str, words: &[OsString]) -> Vec<OsString> {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let script = Script::made_by("test").code("exec ").word("printf").unwrap();
        let script = script.word("%s\\0").unwrap().words(words).unwrap();
        let path = claude(folder, &script.code("\"$@\"\n")).unwrap();
        let output = Command::new(shell).arg(path).arg("end").current_dir(folder).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        // Nothing else was run.
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
        let mut read: Vec<OsString> = output
            .stdout
            .split(|byte| *byte == 0)
            .map(|word| OsString::from_vec(word.to_vec()))
            .collect();
        assert_eq!(read.pop(), Some(OsString::new()));
        assert_eq!(read.pop(), Some("end".into()));
        read
    }

    #[test]
    fn special_characters_stay_in_one_word() {
        let words: Vec<OsString> = [
            "",
            " ",
            "a b",
            "'",
            "''",
            "\"",
            "\\",
            "\\'",
            "$HOME",
            "$(touch x)",
            "`touch x`",
            "a\nb",
            "\n",
            "x\ntouch x\n",
            "#",
            "*",
            "~",
            "-n",
            "--",
            "!",
            "{a,b}",
            "a;touch x",
            "&",
            "|",
            ">x",
            "\r\n",
            "\t",
            "é",
            "\u{202e}",
            "%s",
            "a'$(touch x)'b",
            "'; touch x; '",
        ]
        .map(OsString::from)
        .to_vec();
        let raw = OsString::from_vec(vec![0xff, b'\'', 0xfe, b'\n', 0x80]);
        let words: Vec<OsString> = words.into_iter().chain([raw]).collect();
        for shell in ["/bin/sh", "/bin/bash", "/bin/dash"] {
            if Path::new(shell).exists() {
                assert_eq!(run(shell, &words), words, "{shell}");
            }
        }
        let zero = OsString::from_vec(b"a\0b".to_vec());
        assert!(Script::made_by("test").word(zero).is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 64, ..Default::default() })]

        #[test]
        fn any_bytes_stay_one_word(
            words in proptest::collection::vec(proptest::collection::vec(1_u8..=255, 0..20), 1..6)
        ) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
            proptest::prop_assert_eq!(run("/bin/sh", &words), words);
        }
    }
}
