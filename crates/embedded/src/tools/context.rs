//! [`ToolContext`]: where tools work, and what they remember.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use super::files::FileStates;
use super::{Cancel, ShellTasks};
use crate::path;
use crate::permission::HiddenFiles;

/// Where tools work, and what they remember between calls. Clones share it.
///
/// ```
/// use duologue_embedded::tools::{Cancel, ToolContext};
///
/// let context = ToolContext::new(".");
/// let cancel = Cancel::new();
/// // One call, which can be stopped alone.
/// let call = context.with_cancel(cancel.clone());
/// cancel.cancel();
/// assert!(call.cancel().is_cancelled());
/// assert!(!context.cancel().is_cancelled());
/// ```
#[derive(Clone, Debug)]
pub struct ToolContext {
    session: Arc<Session>,
    agent: Arc<Agent>,
    cancel: Cancel,
    tool_use_id: Option<String>,
}

/// What all agents of a session share.
#[derive(Debug)]
struct Session {
    root: PathBuf,
    home: Option<PathBuf>,
    directories: Mutex<Vec<PathBuf>>,
    environment: Mutex<Vec<(String, String)>>,
    hidden: Mutex<HiddenFiles>,
    results: Mutex<Folder>,
    tasks: ShellTasks,
}

/// What each agent has for itself.
#[derive(Debug)]
struct Agent {
    cwd: Mutex<PathBuf>,
    files: Mutex<FileStates>,
    todos: Mutex<Vec<Value>>,
    plan_file: Mutex<Option<PathBuf>>,
}

/// A folder that was given, or one that goes away again.
#[derive(Debug)]
enum Folder {
    Given(PathBuf),
    Temporary(Temporary),
}

/// A folder that is made when it is needed, so that an unused one is never left behind.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    folder: Option<TempDir>,
}

impl Temporary {
    fn new() -> Self {
        let parent = std::env::temp_dir();
        let parent = path::real(&parent).unwrap_or(parent);
        Self { path: parent.join(format!("duologue-{}", uuid::Uuid::new_v4())), folder: None }
    }

    fn make(&mut self) -> io::Result<()> {
        if let (None, Some(parent), Some(name)) =
            (&self.folder, self.path.parent(), self.path.file_name())
        {
            // All of its name is random already.
            let mut builder = tempfile::Builder::new();
            builder.prefix(name).rand_bytes(0);
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            let folder = builder.tempdir_in(parent)?;
            self.folder = Some(folder);
        }
        Ok(())
    }
}

impl ToolContext {
    /// Tools that work in this directory. It is the root of the session: commands that leave the
    /// allowed directories are put back there.
    pub fn new(root: impl AsRef<Path>) -> Self {
        let given = std::path::absolute(root.as_ref()).unwrap_or_else(|_| root.as_ref().into());
        let root = path::real(&given).unwrap_or(given);
        Self {
            agent: Arc::new(Agent::new(root.clone())),
            session: Arc::new(Session {
                root,
                home: path::home(),
                directories: Mutex::default(),
                environment: Mutex::default(),
                hidden: Mutex::default(),
                results: Mutex::new(Folder::Temporary(Temporary::new())),
                tasks: ShellTasks::default(),
            }),
            cancel: Cancel::new(),
            tool_use_id: None,
        }
    }

    /// Keeps outputs that are too large for the model, and those of background tasks, in this folder.
    /// Without it they are in a temporary folder that is removed with the context.
    #[must_use]
    pub fn keep_outputs_in(self, folder: impl Into<PathBuf>) -> Self {
        *lock(&self.session.results) = Folder::Given(folder.into());
        self
    }

    /// The same session, for a sub-agent: the files that it has read and its working directory are its own.
    #[must_use]
    pub fn for_agent(&self) -> Self {
        let agent = Arc::new(Agent::new(self.cwd()));
        let session = Arc::clone(&self.session);
        Self { agent, session, cancel: Cancel::new(), tool_use_id: None }
    }

    /// The same, stopped by this signal.
    #[must_use]
    pub fn with_cancel(&self, cancel: Cancel) -> Self {
        Self { cancel, ..self.clone() }
    }

    /// The same, for the call of this id: its task is known by it.
    #[must_use]
    pub fn with_tool_use_id(&self, id: impl Into<String>) -> Self {
        Self { tool_use_id: Some(id.into()), ..self.clone() }
    }

