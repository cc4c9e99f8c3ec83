//! [`Sessions`]: all sessions below one config directory.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, valid_id};
use crate::head_tail::HeadTail;
use crate::info::{self, Left, Problem, SessionInfo, Sidecars};
use crate::project::{self, MAX_KEY, plain_key, project_key, real_path, worktrees};
use crate::session::StoredSession;
use crate::{js, parallel};

/// The sessions that Claude Code keeps below one config directory.
///
/// ```
/// use duologue_sessions::{ListOptions, Sessions};
///
/// # let folder = tempfile::tempdir()?;
/// # let config_dir = folder.path();
/// let sessions = Sessions::in_config_dir(config_dir);
/// let list = sessions.list(&ListOptions::default().limit(20))?;
/// for info in &list.sessions {
///     println!("{}  {}", info.id, info.summary);
/// }
/// for damaged in &list.damaged {
///     println!("{}: {}", damaged.path.display(), damaged.problem);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sessions {
    config_dir: PathBuf,
    /// The name that all projects share, if there is one.
    project_dir_name: Option<String>,
    project: Option<PathBuf>,
    worktrees: bool,
}

impl Sessions {
    /// The sessions below this config directory: what `CLAUDE_CONFIG_DIR` would name.
    pub fn in_config_dir(config_dir: impl Into<PathBuf>) -> Self {
        Self {
            config_dir: config_dir.into(),
            project_dir_name: None,
            project: None,
            worktrees: true,
        }
    }

    /// The sessions of the current user: below `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    ///
    /// `CLAUDE_CODE_PROJECT_DIR_NAME` is honoured where Claude Code does: together with `CLAUDE_CONFIG_DIR`.
    ///
    /// # Errors
    /// [`Error::NoConfigDir`] if neither `CLAUDE_CONFIG_DIR` nor `HOME` is set.
    pub fn from_env() -> Result<Self> {
        if let Some(config_dir) = std::env::var_os("CLAUDE_CONFIG_DIR") {
            let mut sessions = Self::in_config_dir(project::composed(Path::new(&config_dir)));
            let name = std::env::var("CLAUDE_CODE_PROJECT_DIR_NAME").ok();
            sessions.project_dir_name = name.filter(|name| is_project_dir_name(name));
            return Ok(sessions);
        }
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.ok_or(Error::NoConfigDir)?;
        Ok(Self::in_config_dir(project::composed(&home.join(".claude"))))
    }

    /// Only the sessions of this project and of the other worktrees of its repository.
    #[must_use]
    pub fn in_project(mut self, directory: impl Into<PathBuf>) -> Self {
        self.project = Some(directory.into());
        self
    }

    /// Whether the other worktrees of the project's repository count. They do unless this says otherwise.
    #[must_use]
    pub fn with_worktrees(mut self, include: bool) -> Self {
        self.worktrees = include;
        self
    }

    /// The config directory.
    pub fn config_dir(&self) -> &Path {
        &self.config_dir
    }

    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The folder that holds a folder for each project.
    pub fn projects_dir(&self) -> PathBuf {
        self.config_dir.join("projects")
    }

    /// The folder in which sessions of this directory are kept.
    pub fn project_dir(&self, directory: &Path) -> PathBuf {
        self.projects_dir().join(self.key_of(&real_path(directory)))
    }

    fn key_of(&self, path: &Path) -> String {
        self.project_dir_name.clone().unwrap_or_else(|| project_key(path))
    }

