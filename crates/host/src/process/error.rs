//! [`SpawnError`]: why an agent did not start.

use std::io;
use std::path::{Path, PathBuf};

/// Why an agent could not be started. The messages say what to check.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program does not exist.
    #[error("{} was not found: give the path of the program, or put it on the PATH", .0.display())]
    NotFound(PathBuf),
    /// The program exists, but the interpreter in its first line does not.
    #[error("the interpreter that the first line of {} names does not exist", .0.display())]
    NoInterpreter(PathBuf),
    /// The program is a directory.
    #[error("{} is a directory, not a program", .0.display())]
    IsDirectory(PathBuf),
    /// The program is not executable.
    #[error("{} is not executable: check its permissions (chmod +x)", .0.display())]
    NotExecutable(PathBuf),
    /// The working directory does not exist.
    #[error("the working directory {} does not exist", .0.display())]
    NoCwd(PathBuf),
    /// The working directory is not a directory, or not accessible.
    #[error("the working directory {} cannot be entered: {source}", path.display())]
    BadCwd {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The arguments and the environment are too long for the system.
    #[error(
        "the command line is too long for the system ({length} bytes of arguments, and the \
         environment): shorten it"
    )]
    TooLong {
        /// The length of the arguments, in bytes.
        length: usize,
    },
    /// The temporary file for an option that is too long for an argument could not be written.
    #[error("a temporary file for a long option could not be written: {0}")]
    File(#[source] io::Error),
    /// The folder for a spare agent could not be created.
    #[error("the folder for a spare agent could not be created: {0}")]
    Parking(#[source] io::Error),
    /// There is no tokio runtime.
    #[error("an agent can only be started within a tokio runtime")]
    NoRuntime,
    /// This program may not start a process as another user.
    #[error("the agent cannot be started as user {uid}: {source}. Only root can use another user")]
    #[non_exhaustive]
    User {
        /// The user id.
        uid: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// Any other error.
    #[error("{} could not be started: {source}", program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Finds the cause of a failed start. The system reports "not found" for four different causes.
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
        // This needs the permission to enter the directory.
        match std::fs::metadata(cwd.join(".")) {
            Ok(_) => {}
            Err(error) if error.kind() == Kind::NotFound => return SpawnError::NoCwd(path),
            Err(source) => return SpawnError::BadCwd { path, source },
        }
    }
    let found = std::fs::metadata(&program);
    match source.kind() {
        // The system looks up a name without a directory on the PATH, not in the working directory.
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
