//! The open requests of the host.

use core::time::Duration;
use std::collections::{HashMap, VecDeque};

use crate::id::RequestId;

/// The open requests of the host. Taking one out is the only way to end it.
#[derive(Debug, Default)]
pub(super) struct Pending {
    open: HashMap<RequestId, Option<Duration>>,
    made: u64,
    /// Requests that were sent and have not ended.
    in_flight: usize,
    /// Requests that wait to be sent, in serial mode.
    held: VecDeque<String>,
}

impl Pending {
    /// An id that no other request of this host has.
    pub(super) fn next_id(&mut self) -> RequestId {
        self.made += 1;
        RequestId::from(format!("req_{}", self.made))
    }

    pub(super) fn add(&mut self, id: RequestId, deadline: Option<Duration>) {
        self.open.insert(id, deadline);
    }

    pub(super) fn take(&mut self, id: &RequestId) -> Option<Option<Duration>> {
        let deadline = self.open.remove(id)?;
        self.in_flight = self.in_flight.saturating_sub(1);
        Some(deadline)
    }

    pub(super) fn may_send(&self) -> bool {
        self.in_flight == 0
    }

    pub(super) fn sent(&mut self) {
        self.in_flight += 1;
    }

    pub(super) fn hold(&mut self, line: String) {
        self.held.push_back(line);
    }

    pub(super) fn next_held(&mut self) -> Option<String> {
        let line = self.held.pop_front()?;
        self.in_flight += 1;
        Some(line)
    }

    pub(super) fn overdue(&self, now: Duration) -> Vec<RequestId> {
        let late = |deadline: &Option<Duration>| deadline.is_some_and(|deadline| deadline <= now);
        let mut ids: Vec<RequestId> = self
            .open
            .iter()
            .filter(|(_, deadline)| late(deadline))
            .map(|(id, _)| id.clone())
            .collect();
        ids.sort();
        ids
    }

    pub(super) fn all(&self) -> Vec<RequestId> {
        let mut ids: Vec<RequestId> = self.open.keys().cloned().collect();
        ids.sort();
        ids
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.open.values().flatten().min().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}
