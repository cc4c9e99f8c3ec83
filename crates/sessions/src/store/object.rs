//! [`ObjectSessionStore`]: sessions in an object store, such as S3.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _};
use serde_json::{Map, Value, json};

use super::{ListedSession, SessionKey, SessionStore, SessionSummary};
use crate::error::{Error, Result};
use crate::js;
use crate::transcript::{Entries, Entry};

/// Of how many transcripts the UUIDs are remembered.
const REMEMBERED: usize = 64;

/// Keeps sessions in an object store: S3, and whatever else the crate `object_store` supports.
///
/// Objects cannot be appended to. Each batch is an object of its own, whose name begins with its time, so that a batch is stored
/// whole or not at all. Store larger batches less often: a [`Mirror`](super::Mirror) does, unless it is eager.
///
/// ```
/// use std::sync::Arc;
/// use duologue_sessions::Entry;
/// use duologue_sessions::store::{ObjectSessionStore, SessionKey, SessionStore};
/// use object_store::memory::InMemory;
///
/// let store = ObjectSessionStore::new(Arc::new(InMemory::new()), "sessions")?;
/// let key = SessionKey::new("-my-project", "11111111-2222-4333-8444-555555555555");
/// store.append(&key, &[Entry::new(br#"{"type":"user","uuid":"a"}"#.to_vec())])?;
/// assert_eq!(store.load(&key)?.map(|entries| entries.len()), Some(1));
/// # Ok::<(), duologue_sessions::Error>(())
/// ```
pub struct ObjectSessionStore {
    objects: Arc<dyn ObjectStore>,
    prefix: String,
    /// Taken when the store is dropped.
    runtime: Option<tokio::runtime::Runtime>,
    /// The time of the last batch, so that each has its own.
    last: AtomicI64,
    hasher: RandomState,
    /// Hashes of the UUIDs in transcripts that were written lately. The lock is held for each write.
    uuids: Mutex<HashMap<SessionKey, HashSet<u64>>>,
}