    /// Lists sessions, newest first.
    ///
    /// Of each file the first and the last 64 KiB are read. With a [limit](ListOptions::limit), only as many files as are
    /// needed.
    ///
    /// # Errors
    /// If the projects folder exists and cannot be read.
    pub fn list(&self, options: &ListOptions) -> Result<SessionList> {
        let mut files = self.files()?;
        files.sort_by(|a, b| (b.modified, &b.id).cmp(&(a.modified, &a.id)));
        let mut list = SessionList::default();
        let mut seen = HashSet::new();
        let mut skipped = 0;
        let wanted = options.limit.unwrap_or(usize::MAX);
        // With a limit, files are read in small groups, since most are not needed.
        let group = if options.limit.is_some() { 64 } else { files.len().max(1) };
        for group in files.chunks(group) {
            if list.sessions.len() >= wanted {
                break;
            }
            for (file, read) in group.iter().zip(self.read_all(group, options)) {
                match read {
                    Ok(_) if list.sessions.len() >= wanted => break,
                    Ok(info) => {
                        if !seen.insert(info.id.clone()) {
                            continue;
                        }
                        if skipped < options.offset {
                            skipped += 1;
                        } else {
                            list.sessions.push(info);
                        }
                    }
                    Err(Left::Damaged(problem)) => {
                        let (id, path) = (file.id.clone(), file.path.clone());
                        list.damaged.push(DamagedSession { id, path, problem });
                    }
                    Err(Left::Out) => {}
                }
            }
        }
        Ok(list)
    }

    /// Reads what a list shows of some files, on all cores.
    fn read_all(&self, files: &[Found], options: &ListOptions) -> Vec<Result<SessionInfo, Left>> {
        parallel::map(files, |file| self.read_one(file, options))
    }

    fn read_one(&self, file: &Found, options: &ListOptions) -> Result<SessionInfo, Left> {
        let ends = match HeadTail::read(&file.path) {
            Ok(Some(ends)) => ends,
            Ok(None) => return Err(Left::Damaged(Problem::Empty)),
            Err(error) => return Err(Left::Damaged(Problem::Unreadable(error.to_string()))),
        };
        if let Some(next) = info::continued_in(ends.tail())
            && has_conversation(&file.path.with_file_name(format!("{next}.jsonl")))
        {
            return Err(Left::Out);
        }
        let sidecars = Sidecars::read(&file.path);
        let project = file.project.as_deref();
        let info = SessionInfo::from_ends(&file.id, &file.path, &ends, project, &sidecars)?;
        if info.programmatic && !options.programmatic {
            return Err(Left::Out);
        }
        if let (Some(home), Some(project)) = (info::home_of(&ends), project)
            && is_other_project(Path::new(&home), project, &file.worktrees)
        {
            return Err(Left::Out);
        }
        Ok(info)
    }

