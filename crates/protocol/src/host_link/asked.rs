//! What the agent has asked and the host has not answered.

use std::collections::HashSet;

use crate::id::RequestId;

/// The open requests of the agent. Taking one out is the only way to answer it.
#[derive(Debug, Default)]
pub(super) struct Asked(HashSet<RequestId>);

impl Asked {
    /// The agent asks. False if it has asked before: a request may be delivered again.
    pub(super) fn asked(&mut self, id: &RequestId) -> bool {
        self.0.insert(id.detach())
    }

    /// The host answers. False if nobody waits for it any more.
    pub(super) fn answered(&mut self, id: &RequestId) -> bool {
        self.0.remove(id)
    }

    /// The agent no longer asks. False if it was answered before.
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
