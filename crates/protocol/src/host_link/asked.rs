//! The open requests of the agent.

use std::collections::HashSet;

use crate::id::RequestId;

/// The open requests of the agent. Taking one out is the only way to answer it.
#[derive(Debug, Default)]
pub(super) struct Asked(HashSet<RequestId>);

impl Asked {
    /// Adds a request. False if it is open already: it may be delivered again.
    pub(super) fn asked(&mut self, id: &RequestId) -> bool {
        self.0.insert(id.detach())
    }

    /// Removes an answered request. False if it is not open.
    pub(super) fn answered(&mut self, id: &RequestId) -> bool {
        self.0.remove(id)
    }

    /// Removes a withdrawn request. False if it is not open.
    pub(super) fn withdrawn(&mut self, id: &RequestId) -> bool {
        self.0.remove(id)
    }

    pub(super) fn drain(&mut self) -> Vec<RequestId> {
        let mut ids: Vec<RequestId> = self.0.drain().collect();
        ids.sort();
        ids
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &RequestId> {
        self.0.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