    /// The call that this is for, if it is known.
    pub fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }

    /// The signal that stops what runs with this context.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The directory that the session was started in.
    pub fn root(&self) -> &Path {
        &self.session.root
    }

    /// The directory that commands run in: they may change it.
    pub fn cwd(&self) -> PathBuf {
        lock(&self.agent.cwd).clone()
    }

    /// Replaces the further directories that tools may work in.
    pub fn set_directories(&self, directories: Vec<PathBuf>) {
        let real = |path: PathBuf| path::real(&path).unwrap_or(path);
        *lock(&self.session.directories) = directories.into_iter().map(real).collect();
    }

    /// Sets variables for every command that starts from now on.
    pub fn set_environment(&self, variables: impl IntoIterator<Item = (String, String)>) {
        let mut environment = lock(&self.session.environment);
        for (name, value) in variables {
            environment.retain(|(other, _)| *other != name);
            environment.push((name, value));
        }
    }

    /// Hides these files from `Grep` and `Glob` from now on.
    pub fn set_hidden_files(&self, hidden: HiddenFiles) {
        *lock(&self.session.hidden) = hidden;
    }

    pub(super) fn hidden_files(&self) -> HiddenFiles {
        lock(&self.session.hidden).clone()
    }

    /// Sets the file of the plan.
    pub fn set_plan_file(&self, file: Option<PathBuf>) {
        *lock(&self.agent.plan_file) = file;
    }

    /// The file of the plan.
    pub fn plan_file(&self) -> Option<PathBuf> {
        lock(&self.agent.plan_file).clone()
    }

    /// Where a path of an input really leads.
    pub(crate) fn real_path(&self, path: &str) -> Option<PathBuf> {
        self.resolve(path).ok().map(|path| path.real)
    }

    /// What runs in the background.
    pub fn tasks(&self) -> &ShellTasks {
        &self.session.tasks
    }

    /// What is to be done, as `TodoWrite` last wrote it down.
    pub fn todos(&self) -> Vec<Value> {
        lock(&self.agent.todos).clone()
    }

    /// The path that a model means, absolute, and where it really leads.
    pub(super) fn resolve(&self, path: &str) -> io::Result<Resolved> {
        let cwd = self.cwd();
        let expanded = path::expanded(path, &cwd, self.session.home.as_deref());
        let real = path::real(&expanded).ok_or_else(|| {
            io::Error::other(format!("ELOOP: too many symbolic links encountered, open '{path}'"))
        })?;
        Ok(Resolved { shown: path::fold(&expanded), real })
    }

    pub(super) fn set_todos(&self, todos: Vec<Value>) -> Vec<Value> {
        std::mem::replace(&mut lock(&self.agent.todos), todos)
    }

    pub(super) fn files(&self) -> MutexGuard<'_, FileStates> {
        lock(&self.agent.files)
    }

    pub(super) fn environment(&self) -> Vec<(String, String)> {
        lock(&self.session.environment).clone()
    }

    /// Takes over the directory that a command ended in. False if it is not an allowed one.
    pub(super) fn enter(&self, cwd: PathBuf) -> bool {
        let inside = cwd.starts_with(&self.session.root)
            || lock(&self.session.directories).iter().any(|allowed| cwd.starts_with(allowed));
        *lock(&self.agent.cwd) = if inside { cwd } else { self.session.root.clone() };
        inside
    }

    /// Where the folder for outputs is, or will be once there is something to put there.
    pub(crate) fn outputs_path(&self) -> PathBuf {
        match &*lock(&self.session.results) {
            Folder::Given(path) => path.clone(),
            Folder::Temporary(folder) => folder.path.clone(),
        }
    }

    /// The folder for outputs, which exists from now on. The model is asked to read there: it should be
    /// allowed to.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn outputs(&self) -> io::Result<PathBuf> {
        let path = self.outputs_path();
        let mut folder = lock(&self.session.results);
        if let Folder::Temporary(temporary) = &mut *folder {
            temporary.make()?;
        }
        drop(folder);
        create_private_folder(&path)?;
        Ok(path)
    }
}

/// Makes a folder, and those above it, for its owner alone.
fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// How a file for its owner alone is opened. Its content is replaced.
pub(super) fn private_file() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

impl Agent {
    fn new(cwd: PathBuf) -> Self {
        Self {
            cwd: Mutex::new(cwd),
            files: Mutex::default(),
            todos: Mutex::default(),
            plan_file: Mutex::default(),
        }
    }
}

/// A path, as it was meant and where it leads.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) shown: PathBuf,
    pub(super) real: PathBuf,
}

impl Resolved {
    pub(super) fn shown(&self) -> String {
        self.shown.to_string_lossy().into_owned()
    }
}

/// Locks; a holder that panicked left nothing half done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