impl ObjectSessionStore {
    /// Keeps sessions in this store, below a prefix.
    ///
    /// # Errors
    /// If no thread can be started for requests.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: impl Into<String>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("session-objects")
            .enable_all()
            .build()
            .map_err(Error::store)?;
        Ok(Self {
            objects,
            prefix: prefix.into(),
            runtime: Some(runtime),
            last: AtomicI64::new(0),
            hasher: RandomState::new(),
            uuids: Mutex::default(),
        })
    }

    /// Runs requests on the runtime of the store. The caller may be within another runtime.
    fn wait<T: Send + 'static>(
        &self,
        requests: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, done) = mpsc::sync_channel(1);
        let Some(runtime) = &self.runtime else { return Err(Error::store("the store is closed")) };
        runtime.spawn(async move {
            let _ = sender.send(requests.await);
        });
        match done.recv() {
            Ok(result) => result.map_err(Error::store),
            Err(_) => Err(Error::store("a request to the object store panicked")),
        }
    }

    fn path<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Result<Path> {
        let prefix = self.prefix.split('/').filter(|part| !part.is_empty()).map(str::to_owned);
        let parts: Vec<String> = prefix.chain(parts.into_iter().map(encode)).collect();
        Path::parse(parts.join("/")).map_err(Error::store)
    }

    /// Where the batches of a transcript are.
    fn folder(&self, key: &SessionKey) -> Result<Path> {
        key.validate()?;
        let mut parts = vec!["projects", key.project_key.as_str(), key.session_id.as_str()];
        match &key.subpath {
            None => parts.push("main"),
            Some(subpath) => {
                parts.push("sub");
                parts.extend(subpath.split('/'));
            }
        }
        self.path(parts)
    }

    fn list(&self, folder: Path) -> Result<Vec<ObjectMeta>> {
        let objects = Arc::clone(&self.objects);
        self.wait(async move {
            let mut stream = objects.list(Some(&folder));
            let mut found = Vec::new();
            while let Some(object) = std::future::poll_fn(|context| {
                futures_core::Stream::poll_next(Pin::new(&mut stream), context)
            })
            .await
            {
                found.push(object?);
            }
            Ok(found)
        })
    }

    fn get(&self, location: Path) -> Result<Option<Vec<u8>>> {
        let objects = Arc::clone(&self.objects);
        self.wait(async move {
            match objects.get(&location).await {
                Ok(found) => Ok(Some(found.bytes().await?.to_vec())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn put(&self, location: Path, bytes: Vec<u8>) -> Result<()> {
        let objects = Arc::clone(&self.objects);
        self.wait(async move { objects.put(&location, bytes.into()).await.map(drop) })
    }

    fn remove(&self, location: Path) -> Result<()> {
        let objects = Arc::clone(&self.objects);
        self.wait(async move {
            match objects.delete(&location).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                done => done,
            }
        })
    }

    /// The batches of a transcript, from the first to the last.
    fn batches(&self, key: &SessionKey) -> Result<Vec<Path>> {
        let folder = self.folder(key)?;
        let depth = folder.parts().count() + 1;
        let found = self.list(folder)?.into_iter().map(|object| object.location);
        // Below a transcript there may be others.
        let mut batches: Vec<Path> =
            found.filter(|path| path.parts().count() == depth && time_of(path).is_some()).collect();
        batches.sort();
        Ok(batches)
    }

    fn summary_path(&self, project: &str, session: &str) -> Result<Path> {
        self.path(["summaries", project, &format!("{session}.json")])
    }

    /// Keeps the summary up to date. A summary that is missing or old is made again by a list.
    fn fold(&self, key: &SessionKey, entries: &[Entry], modified: i64) -> Result<()> {
        let path = self.summary_path(&key.project_key, &key.session_id)?;
        let previous = self.get(path.clone())?.and_then(|bytes| parse(&key.session_id, &bytes));
        let summary = SessionSummary::fold(previous, key, entries);
        self.put(path, json!({ "modified": modified, "data": summary.data }).to_string().into())
    }
}

/// One part of a path. Characters that a store could treat in its own way are written as `=2F`.
fn encode(part: &str) -> String {
    let mut encoded = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("={byte:02X}"));
        }
    }
    encoded
}

/// The part that was [encoded](encode). `None` if it is not one.
fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'=' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        bytes.push(digit(rest.next()?)? << 4 | digit(rest.next()?)?);
    }
    String::from_utf8(bytes).ok()
}

/// The time in the name of a batch, in milliseconds since 1970.
fn time_of(batch: &Path) -> Option<i64> {
    batch.filename()?.strip_suffix(".jsonl")?.split_once('-')?.0.parse().ok()
}

fn parse(session_id: &str, bytes: &[u8]) -> Option<SessionSummary> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    let data: Map<String, Value> = value.get_mut("data")?.as_object_mut().map(std::mem::take)?;
    Some(SessionSummary::new(session_id, value["modified"].as_i64()?, data))
}

