//! [`MemoryStore`]: sessions in memory.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{ListedSession, SessionKey, SessionStore, SessionSummary};
use crate::error::Result;
use crate::js;
use crate::transcript::Entry;

/// Keeps sessions in memory, for tests and for programs that keep them elsewhere themselves.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    transcripts: BTreeMap<SessionKey, Transcript>,
    summaries: BTreeMap<(String, String), SessionSummary>,
    last: i64,
}

#[derive(Debug, Default)]
struct Transcript {
    entries: Vec<Entry>,
    uuids: HashSet<String>,
    modified: i64,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for MemoryStore {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut inner = self.lock();
        // Each write has a time of its own, so that the order of writes is known.
        let now = js::now().max(inner.last + 1);
        inner.last = now;
        let transcript = inner.transcripts.entry(key.clone()).or_default();
        let mut new = Vec::new();
        for entry in entries {
            if entry.uuid().is_none_or(|uuid| transcript.uuids.insert(uuid)) {
                new.push(entry.clone());
            }
        }
        transcript.entries.extend(new.iter().cloned());
        transcript.modified = now;
        if key.subpath.is_none() {
            let place = (key.project_key.clone(), key.session_id.clone());
            let previous = inner.summaries.remove(&place);
            let mut summary = SessionSummary::fold(previous, key, &new);
            summary.modified = now;
            inner.summaries.insert(place, summary);
        }
        Ok(())
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        Ok(self.lock().transcripts.get(key).map(|transcript| transcript.entries.clone()))
    }

    fn list_sessions(&self, project_key: &str) -> Result<Vec<ListedSession>> {
        let inner = self.lock();
        let main = inner
            .transcripts
            .iter()
            .filter(|(key, _)| key.project_key == project_key && key.subpath.is_none());
        Ok(main.map(|(key, it)| ListedSession::new(key.session_id.clone(), it.modified)).collect())
    }

    fn list_summaries(&self, project_key: &str) -> Result<Vec<SessionSummary>> {
        let inner = self.lock();
        let found = inner.summaries.iter().filter(|((project, _), _)| project == project_key);
        Ok(found.map(|(_, summary)| summary.clone()).collect())
    }

    fn delete(&self, key: &SessionKey) -> Result<()> {
        let mut inner = self.lock();
        if key.subpath.is_some() {
            inner.transcripts.remove(key);
            return Ok(());
        }
        let is_other = |other: &SessionKey| {
            other.project_key != key.project_key || other.session_id != key.session_id
        };
        inner.transcripts.retain(|other, _| is_other(other));
        inner.summaries.remove(&(key.project_key.clone(), key.session_id.clone()));
        Ok(())
    }

    fn list_subkeys(&self, project_key: &str, session_id: &str) -> Result<Vec<String>> {
        let inner = self.lock();
        let of_session = inner
            .transcripts
            .keys()
            .filter(|key| key.project_key == project_key && key.session_id == session_id);
        Ok(of_session.filter_map(|key| key.subpath.clone()).collect())
    }
}
