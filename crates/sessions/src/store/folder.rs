//! [`FolderStore`]: sessions in a folder, laid out as Claude Code lays them out.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::{ListedSession, SessionKey, SessionStore, SessionSummary};
use crate::error::{Error, Result, valid_name};
use crate::js;
use crate::session::{create_private, create_private_dir};
use crate::transcript::{Entries, Entry};

/// Keeps sessions in a folder. It is laid out like a config directory, so that
/// [`Sessions::in_config_dir`](crate::Sessions::in_config_dir) and Claude Code itself can read it.
///
/// A batch is written at once. If that fails, the transcript is cut back to where it was; if the program is killed, the torn line
/// is passed over.
#[derive(Debug)]
pub struct FolderStore {
    folder: PathBuf,
    hasher: RandomState,
    /// Hashes of the UUIDs in transcripts that were written lately.
    uuids: Mutex<HashMap<PathBuf, HashSet<u64>>>,
}

/// Of how many transcripts the UUIDs are remembered.
const REMEMBERED: usize = 64;

impl FolderStore {
    /// Keeps sessions below this folder. It is created when something is stored.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), hasher: RandomState::new(), uuids: Mutex::default() }
    }

    fn project(&self, project_key: &str) -> Result<PathBuf> {
        Ok(self.folder.join("projects").join(valid_name(project_key)?))
    }

    fn transcript(&self, key: &SessionKey) -> Result<PathBuf> {
        key.validate()?;
        let project = self.project(&key.project_key)?;
        Ok(match &key.subpath {
            None => project.join(format!("{}.jsonl", key.session_id)),
            Some(subpath) => project.join(&key.session_id).join(format!("{subpath}.jsonl")),
        })
    }

    fn summary(&self, project_key: &str, session_id: &str) -> Result<PathBuf> {
        let folder = self.folder.join("summaries").join(valid_name(project_key)?);
        Ok(folder.join(format!("{}.json", valid_name(session_id)?)))
    }

    /// The UUIDs in a transcript.
    fn read_uuids(&self, path: &Path) -> Result<HashSet<u64>> {
        let mut found = HashSet::new();
        if path.exists() {
            for entry in Entries::open(path)? {
                let uuid = entry.map_err(Error::io(path))?.uuid();
                found.extend(uuid.map(|uuid| self.hasher.hash_one(uuid)));
            }
        }
        Ok(found)
    }

    fn fold(&self, key: &SessionKey, entries: &[Entry], transcript: &Path) -> Result<()> {
        let path = self.summary(&key.project_key, &key.session_id)?;
        let previous = fs::read(&path).ok().and_then(|bytes| parse(&key.session_id, &bytes));
        let summary = SessionSummary::fold(previous, key, entries);
        let modified = modified(transcript)?;
        let text = json!({ "modified": modified, "data": summary.data }).to_string();
        let folder = path.parent().unwrap_or(&self.folder);
        create_private_dir(folder)?;
        let draft = folder.join(format!("{}.draft", uuid::Uuid::new_v4()));
        let written = create_private(&draft)
            .and_then(|mut file| file.write_all(text.as_bytes()).map_err(Error::io(&draft)))
            .and_then(|()| fs::rename(&draft, &path).map_err(Error::io(&path)));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

fn parse(session_id: &str, bytes: &[u8]) -> Option<SessionSummary> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    let data: Map<String, Value> = value.get_mut("data")?.as_object_mut().map(std::mem::take)?;
    Some(SessionSummary::new(session_id, value["modified"].as_i64()?, data))
}

fn modified(path: &Path) -> Result<i64> {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified());
    time.map(js::milliseconds).map_err(Error::io(path))
}

/// Writes a batch at the end of a file, all of it or nothing.
fn append(file: &mut File, batch: &[u8]) -> std::io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut text = Vec::with_capacity(batch.len() + 1);
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.push(b'\n');
        }
    }
    text.extend_from_slice(batch);
    file.write_all(&text).inspect_err(|_| {
        let _ = file.set_len(length);
    })
}