    /// All transcripts that a list considers.
    fn files(&self) -> Result<Vec<Found>> {
        let projects = self.projects_dir();
        let mut found = Vec::new();
        let Some(directory) = &self.project else {
            for folder in folders(&projects)? {
                found.extend(transcripts(&folder, None, &[]));
            }
            return Ok(found);
        };
        let real = real_path(directory);
        let trees = if self.worktrees { worktrees(&real) } else { Vec::new() };
        let mut seen = HashSet::new();
        let mut own = vec![real.clone()];
        own.extend(trees.iter().cloned());
        for folder in self.folders_of(&real) {
            if seen.insert(folder.clone()) {
                found.extend(transcripts(&folder, Some(&real), &own));
            }
        }
        if trees.len() > 1 {
            for tree in &trees {
                for folder in self.folders_of(tree) {
                    if seen.insert(folder.clone()) {
                        found.extend(transcripts(&folder, Some(tree), &own));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The folders whose sessions are meant: those of the project and its worktrees, or all.
    pub(crate) fn project_folders(&self) -> Result<Vec<PathBuf>> {
        let Some(directory) = &self.project else { return folders(&self.projects_dir()) };
        let real = real_path(directory);
        let mut directories = vec![real.clone()];
        if self.worktrees {
            directories.extend(worktrees(&real).into_iter().filter(|tree| *tree != real));
        }
        let mut found: Vec<PathBuf> = Vec::new();
        for directory in directories {
            for folder in self.folders_of(&directory) {
                if !found.contains(&folder) {
                    found.push(folder);
                }
            }
        }
        Ok(found)
    }

    /// The folders that may hold sessions of a directory. Usually one.
    ///
    /// Long paths end in a hash, and not every program makes the same: folders with the same beginning count if a session
    /// in them says that it belongs to this directory.
    fn folders_of(&self, path: &Path) -> Vec<PathBuf> {
        let projects = self.projects_dir();
        let folder = projects.join(self.key_of(path));
        let mut found = Vec::new();
        if folder.is_dir() {
            found.push(folder.clone());
        }
        let key = project_key(path);
        if self.project_dir_name.is_some() {
            let plain = projects.join(key);
            if plain != folder && plain.is_dir() {
                found.push(plain);
            }
            return found;
        }
        if key.len() <= MAX_KEY {
            return found;
        }
        let prefix = format!("{}-", key.get(..MAX_KEY).unwrap_or_default());
        let plain = plain_key(&path.to_string_lossy());
        for other in folders(&projects).unwrap_or_default() {
            let name = other.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if other != folder && name.starts_with(&prefix) && belongs_to(&other, &plain) {
                found.push(other);
            }
        }
        found
    }

    /// The session with this id. Without a [project](Self::in_project), all projects are searched.
    ///
    /// # Errors
    /// [`Error::InvalidId`] if the id is not a UUID, [`Error::NotFound`] if there is no such session or its file is empty.
    pub fn get(&self, id: &str) -> Result<StoredSession> {
        let name = format!("{}.jsonl", valid_id(id)?);
        let is_there = |folder: &PathBuf| {
            fs::metadata(folder.join(&name)).is_ok_and(|found| found.is_file() && found.len() > 0)
        };
        let found = |folder: PathBuf, project: Option<PathBuf>| {
            StoredSession::new(self.config_dir.clone(), id, folder.join(&name), project)
        };
        let Some(directory) = &self.project else {
            let folder = folders(&self.projects_dir())?.into_iter().find(is_there);
            return folder.map(|it| found(it, None)).ok_or_else(|| Error::NotFound(id.to_owned()));
        };
        let real = real_path(directory);
        let mut directories = vec![real.clone()];
        if self.worktrees {
            directories.extend(worktrees(&real).into_iter().filter(|tree| *tree != real));
        }
        for directory in directories {
            if let Some(folder) = self.folders_of(&directory).into_iter().find(is_there) {
                return Ok(found(folder, Some(directory)));
            }
        }
        Err(Error::NotFound(id.to_owned()))
    }

    /// The session of an entry of a [list](Self::list).
    pub fn session_of(&self, info: &SessionInfo) -> StoredSession {
        let (config_dir, project) = (self.config_dir.clone(), self.project.clone());
        StoredSession::new(config_dir, &info.id, info.path.clone(), project)
    }

    /// The session with this id, or the only one whose id begins like this. At least four characters are needed.
    ///
    /// # Errors
    /// [`Error::InvalidId`] if this cannot be the beginning of an id, [`Error::NotFound`] if no session fits,
    /// [`Error::Ambiguous`] if several do.
    pub fn find(&self, prefix: &str) -> Result<StoredSession> {
        if valid_id(prefix).is_ok() {
            return self.get(prefix);
        }
        let plain = prefix.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if !plain || !(4..36).contains(&prefix.len()) {
            return Err(Error::InvalidId(prefix.to_owned()));
        }
        let fits =
            |id: &str| id.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix));
        let mut found: Vec<String> =
            self.files()?.into_iter().map(|file| file.id).filter(|id| fits(id)).collect();
        found.sort();
        found.dedup();
        match found.as_slice() {
            [id] => self.get(id),
            [] => Err(Error::NotFound(prefix.to_owned())),
            _ => Err(Error::Ambiguous { prefix: prefix.to_owned(), ids: found }),
        }
    }
}

/// What to list.
///
/// ```
/// use duologue_sessions::ListOptions;
///
/// let third_page = ListOptions::default().limit(50).offset(100);
/// let by_people = ListOptions::default().programmatic(false);
/// # let _ = (third_page, by_people);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListOptions {
    limit: Option<usize>,
    offset: usize,
    programmatic: bool,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self { limit: None, offset: 0, programmatic: true }
    }
}

impl ListOptions {
    /// At most this many sessions. Zero means all, as in the SDKs.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = (limit > 0).then_some(limit);
        self
    }

