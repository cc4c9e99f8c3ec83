//! [`SpawnError`]: why an agent did not start.

use std::io;
use std::path::{Path, PathBuf};

/// Why an agent did not start. Each says what to look at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such program.
    #[error("{} was not found: give the path of the program, or put it on the PATH", .0.display())]
    NotFound(PathBuf),
    /// The program is there, but what its first line names is not.
    #[error("{} is there, but the interpreter that its first line names is not", .0.display())]
    NoInterpreter(PathBuf),
    /// The program is a directory.
    #[error("{} is a directory, not a program", .0.display())]
    IsDirectory(PathBuf),
    /// The program may not be executed.
    #[error("{} may not be executed: check its permissions (chmod +x)", .0.display())]
    NotExecutable(PathBuf),
    /// The directory to start in is missing.
    #[error("the working directory {} does not exist", .0.display())]
    NoCwd(PathBuf),
    /// The directory to start in is none, or may not be entered.
    #[error("the working directory {} cannot be entered: {source}", path.display())]
    BadCwd {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The arguments and the environment are longer than the system takes.
    #[error(
        "the system does not take so long a command line ({length} bytes of arguments, and the \
         environment): shorten them"
    )]
    TooLong {
        /// How long the arguments are, in bytes.
        length: usize,
    },
    /// What is too long for an argument could not be written to a file.
    #[error("a temporary file for a long option could not be written: {0}")]
    File(#[source] io::Error),
    /// There is no tokio runtime here.
    #[error("an agent is started from within a tokio runtime, and there is none here")]
    NoRuntime,
    /// Anything else.
    #[error("{} could not be started: {source}", program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What the system's answer means. It says "not found" of four different things.
pub(super) fn diagnose(
    program: &Path,
    cwd: Option<&Path>,
    length: usize,
    source: io::Error,
) -> SpawnError {
    use io::ErrorKind as Kind;

    let program = program.to_owned();
    if source.kind() == Kind::ArgumentListTooLong {
        return SpawnError::TooLong { length };
    }
    if let Some(cwd) = cwd
        && matches!(source.kind(), Kind::NotFound | Kind::NotADirectory | Kind::PermissionDenied)
    {
        let path = cwd.to_owned();
        // Looking at what is inside takes the right to enter.
        match std::fs::metadata(cwd.join(".")) {
            Ok(_) => {}
            Err(error) if error.kind() == Kind::NotFound => return SpawnError::NoCwd(path),
            Err(source) => return SpawnError::BadCwd { path, source },
        }
    }
    let found = std::fs::metadata(&program);
    match source.kind() {
        // A name without a directory is looked up by the system: what lies here is not meant.
        Kind::NotFound | Kind::NotADirectory if !has_directory(&program) || found.is_err() => {
            SpawnError::NotFound(program)
        }
        Kind::NotFound => SpawnError::NoInterpreter(program),
        Kind::PermissionDenied if found.is_ok_and(|found| found.is_dir()) => {
            SpawnError::IsDirectory(program)
        }
        Kind::PermissionDenied => SpawnError::NotExecutable(program),
        _ => SpawnError::Other { program, source },
    }
}

/// Whether this is a path rather than a name to look up.
pub(super) fn has_directory(program: &Path) -> bool {
    program.parent().is_some_and(|parent| !parent.as_os_str().is_empty()) || program.is_absolute()
}
