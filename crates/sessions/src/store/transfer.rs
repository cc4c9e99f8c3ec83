//! Copying sessions from disk into a store, and back.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::{SessionKey, SessionStore};
use crate::error::{Error, Result, valid_id};
use crate::json;
use crate::session::{StoredSession, create_private, create_private_dir};
use crate::sessions::Sessions;
use crate::transcript::{Entries, Entry};

/// The largest batch: entries and bytes.
const BATCH: (usize, usize) = (500, 1 << 20);

impl StoredSession {
    /// Copies the session and its sub-agents into a store, and returns its key there.
    ///
    /// Doing it again adds what is new: entries with a UUID are not added twice.
    ///
    /// ```
    /// use duologue_sessions::Sessions;
    /// use duologue_sessions::store::MemoryStore;
    ///
    /// # let (old, new) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// # let id = "11111111-2222-4333-8444-555555555555";
    /// # std::fs::create_dir_all(old.path().join("projects/-my"))?;
    /// # let text = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"Hello?"}}"#;
    /// # std::fs::write(old.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
    /// let store = MemoryStore::new();
    /// let key = Sessions::in_config_dir(old.path()).get(id)?.copy_to(&store)?;
    /// // On another machine:
    /// let session = Sessions::in_config_dir(new.path()).restore(&store, &key)?;
    /// assert_eq!(session.info()?.expect("it has a prompt").summary, "Hello?");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a file cannot be read or the store fails. What was copied until then stays.
    pub fn copy_to(&self, store: &dyn SessionStore) -> Result<SessionKey> {
        let key = SessionKey::new(self.project_key(), self.id());
        copy(self.path(), &key, store)?;
        let folder = self.folder();
        for agent in self.subagents()? {
            let projects = self.path().parent().and_then(Path::parent).unwrap_or(&folder);
            let Some(key) = SessionKey::of_file(&agent.path, projects) else { continue };
            copy(&agent.path, &key, store)?;
            // What the CLI keeps beside the transcript travels as an entry, as in the SDKs.
            let meta = fs::read_to_string(agent.path.with_extension("meta.json")).ok();
            let fields = meta.as_deref().and_then(json::all_fields);
            if let Some(fields) = fields {
                let fields = fields.into_iter().filter(|(name, _)| name != "type");
                let fields: Vec<String> = fields
                    .map(|(name, value)| format!(",{}:{value}", json::quote(&name)))
                    .collect();
                let line = format!("{{\"type\":\"agent_metadata\"{}}}", fields.concat())
                    .replace('\n', " ");
                store.append(&key, &[Entry::new(line.into_bytes())])?;
            }
        }
        Ok(key)
    }
}

fn copy(path: &Path, key: &SessionKey, store: &dyn SessionStore) -> Result<()> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for entry in Entries::open(path)? {
        let entry = entry.map_err(Error::io(path))?;
        // A store holds JSON: a torn line is left out.
        if entry.json().is_none() {
            continue;
        }
        bytes += entry.bytes().len();
        batch.push(entry);
        if batch.len() >= BATCH.0 || bytes >= BATCH.1 {
            store.append(key, &std::mem::take(&mut batch))?;
            bytes = 0;
        }
    }
    if batch.is_empty() { Ok(()) } else { store.append(key, &batch) }
}

impl Sessions {
    /// Writes a session of a store to disk, with its sub-agents, so that it can be read and resumed here.
    ///
    /// It goes to the [project](Self::in_project) of this value, else to that of the key.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the store does not have it, [`Error::Exists`] if it is here already, [`Error::InvalidName`] if a
    /// name from the store would lead elsewhere, or if the store or a file fails. Nothing is left behind then.
    pub fn restore(&self, store: &dyn SessionStore, key: &SessionKey) -> Result<StoredSession> {
        let main = SessionKey::new(key.project_key.clone(), valid_id(&key.session_id)?);
        main.validate()?;
        let folder = match self.project() {
            Some(directory) => self.project_dir(directory),
            None => self.projects_dir().join(&main.project_key),
        };
        let target = folder.join(format!("{}.jsonl", main.session_id));
        if target.exists() || target.with_extension("").exists() {
            return Err(Error::Exists(main.session_id));
        }
        let entries = store.load(&main)?.filter(|entries| !entries.is_empty());
        let entries = entries.ok_or_else(|| Error::NotFound(main.session_id.clone()))?;
        let subpaths = match store.list_subkeys(&main.project_key, &main.session_id) {
            Err(Error::Unsupported(_)) => Vec::new(),
            found => found?,
        };
        create_private_dir(&folder)?;
        let draft = folder.join(format!("{}.restore", uuid::Uuid::new_v4()));
        let result = (|| {
            write(&draft.join("main"), &entries)?;
            for subpath in subpaths {
                let key = main.clone().with_subpath(subpath.clone());
                key.validate()?;
                let path = draft.join("side").join(format!("{subpath}.jsonl"));
                write(&path, &store.load(&key)?.unwrap_or_default())?;
            }
            let side = draft.join("side");
            if side.exists() {
                let to = target.with_extension("");
                fs::rename(&side, &to).map_err(Error::io(&to))?;
            }
            fs::hard_link(draft.join("main"), &target).map_err(Error::io(&target))
        })();
        let _ = fs::remove_dir_all(&draft);
        let project = self.project().map(Path::to_path_buf);
        result.map(|()| {
            StoredSession::new(self.config_dir().to_path_buf(), &main.session_id, target, project)
        })
    }
}

/// Writes a transcript, and beside it what travelled as an entry.
fn write(path: &Path, entries: &[Entry]) -> Result<()> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let mut file = BufWriter::new(create_private(path)?);
    let mut metadata = None;
    for entry in entries {
        if entry.kind().as_deref() == Some("agent_metadata") {
            metadata = Some(entry);
            continue;
        }
        let line: Vec<u8> = entry.bytes().iter().copied().filter(|byte| *byte != b'\n').collect();
        file.write_all(&line).and_then(|()| file.write_all(b"\n")).map_err(Error::io(path))?;
    }
    file.flush().map_err(Error::io(path))?;
    let Some(metadata) = metadata else { return Ok(()) };
    let text = String::from_utf8_lossy(metadata.bytes());
    let fields = json::all_fields(&text).unwrap_or_default();
    let fields = fields.iter().filter(|(name, _)| name != "type");
    let fields: Vec<String> =
        fields.map(|(name, value)| format!("{}:{value}", json::quote(name))).collect();
    let path = path.with_extension("meta.json");
    let mut file = create_private(&path)?;
    file.write_all(format!("{{{}}}", fields.join(",")).as_bytes()).map_err(Error::io(&path))
}
