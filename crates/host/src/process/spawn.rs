//! [`Spawn`]: how a process is started.

use std::ffi::OsString;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use duologue_protocol::launch::{EnvChange, LaunchPlan, PlannedFile};
use tempfile::TempDir;
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::child::Slot;
use super::control::{Beginning, Process};
use super::error::{SpawnError, diagnose, has_directory};
use super::guard::{Guard, GuardedFolder};
use super::stderr::{OnLine, Tail, drain};
use super::user::OsUser;

/// How a process is started.
pub(crate) struct Spawn {
    program: PathBuf,
    leading: Vec<OsString>,
    plan: Option<LaunchPlan>,
    env: Vec<(OsString, EnvChange)>,
    on_stderr: Option<OnLine>,
    user: Option<OsUser>,
}

/// A started process, and its pipes.
#[derive(Debug)]
pub(crate) struct Started {
    /// The process. Dropping it kills the process.
    pub(crate) process: Process,
    /// Its stdin. Dropping it closes the pipe.
    pub(crate) stdin: ChildStdin,
    /// Its stdout.
    pub(crate) stdout: ChildStdout,
}

impl fmt::Debug for Spawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn")
            .field("program", &self.program)
            .field("leading", &self.leading)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Spawn {
    /// Starts this program: a path, or a name that is looked up on the PATH.
    pub(crate) fn new(program: impl Into<PathBuf>) -> Self {
        let (leading, env) = (Vec::new(), Vec::new());
        Self { program: program.into(), leading, plan: None, env, on_stderr: None, user: None }
    }

    /// Arguments before those of the plan, such as the script that an interpreter runs.
    #[must_use]
    pub(crate) fn leading(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.leading.extend(args.into_iter().map(Into::into));
        self
    }

    /// The arguments, the environment, the directory and the files.
    #[must_use]
    pub(crate) fn plan(mut self, plan: LaunchPlan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Changes a variable, after the plan has.
    #[must_use]
    pub(crate) fn env(mut self, name: impl Into<OsString>, change: EnvChange) -> Self {
        self.env.push((name.into(), change));
        self
    }

    /// Runs the process as another user of the system.
    #[must_use]
    pub(crate) const fn user(mut self, user: Option<OsUser>) -> Self {
        self.user = user;
        self
    }

    /// Sets a callback for each line of stderr. It must not block: the agent would wait for it.
    #[must_use]
    pub(crate) fn on_stderr(mut self, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        self.on_stderr = Some(Box::new(on_line));
        self
    }

    /// Starts it, in a group of its own, with pipes for stdin, stdout and stderr.
    ///
    /// # Errors
    /// If it cannot be started, or if there is no runtime.
    pub(crate) fn start(self) -> Result<Started, SpawnError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(SpawnError::NoRuntime);
        }
        let Self { program, leading, mut plan, env, on_stderr, user } = self;
        let guard = Guard::ours();
        let files = match &mut plan {
            Some(plan) => write_files(plan, guard.as_ref().ok(), user).map_err(SpawnError::File)?,
            None => None,
        };
        // A relative path starts here, not in the working directory of the agent.
        let program = if has_directory(&program) {
            std::path::absolute(&program).unwrap_or(program)
        } else {
            program
        };
        let mut command = Command::new(&program);
        command.args(&leading);
        let mut cwd = None;
        if let Some(plan) = plan {
            command.args(&plan.args);
            change(&mut command, &plan.env);
            cwd = plan.cwd;
        }
        change(&mut command, &env);
        if let Some(cwd) = &cwd {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        if let Some(user) = user {
            user.apply(&mut command);
        }

        let mut child = command.spawn().map_err(|source| {
            if let Some(user) = user
                && source.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
            {
                return SpawnError::User { uid: user.id(), source };
            }
            let args = command.as_std().get_args();
            diagnose(&program, cwd.as_deref(), args.map(|arg| arg.len() + 1).sum(), source)
        })?;
        let pipes = (child.id(), child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(pid), Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            let _ = child.start_kill();
            let source = io::Error::other("it has no pipes");
            return Err(SpawnError::Other { program, source });
        };
        let (guarded, unguarded) = match guard.and_then(|guard| guard.watch(pid)) {
            Ok(guarded) => (Some(guarded), None),
            Err(error) => (None, Some(notice(&error))),
        };
        let tail = Tail::default();
        let drain = tokio::spawn(drain(stderr, tail.clone(), on_stderr));
        let slot = Slot::new(child, pid, guarded);
        let process = Process::new(Beginning { pid, slot, tail, drain, unguarded, files });
        Ok(Started { process, stdin, stdout })
    }
}

fn notice(error: &io::Error) -> String {
    format!(
        "if this program is killed, its agents continue: the guard could not be started ({error})"
    )
}

fn change(command: &mut Command, changes: &[(OsString, EnvChange)]) {
    for (name, change) in changes {
        match change {
            EnvChange::Set(value) => command.env(name, value),
            EnvChange::Remove => command.env_remove(name),
        };
    }
}

/// The folder of the plan's files. Dropping it removes the folder; if this program is killed, the guard
/// removes it.
#[derive(Debug)]
pub(super) struct Files {
    /// Dropped first, so that the folder is guarded until it is removed.
    #[expect(dead_code, reason = "removed when it is dropped")]
    folder: TempDir,
    #[expect(dead_code, reason = "guarded until it is dropped")]
    guarded: Option<GuardedFolder>,
}

/// Writes the plan's files, readable by their owner only, and puts their paths into the plan. The folder is
/// guarded before it has any content.
fn write_files(
    plan: &mut LaunchPlan,
    guard: Option<&Arc<Guard>>,
    user: Option<OsUser>,
) -> io::Result<Option<Files>> {
    if plan.files.is_empty() {
        return Ok(None);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix("duologue-");
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let directory = builder.tempdir()?;
    let guarded = guard.and_then(|guard| guard.watch_folder(directory.path()).ok());
    for at in 0..plan.files.len() {
        let Some(file) = plan.files.get(at) else { break };
        let path = directory.path().join(format!("{at}{}", file.suffix));
        write_file(&path, file)?;
        if let Some(user) = user {
            user.own(&path)?;
        }
        plan.place(at, &path);
    }
    if let Some(user) = user {
        user.own(directory.path())?;
    }
    Ok(Some(Files { folder: directory, guarded }))
}

fn write_file(path: &Path, file: &PlannedFile) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(file.contents.as_bytes())
}
