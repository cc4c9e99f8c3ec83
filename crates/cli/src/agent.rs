//! Finding the agent to start.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use duologue::{Session, SessionBuilder, find};
use duologue_terminal::{line, ours, print, shown};

use crate::install;

/// An agent that can be started.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) program: PathBuf,
    /// The arguments before all others.
    pub(crate) leading: Vec<OsString>,
    /// The folder of its settings and conversations, if it is not that of Claude Code.
    pub(crate) config: Option<PathBuf>,
}

impl Agent {
    /// The agent of `--agent`, or else Claude Code. Every command that needs an agent uses this.
    ///
    /// # Errors
    /// [`find::NotFound`] if there is none; another error if the command cannot be parsed.
    pub(crate) fn resolve(command: &[String]) -> anyhow::Result<Self> {
        let mut words = words(command)?.into_iter();
        let program = words.next().map(PathBuf::from);
        let leading = words.map(OsString::from).collect();
        let program = find::cli(program.as_deref())?;
        Ok(Self { program, leading, config: None })
    }

    /// Whether this is the embedded agent: this program, or one that it has installed.
    pub(crate) fn is_ours(&self) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let us = std::env::current_exe().ok().and_then(|us| real(&us));
        let agent = self.leading.first().is_some_and(|word| word == "agent");
        (agent && us.is_some() && real(&self.program) == us)
            || install::is_made_by(&self.program, "agent")
    }

    /// The same, or the embedded agent if `--agent` is not given and Claude Code is not installed.
    ///
    /// # Errors
    /// If the command cannot be parsed, or its program does not exist.
    pub(crate) fn resolve_or_embedded(command: &[String]) -> anyhow::Result<Self> {
        match Self::resolve(command) {
            Err(error) if command.is_empty() && error.is::<find::NotFound>() => {
                print::err(&ours("Claude Code is not installed: using the embedded agent."));
                let local = error.downcast_ref::<find::NotFound>().and_then(|error| {
                    let local =
                        |it: &&find::Looked| it.verdict == find::Verdict::InWorkingDirectory;
                    error.looked.iter().find(local)
                });
                if let Some(local) = local {
                    print::err(&shown!(
                        "{} is in the working directory and was not run; --agent runs it.",
                        line(local.path.as_path())
                    ));
                }
                Self::embedded()
            }
            resolved => resolved,
        }
    }

    /// The embedded agent: this program.
    ///
    /// # Errors
    /// If this program cannot be found.
    pub(crate) fn embedded() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        // It must not mix its conversations with those of Claude Code, unless it is run in its place.
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let config = match set("CLAUDE_CONFIG_DIR") {
            Some(_) => None,
            None => own_folder(set("XDG_DATA_HOME").map(PathBuf::from)),
        };
        Ok(Self { program, leading: vec![OsString::from("agent")], config })
    }

    /// A session with it.
    pub(crate) fn session(self) -> SessionBuilder {
        let builder = Session::builder().program(self.program).program_args(self.leading);
        match self.config {
            Some(config) => builder.config_dir(config),
            None => builder,
        }
    }
}

/// The folder of the embedded agent: `XDG_DATA_HOME/duologue`.
fn own_folder(data: Option<PathBuf>) -> Option<PathBuf> {
    let usual = || std::env::home_dir().map(|home| home.join(".local/share"));
    data.or_else(usual).map(|data| data.join("duologue"))
}

/// The words of a command: one flag per word, or one text with shell quotes. The path of an existing file
/// is one word, even with spaces.
fn words(command: &[String]) -> anyhow::Result<Vec<String>> {
    match command {
        [path] if Path::new(path).is_file() => Ok(vec![path.clone()]),
        [text] => {
            let words = shell_words::split(text);
            let words = words.with_context(|| format!("--agent {text:?} cannot be parsed"))?;
            anyhow::ensure!(!words.is_empty(), "--agent is empty");
            Ok(words)
        }
        words => Ok(words.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::words;

    fn of(command: &[&str]) -> Vec<String> {
        words(&command.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_command_is_one_text_or_its_words() {
        assert_eq!(of(&["node 'my cli.js' -x"]), ["node", "my cli.js", "-x"]);
        assert_eq!(of(&["node", "my cli.js"]), ["node", "my cli.js"]);
        assert!(of(&[]).is_empty());
        assert!(words(&["'open".to_owned()]).is_err());
        assert!(words(&[String::new()]).is_err());
    }

    #[test]
    fn a_path_with_spaces_is_one_word() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("an agent");
        std::fs::write(&path, "x").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(of(&[path]), [path]);
    }
}
