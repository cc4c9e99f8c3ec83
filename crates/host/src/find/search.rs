//! [`Search`]: where to look for a CLI.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The name of the program.
const NAME: &str = "claude";

/// Where installers put it, below the home directory.
const IN_HOME: &[&str] =
    &[".local/bin", ".claude/local", ".claude/bin", ".npm-global/bin", ".bun/bin", ".yarn/bin"];

/// Where installers put it for all users.
const FOR_ALL: &[&str] = &["/usr/local/bin", "/opt/homebrew/bin"];

/// Finds the CLI: the one that is named, or else the first of these:
///
/// 1. `claude` in each directory of the `PATH`, in order;
/// 2. the places where installers put it in the home directory: `.local/bin`, `.claude/local`,
///    `.claude/bin`, `.npm-global/bin`, `.bun/bin`, `.yarn/bin`;
/// 3. `/usr/local/bin` and `/opt/homebrew/bin`.
///
/// A program in the working directory is never found this way: a checkout from somewhere else must not decide
/// what runs. Empty and relative entries of the `PATH` are skipped, and so is every program in the working
/// directory or in the Git repository around it, also through a symbolic link. Give the path of such a program
/// to run it.
///
/// A name without a directory is looked up on the `PATH`, with the same restrictions.
///
/// # Errors
/// If there is none. The error lists where it looked, and how to install it.
pub fn cli(explicit: Option<&Path>) -> Result<PathBuf, NotFound> {
    Search::of_this_process().explicit(explicit).find()
}

/// Where to look. [`cli`] uses the environment of this process; a `Search` can use another one.
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

/// A place to look at.
struct Place {
    path: PathBuf,
    /// Programs in the working directory are ignored.
    implicit: bool,
}

impl Search {
    /// An empty search.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// The `PATH` of this process and the usual places.
    pub fn of_this_process() -> Self {
        Self {
            explicit: None,
            path: std::env::var_os("PATH"),
            home: std::env::home_dir(),
            cwd: std::env::current_dir().ok(),
            for_all: FOR_ALL.iter().map(PathBuf::from).collect(),
        }
    }

    /// Looks only for this program, if there is one.
    #[must_use]
    pub fn explicit(mut self, program: Option<&Path>) -> Self {
        self.explicit = program.map(Path::to_owned);
        self
    }

    /// Sets the `PATH`.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the home directory, for the usual places below it.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Sets the working directory, where a relative explicit path starts. Other programs in it are not found.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Finds the first program. Its path is absolute if the working directory is set.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self) -> Result<PathBuf, NotFound> {
        let mut looked = Vec::new();
        for (path, verdict) in self.look() {
            if verdict == Verdict::Program {
                return Ok(path);
            }
            looked.push(Looked { path, verdict });
        }
        Err(NotFound { explicit: self.explicit.clone(), looked })
    }

    /// Finds all programs, in the order of the search.
    pub fn all(&self) -> Vec<PathBuf> {
        let programs = self.look().filter(|(_, verdict)| *verdict == Verdict::Program);
        programs.map(|(path, _)| path).collect()
    }

    /// All places, each once, and what was found there.
    fn look(&self) -> impl Iterator<Item = (PathBuf, Verdict)> {
        let local = self.local();
        let mut seen = Vec::new();
        self.places().into_iter().filter_map(move |place| {
            if seen.contains(&place.path) {
                return None;
            }
            seen.push(place.path.clone());
            let mut verdict = judge(&place.path);
            if verdict == Verdict::Program && place.implicit && is_in(&place.path, &local) {
                verdict = Verdict::InWorkingDirectory;
            }
            Some((place.path, verdict))
        })
    }

    fn places(&self) -> Vec<Place> {
        if let Some(program) = &self.explicit {
            let by_name = program.file_name() == Some(program.as_os_str());
            return if by_name {
                self.on_path(program.as_os_str())
            } else {
                vec![Place { path: self.absolute(program), implicit: false }]
            };
        }
        let mut places = self.on_path(OsStr::new(NAME));
        // An empty or relative home directory would mean the working directory.
        let home = self.home.iter().filter(|home| home.is_absolute());
        let in_home = home.flat_map(|home| IN_HOME.iter().map(|at| home.join(at)));
        let usual = in_home.chain(self.for_all.iter().cloned());
        places.extend(usual.map(|at| Place { path: at.join(NAME), implicit: true }));
        places
    }

    /// Skips empty and relative entries of the `PATH`, which mean the working directory.
    fn on_path(&self, name: &OsStr) -> Vec<Place> {
        let path = self.path.clone().unwrap_or_default();
        let entries = std::env::split_paths(&path).filter(|entry| entry.is_absolute());
        entries.map(|entry| Place { path: entry.join(name), implicit: true }).collect()
    }

    /// The folders whose programs are ignored: the working directory and the repository around it. Not the home
    /// directory, a directory above it, or one above the usual places: programs are installed there.
    fn local(&self) -> Vec<PathBuf> {
        let Some(cwd) = &self.cwd else { return Vec::new() };
        let real = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.clone());
        let repository = real.ancestors().find(|folder| folder.join(".git").exists());
        let folders = [Some(cwd.as_path()), Some(real.as_path()), repository];
        let home = self.home.iter().flat_map(|home| {
            [Some(home.clone()), std::fs::canonicalize(home).ok()].into_iter().flatten()
        });
        let installed: Vec<PathBuf> = home.chain(FOR_ALL.iter().map(PathBuf::from)).collect();
        let above = |folder: &Path| installed.iter().any(|place| place.starts_with(folder));
        folders.into_iter().flatten().filter(|folder| !above(folder)).map(Path::to_owned).collect()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        match &self.cwd {
            Some(cwd) => cwd.join(path),
            None => path.to_owned(),
        }
    }
}

/// Whether a program is in one of these folders, also through a link.
fn is_in(program: &Path, folders: &[PathBuf]) -> bool {
    let folder = program.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    let real = std::fs::canonicalize(program).ok();
    let forms = [Some(program.to_owned()), folder, real];
    forms.iter().flatten().any(|form| folders.iter().any(|folder| form.starts_with(folder)))
}

fn judge(path: &Path) -> Verdict {
    let Ok(found) = std::fs::metadata(path) else { return Verdict::Missing };
    if found.is_dir() {
        return Verdict::Directory;
    }
    if found.len() == 0 || !found.is_file() {
        return Verdict::Empty;
    }
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
    /// A file that is not executable.
    NotExecutable,
    /// An empty file, as after a broken download, or a special file.
    Empty,
    /// A program in the working directory. It is used only if its path is given.
    InWorkingDirectory,
}

/// A place of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Looked {
    /// The path.
    pub path: PathBuf,
    /// What was found.
    pub verdict: Verdict,
}

/// No CLI was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotFound {
    /// The explicit program, if one was given.
    pub explicit: Option<PathBuf>,
    /// The places of the search, in order.
    pub looked: Vec<Looked>,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.explicit {
            Some(program) => write!(f, "{} is not an executable program", program.display())?,
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
                Verdict::InWorkingDirectory => {
                    " (in the working directory: give its path to run it)"
                }
            })?;
        }
        if self.looked.is_empty() {
            f.write_str("\n  nothing: the PATH is empty")?;
        }
        if self.explicit.is_some() {
            return f.write_str(
                "\nGive the path of a program, or none to use the Claude Code of this machine.",
            );
        }
        f.write_str(
            "\nInstall it with `npm install -g @anthropic-ai/claude-code` or \
             `curl -fsSL https://claude.ai/install.sh | bash`, or give the path of a program.",
        )
    }
}