    /// Leaves out this many of the newest sessions.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Whether sessions of SDKs and daemons are listed. They are unless this says otherwise.
    #[must_use]
    pub fn programmatic(mut self, include: bool) -> Self {
        self.programmatic = include;
        self
    }
}

/// A list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionList {
    /// The sessions, newest first.
    pub sessions: Vec<SessionInfo>,
    /// Files that look like sessions and hold nothing that can be shown. With a limit, only those that were come across.
    pub damaged: Vec<DamagedSession>,
}

/// A file that looks like a session and cannot be shown as one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedSession {
    /// The id in its name.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: Problem,
}

/// A transcript that was found.
#[derive(Debug)]
struct Found {
    id: String,
    path: PathBuf,
    modified: i64,
    project: Option<PathBuf>,
    worktrees: Vec<PathBuf>,
}

/// The folders in a folder. None if it does not exist.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::Io { path: folder.to_path_buf(), source }),
    };
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// The transcripts in the folder of a project.
fn transcripts(folder: &Path, project: Option<&Path>, worktrees: &[PathBuf]) -> Vec<Found> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let name = entry.file_name();
        let id = name.to_str()?.strip_suffix(".jsonl")?;
        valid_id(id).ok()?;
        let path = entry.path();
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
        Some(Found {
            id: id.to_owned(),
            path,
            modified: modified.map_or(0, js::milliseconds),
            project: project.map(Path::to_path_buf),
            worktrees: worktrees.to_vec(),
        })
    });
    found.collect()
}

/// Whether a session in this folder says that it belongs to the directory with this key.
fn belongs_to(folder: &Path, plain: &str) -> bool {
    transcripts(folder, None, &[]).iter().any(|file| {
        let ends = HeadTail::read(&file.path).ok().flatten();
        ends.and_then(|ends| info::home_of(&ends)).is_some_and(|home| plain_key(&home) == plain)
    })
}

/// Whether a transcript holds messages: `continued-in` may name one that was never written.
fn has_conversation(path: &Path) -> bool {
    let Ok(Some(ends)) = HeadTail::read(path) else { return false };
    let mark = "\"parentUuid\":";
    if ends.head.contains(mark) || ends.tail().contains(mark) {
        return true;
    }
    let Ok(entries) = crate::transcript::Entries::open(path) else { return false };
    let mut entries = entries.take_while(Result::is_ok).flatten();
    entries.any(|entry| memchr::memmem::find(entry.bytes(), mark.as_bytes()).is_some())
}

/// Whether a session belongs to another directory whose key happens to be the same, such as `/a-b` and `/a/b`.
fn is_other_project(home: &Path, project: &Path, worktrees: &[PathBuf]) -> bool {
    let same_key =
        |a: &Path, b: &Path| plain_key(&a.to_string_lossy()) == plain_key(&b.to_string_lossy());
    if worktrees.iter().any(|tree| home.starts_with(tree))
        || !same_key(home, project)
        || home == project
    {
        return false;
    }
    let Ok(real) = fs::canonicalize(home) else { return false };
    let project = real_path(project);
    same_key(&real, &project) && real != project
}

/// Whether a name may stand for all projects: what Claude Code accepts in `CLAUDE_CODE_PROJECT_DIR_NAME`.
fn is_project_dir_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let lower = name.to_ascii_lowercase();
    let device = ["con", "prn", "aux", "nul"].contains(&lower.as_str())
        || (lower.len() == 4
            && (lower.starts_with("com") || lower.starts_with("lpt"))
            && lower.ends_with(|last: char| last.is_ascii_digit()));
    (1..=64).contains(&name.len()) && name.bytes().all(plain) && !device
}
