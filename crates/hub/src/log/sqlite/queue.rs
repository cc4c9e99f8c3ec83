//! [`Queue`]: what waits for the writer, by session.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::super::{AppendError, Batch, Body, Receipt, SessionId};

/// How many bytes one transaction takes at most, except if a single batch is larger.
const TRANSACTION: usize = 4 << 20;

/// A write.
#[derive(Debug)]
pub(super) enum Work {
    Append(Batch),
    Retain { session: SessionId, from: u64, snapshot: Body },
}

impl Work {
    const fn session(&self) -> SessionId {
        match self {
            Self::Append(batch) => batch.session,
            Self::Retain { session, .. } => *session,
        }
    }

    pub(super) fn cost(&self) -> usize {
        match self {
            Self::Append(batch) => batch.cost(),
            Self::Retain { snapshot, .. } => snapshot.as_str().len(),
        }
    }
}

/// A write that waits, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) reply: oneshot::Sender<Result<Receipt, AppendError>>,
    /// The room that it takes. A permit bounds what is queued.
    pub(super) permit: OwnedSemaphorePermit,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    by_session: HashMap<SessionId, VecDeque<Job>>,
    /// The sessions that wait, each once; the first is next.
    turn: VecDeque<SessionId>,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, job: Job) -> Result<(), AppendError> {
        let mut state = self.lock();
        if state.closed {
            return Err(AppendError::Closed);
        }
        let session = job.work.session();
        let waiting = state.by_session.entry(session).or_default();
        waiting.push_back(job);
        if waiting.len() == 1 {
            state.turn.push_back(session);
        }
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for work, and takes the work of one transaction. `None` once the queue is closed and empty.
    pub(super) fn take(&self) -> Option<Vec<Job>> {
        let mut state = self.lock();
        while state.turn.is_empty() {
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Some(state.take())
    }

    /// Refuses further work.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

impl State {
    /// One job of each session in turn, until there is enough for a transaction.
    fn take(&mut self) -> Vec<Job> {
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        while let Some(session) = self.turn.pop_front() {
            let Some(waiting) = self.by_session.get_mut(&session) else { continue };
            let next = waiting.front().map_or(0, |job| job.work.cost());
            if !jobs.is_empty() && bytes + next > TRANSACTION {
                self.turn.push_front(session);
                break;
            }
            bytes += next;
            jobs.extend(waiting.pop_front());
            if waiting.is_empty() {
                self.by_session.remove(&session);
            } else {
                self.turn.push_back(session);
            }
        }
        jobs
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;
    use crate::log::{NewEntry, Origin};

    fn push(queue: &Queue, session: SessionId, bytes: usize) {
        let body = Body::encode(&"x".repeat(bytes)).unwrap();
        let entry = NewEntry::new("x.test", Origin::External, body).unwrap();
        let work = Work::Append(Batch::new(session, 1, [entry]));
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        queue.push(Job { work, reply: oneshot::channel().0, permit }).unwrap();
    }

    fn sessions(jobs: &[Job]) -> Vec<SessionId> {
        jobs.iter().map(|job| job.work.session()).collect()
    }

    #[test]
    fn a_noisy_session_does_not_delay_a_quiet_one() {
        let queue = Queue::default();
        let (noisy, quiet) = (SessionId::random(), SessionId::random());
        for _ in 0..20 {
            push(&queue, noisy, 1 << 20);
        }
        push(&queue, quiet, 10);
        let jobs = queue.take().unwrap();
        assert_eq!(sessions(&jobs), [noisy, quiet, noisy, noisy]);
    }

    #[test]
    fn a_transaction_takes_everything_that_fits_and_at_least_one_batch() {
        let queue = Queue::default();
        let session = SessionId::random();
        push(&queue, session, 9 << 20);
        for _ in 0..100 {
            push(&queue, session, 10);
        }
        assert_eq!(queue.take().unwrap().len(), 1);
        assert_eq!(queue.take().unwrap().len(), 100);
        queue.close();
        assert!(queue.take().is_none());
    }

    #[test]
    fn what_was_queued_before_the_end_is_taken() {
        let queue = Queue::default();
        push(&queue, SessionId::random(), 10);
        queue.close();
        assert_eq!(queue.take().unwrap().len(), 1);
        assert!(queue.take().is_none());
    }
}
