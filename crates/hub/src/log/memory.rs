//! [`MemoryLog`]: a log that ends with the process, for tests.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::entry::now;
use super::wake::Heads;
use super::{
    AppendError, Batch, Body, Entry, Head, Incarnation, Limits, Log, Page, Pending, ReadError,
    Receipt, SessionId,
};

/// A log that ends with the process, for tests. Its memory is not bounded.
#[derive(Debug, Default)]
pub struct MemoryLog {
    sessions: Mutex<BTreeMap<SessionId, Session>>,
    heads: Heads,
    incarnation: Incarnation,
}

#[derive(Debug, Default)]
struct Session {
    head: Head,
    entries: Vec<Entry>,
    receipts: HashMap<String, ([u8; 32], Receipt)>,
    snapshot: Option<Body>,
}

impl MemoryLog {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Session>> {
        // No code that holds the lock can leave a session inconsistent.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, batch: Batch) -> Result<Receipt, AppendError> {
        let mut sessions = self.lock();
        let known = sessions.get(&batch.session);
        if let Some(key) = &batch.key
            && let Some((digest, receipt)) =
                known.and_then(|session| session.receipts.get(&key.name))
        {
            if *digest != key.digest {
                return Err(AppendError::KeyReused { name: key.name.clone(), seq: receipt.first });
            }
            return Ok(Receipt { repeated: true, ..*receipt });
        }
        let before = known.map(|session| session.head).unwrap_or_default();
        let head = before.admit(&batch)?;
        let session = sessions.entry(batch.session).or_default();
        let receipt = Receipt::new(before.last + 1, head.last);
        let time = now();
        for (seq, entry) in (receipt.first..).zip(batch.entries) {
            session.entries.push(Entry::new(batch.session, batch.generation, seq, time, entry));
        }
        if let Some(key) = batch.key {
            session.receipts.insert(key.name, (key.digest, receipt));
        }
        session.head = head;
        drop(sessions);
        self.heads.moved(batch.session, head.last);
        Ok(receipt)
    }

    fn read_now(&self, session: SessionId, after: u64, limits: Limits) -> Result<Page, ReadError> {
        let sessions = self.lock();
        let session = sessions.get(&session).ok_or(ReadError::NoSession(session))?;
        session.head.readable(after)?;
        let mut bytes = 0;
        let mut entries = Vec::new();
        for entry in session.entries.iter().filter(|entry| entry.seq > after) {
            bytes += entry.body.as_str().len();
            if entries.len() == limits.entries.max(1)
                || (bytes > limits.bytes && !entries.is_empty())
            {
                break;
            }
            entries.push(entry.clone());
        }
        Ok(Page { entries, head: session.head })
    }

    fn retain_now(&self, id: SessionId, from: u64, snapshot: Body) -> Result<u64, AppendError> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(&id).ok_or(AppendError::NoSession(id))?;
        let head = session.head.retain(from)?;
        if head != session.head {
            session.head = head;
            session.entries.retain(|entry| entry.seq >= head.first);
            session.snapshot = Some(snapshot);
        }
        Ok(head.first)
    }
}

impl Log for MemoryLog {
    fn append(&self, batch: Batch) -> Pending<'_, Result<Receipt, AppendError>> {
        Box::pin(async move { self.append_now(batch) })
    }

    fn read(
        &self,
        session: SessionId,
        after: u64,
        limits: Limits,
    ) -> Pending<'_, Result<Page, ReadError>> {
        Box::pin(ready(self.read_now(session, after, limits)))
    }

    fn head(&self, session: SessionId) -> Pending<'_, Result<Option<Head>, ReadError>> {
        Box::pin(ready(Ok(self.lock().get(&session).map(|session| session.head))))
    }

    fn sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Pending<'_, Result<Vec<(SessionId, Head)>, ReadError>> {
        let sessions = self.lock();
        let later = sessions.iter().filter(|(id, _)| after.is_none_or(|after| **id > after));
        let heads = later.take(limit).map(|(id, session)| (*id, session.head)).collect();
        Box::pin(ready(Ok(heads)))
    }

    fn retain(
        &self,
        session: SessionId,
        from: u64,
        snapshot: Body,
    ) -> Pending<'_, Result<u64, AppendError>> {
        Box::pin(async move { self.retain_now(session, from, snapshot) })
    }

    fn snapshot(&self, session: SessionId) -> Pending<'_, Result<Option<Body>, ReadError>> {
        let sessions = self.lock();
        let found = sessions.get(&session).map(|session| session.snapshot.clone());
        Box::pin(ready(found.ok_or(ReadError::NoSession(session))))
    }

    fn watch(&self, session: SessionId) -> watch::Receiver<u64> {
        self.heads.subscribe(session)
    }

    fn incarnation(&self) -> Incarnation {
        self.incarnation
    }
}