impl SessionStore for ObjectSessionStore {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        let folder = self.folder(key)?;
        if entries.is_empty() {
            return Ok(());
        }
        let mut all = self.uuids.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(key) {
            all.clear();
        }
        if !all.contains_key(key) {
            let there = self.load(key)?.unwrap_or_default();
            let uuids = there.iter().filter_map(Entry::uuid);
            all.insert(key.clone(), uuids.map(|uuid| self.hasher.hash_one(uuid)).collect());
        }
        let known = all.entry(key.clone()).or_default();
        let (mut batch, mut new, mut hashes) = (Vec::new(), Vec::new(), HashSet::new());
        for entry in entries {
            let hash = entry.uuid().map(|uuid| self.hasher.hash_one(uuid));
            if hash.is_some_and(|hash| known.contains(&hash) || !hashes.insert(hash)) {
                continue;
            }
            batch.extend(entry.bytes().iter().filter(|byte| **byte != b'\n'));
            batch.push(b'\n');
            new.push(entry.clone());
        }
        if new.is_empty() {
            return Ok(());
        }
        let last = self.last.load(Ordering::Relaxed);
        let now = js::now().max(last + 1);
        self.last.store(now, Ordering::Relaxed);
        // The random part keeps batches of two writers apart.
        let name = format!("{now:016}-{}.jsonl", uuid::Uuid::new_v4().simple());
        self.put(Path::from_iter(folder.parts().chain([name.into()])), batch)?;
        known.extend(hashes);
        if key.subpath.is_none() {
            // The entries are stored: a summary that is missing is not worth a second attempt.
            let _ = self.fold(key, &new, now);
        }
        Ok(())
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        let batches = self.batches(key)?;
        if batches.is_empty() {
            return Ok(None);
        }
        let mut found = Vec::new();
        let mut uuids = HashSet::new();
        for batch in batches {
            let bytes = self.get(batch)?.unwrap_or_default();
            for entry in Entries::new(bytes.as_slice()) {
                let entry = entry.map_err(Error::store)?;
                // Two writers may have stored the same entry.
                if entry.uuid().is_none_or(|uuid| uuids.insert(uuid)) {
                    found.push(entry);
                }
            }
        }
        Ok(Some(found))
    }

    fn list_sessions(&self, project_key: &str) -> Result<Vec<ListedSession>> {
        let folder = self.path(["projects", project_key])?;
        let depth = folder.parts().count();
        let mut found: BTreeMap<String, i64> = BTreeMap::new();
        for object in self.list(folder)? {
            let parts: Vec<String> =
                object.location.parts().skip(depth).map(|part| part.as_ref().to_owned()).collect();
            let [session, kind, _] = parts.as_slice() else { continue };
            let (Some(session), Some(time)) = (decode(session), time_of(&object.location)) else {
                continue;
            };
            if kind == "main" {
                let newest = found.entry(session).or_insert(time);
                *newest = time.max(*newest);
            }
        }
        Ok(found.into_iter().map(|(session, time)| ListedSession::new(session, time)).collect())
    }

    fn list_summaries(&self, project_key: &str) -> Result<Vec<SessionSummary>> {
        let folder = self.path(["summaries", project_key])?;
        let mut found = Vec::new();
        for object in self.list(folder)? {
            let name = object.location.filename().and_then(|name| name.strip_suffix(".json"));
            let Some(session) = name.and_then(decode) else { continue };
            let bytes = self.get(object.location)?;
            found.extend(bytes.and_then(|bytes| parse(&session, &bytes)));
        }
        Ok(found)
    }

    fn delete(&self, key: &SessionKey) -> Result<()> {
        key.validate()?;
        self.uuids.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if key.subpath.is_some() {
            return self.batches(key)?.into_iter().try_for_each(|batch| self.remove(batch));
        }
        let folder = self.path(["projects", &key.project_key, &key.session_id])?;
        for object in self.list(folder)? {
            self.remove(object.location)?;
        }
        self.remove(self.summary_path(&key.project_key, &key.session_id)?)
    }

    fn list_subkeys(&self, project_key: &str, session_id: &str) -> Result<Vec<String>> {
        let folder = self.path(["projects", project_key, session_id, "sub"])?;
        let depth = folder.parts().count();
        let mut found = HashSet::new();
        for object in self.list(folder)? {
            let parts: Option<Vec<String>> =
                object.location.parts().skip(depth).map(|part| decode(part.as_ref())).collect();
            if let Some((_, subpath)) = parts.as_deref().and_then(<[String]>::split_last) {
                found.insert(subpath.join("/"));
            }
        }
        Ok(found.into_iter().collect())
    }
}

impl fmt::Debug for ObjectSessionStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ObjectSessionStore");
        debug.field("objects", &self.objects.to_string()).field("prefix", &self.prefix);
        debug.finish_non_exhaustive()
    }
}

impl Drop for ObjectSessionStore {
    /// A runtime must not be dropped within another one.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_paths_survive() {
        for part in ["a", "-my-project", "a b=c", "ü", "a:b", "."] {
            let encoded = encode(part);
            assert_eq!(decode(&encoded).as_deref(), Some(part));
            assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()), "{encoded}");
        }
        assert_eq!([decode("=2"), decode("=GG"), decode("=FF")], [None, None, None]);
    }
}