impl SessionStore for FolderStore {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        let path = self.transcript(key)?;
        if entries.is_empty() {
            return Ok(());
        }
        // One writer at a time: the summary is read, changed and written.
        let mut all = self.uuids.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(&path) {
            all.clear();
        }
        if !all.contains_key(&path) {
            all.insert(path.clone(), self.read_uuids(&path)?);
        }
        let known = all.entry(path.clone()).or_default();
        let mut new = Vec::new();
        let mut hashes = HashSet::new();
        let mut batch = Vec::new();
        for entry in entries {
            let hash = entry.uuid().map(|uuid| self.hasher.hash_one(uuid));
            if hash.is_some_and(|hash| known.contains(&hash) || !hashes.insert(hash)) {
                continue;
            }
            batch.extend(entry.bytes().iter().filter(|byte| **byte != b'\n'));
            batch.push(b'\n');
            new.push(entry.clone());
        }
        if let Some(folder) = path.parent() {
            create_private_dir(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(Error::io(&path))?;
        append(&mut file, &batch).map_err(Error::io(&path))?;
        known.extend(hashes);
        if key.subpath.is_none() { self.fold(key, &new, &path) } else { Ok(()) }
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        let path = self.transcript(key)?;
        if !path.is_file() {
            return Ok(None);
        }
        let entries = Entries::open(&path)?.collect::<std::io::Result<Vec<Entry>>>();
        let entries = entries.map_err(Error::io(&path))?;
        Ok(Some(entries.into_iter().filter(|entry| entry.json().is_some()).collect()))
    }

    fn list_sessions(&self, project_key: &str) -> Result<Vec<ListedSession>> {
        let folder = self.project(project_key)?;
        let mut found = Vec::new();
        for entry in read_dir(&folder)? {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            if let Some(id) = id.filter(|_| entry.path().is_file()) {
                found.push(ListedSession::new(id, modified(&entry.path())?));
            }
        }
        Ok(found)
    }

    fn list_summaries(&self, project_key: &str) -> Result<Vec<SessionSummary>> {
        let folder = self.folder.join("summaries").join(valid_name(project_key)?);
        let found = read_dir(&folder)?.into_iter().filter_map(|entry| {
            let name = entry.file_name();
            let id = name.to_str()?.strip_suffix(".json")?.to_owned();
            parse(&id, &fs::read(entry.path()).ok()?)
        });
        Ok(found.collect())
    }

    fn delete(&self, key: &SessionKey) -> Result<()> {
        let path = self.transcript(key)?;
        self.uuids.lock().unwrap_or_else(PoisonError::into_inner).clear();
        remove(&path, |it| fs::remove_file(it))?;
        if key.subpath.is_none() {
            remove(&path.with_extension(""), |it| fs::remove_dir_all(it))?;
            remove(&self.summary(&key.project_key, &key.session_id)?, |it| fs::remove_file(it))?;
        }
        Ok(())
    }

    fn list_subkeys(&self, project_key: &str, session_id: &str) -> Result<Vec<String>> {
        let folder = self.project(project_key)?.join(valid_name(session_id)?);
        let mut found = Vec::new();
        collect(&folder, "", &mut found)?;
        Ok(found)
    }
}

fn remove(path: &Path, how: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    match how(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Io { path: path.to_path_buf(), source: error })
        }
        _ => Ok(()),
    }
}

fn read_dir(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<std::io::Result<_>>().map_err(Error::io(folder)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Error::Io { path: folder.to_path_buf(), source }),
    }
}

fn collect(folder: &Path, above: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in read_dir(folder)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(Error::io(folder))?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{above}{name}/"), found)?;
        } else if let Some(name) = name.strip_suffix(".jsonl").filter(|_| kind.is_file()) {
            found.push(format!("{above}{name}"));
        }
    }
    Ok(())
}
