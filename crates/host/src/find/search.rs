//! [`Search`]: the places where a CLI may lie.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// What installers call it.
#[cfg(not(windows))]
const NAMES: &[&str] = &["claude"];
/// What installers call it, the program itself before the script that loses its output.
#[cfg(windows)]
const NAMES: &[&str] = &["claude.exe", "claude.cmd"];

/// Where installers put it, below the home directory.
const IN_HOME: &[&str] =
    &[".local/bin", ".claude/local", ".claude/bin", ".npm-global/bin", ".bun/bin", ".yarn/bin"];

/// Where installers put it for everybody.
const FOR_ALL: &[&str] = &["/usr/local/bin", "/opt/homebrew/bin"];

/// Finds the CLI: the one that is named, or else the first on the `PATH` and in the usual places.
///
/// A name without a directory is looked up on the `PATH`.
///
/// # Errors
/// If there is none. The error lists where it looked, and tells how to install it.
pub fn cli(explicit: Option<&Path>) -> Result<PathBuf, NotFound> {
    Search::of_this_process().explicit(explicit).find()
}

/// Where to look. [`cli`] looks in the environment of this process; here, another can be given.
///
/// ```
/// use duologue::find::Search;
///
/// let error = Search::nowhere().path("/no/such/place").find().unwrap_err();
/// assert!(error.to_string().contains("/no/such/place"));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Search {
    explicit: Option<PathBuf>,
    path: Option<OsString>,
    home: Option<PathBuf>,
    cwd: Option<PathBuf>,
    for_all: Vec<PathBuf>,
}

impl Search {
    /// Nowhere yet.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// On the `PATH` of this process and in the usual places.
    pub fn of_this_process() -> Self {
        Self {
            explicit: None,
            path: std::env::var_os("PATH"),
            home: std::env::home_dir(),
            cwd: std::env::current_dir().ok(),
            for_all: FOR_ALL.iter().map(PathBuf::from).collect(),
        }
    }

    /// Only this one, if there is one.
    #[must_use]
    pub fn explicit(mut self, program: Option<&Path>) -> Self {
        self.explicit = program.map(Path::to_owned);
        self
    }

    /// This `PATH`.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The usual places below this home directory.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The usual places below this working directory, from which relative paths count too.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Looks. The path that comes out is absolute if the working directory is known.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self) -> Result<PathBuf, NotFound> {
        let mut looked = Vec::new();
        for place in self.places() {
            if looked.iter().any(|known: &Looked| known.path == place) {
                continue;
            }
            let verdict = judge(&place);
            if verdict == Verdict::Program {
                return Ok(place);
            }
            looked.push(Looked { path: place, verdict });
        }
        Err(NotFound { explicit: self.explicit.clone(), looked })
    }

    fn places(&self) -> Vec<PathBuf> {
        if let Some(program) = &self.explicit {
            let by_name = program.file_name() == Some(program.as_os_str());
            return if by_name {
                self.on_path(program.as_os_str()).collect()
            } else {
                vec![self.absolute(program)]
            };
        }
        let names = || NAMES.iter().map(OsStr::new);
        let on_path = names().flat_map(|name| self.on_path(name));
        let below = |base: &Option<PathBuf>, directories: &[&str]| {
            let base = base.iter();
            base.flat_map(|base| directories.iter().map(|at| base.join(at))).collect::<Vec<_>>()
        };
        let mut usual = below(&self.home, IN_HOME);
        usual.extend(self.for_all.iter().cloned());
        // Last: what lies where one happens to be is the least trustworthy.
        usual.extend(below(&self.cwd, &["node_modules/.bin"]));
        let usual = usual.iter().flat_map(|at| names().map(|name| at.join(name)));
        on_path.chain(usual).collect()
    }

    /// An empty entry of the `PATH` would mean the working directory. That is an old mistake, and
    /// not honoured.
    fn on_path(&self, name: &OsStr) -> impl Iterator<Item = PathBuf> {
        let path = self.path.clone().unwrap_or_default();
        let entries = std::env::split_paths(&path).filter(|entry| !entry.as_os_str().is_empty());
        let found: Vec<_> = entries.map(|entry| self.absolute(&entry.join(name))).collect();
        found.into_iter()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        match &self.cwd {
            Some(cwd) => cwd.join(path),
            None => path.to_owned(),
        }
    }
}

fn judge(path: &Path) -> Verdict {
    let Ok(found) = std::fs::metadata(path) else { return Verdict::Missing };
    if found.is_dir() {
        return Verdict::Directory;
    }
    if found.len() == 0 || !found.is_file() {
        return Verdict::Empty;
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 == 0 {
        return Verdict::NotExecutable;
    }
    Verdict::Program
}

/// What was found at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// A program.
    Program,
    /// Nothing.
    Missing,
    /// A directory.
    Directory,
    /// A file that nobody may execute.
    NotExecutable,
    /// An empty file, as a broken download leaves it, or no file at all.
    Empty,
}

/// A place that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Looked {
    /// Where.
    pub path: PathBuf,
    /// What is there.
    pub verdict: Verdict,
}

/// There is no CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotFound {
    /// What was asked for, if it was named.
    pub explicit: Option<PathBuf>,
    /// Where it was looked for, in order.
    pub looked: Vec<Looked>,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.explicit {
            Some(program) => write!(f, "{} is no program that can be run", program.display())?,
            None => f.write_str("Claude Code was not found")?,
        }
        f.write_str(". Looked at:")?;
        for Looked { path, verdict } in &self.looked {
            write!(f, "\n  {}", path.display())?;
            f.write_str(match verdict {
                Verdict::Program | Verdict::Missing => "",
                Verdict::Directory => " (a directory)",
                Verdict::NotExecutable => " (not executable: chmod +x)",
                Verdict::Empty => " (empty)",
            })?;
        }
        if self.looked.is_empty() {
            f.write_str("\n  nothing: the PATH is empty")?;
        }
        if self.explicit.is_some() {
            return f.write_str(
                "\nName one that is there, or none, to use the Claude Code of this machine.",
            );
        }
        f.write_str(
            "\nInstall it with `npm install -g @anthropic-ai/claude-code` or \
             `curl -fsSL https://claude.ai/install.sh | bash`, or name the program to use.",
        )
    }
}
