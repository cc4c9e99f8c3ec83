//! [`Heads`]: wakes those who wait for an entry of a session.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::SessionId;

/// The subscriptions, by session. A subscription is one number, however far its reader is behind.
#[derive(Debug, Default)]
pub(super) struct Heads {
    by_session: Mutex<HashMap<SessionId, watch::Sender<u64>>>,
}

impl Heads {
    pub(super) fn subscribe(&self, session: SessionId) -> watch::Receiver<u64> {
        let mut heads = self.by_session.lock().unwrap_or_else(PoisonError::into_inner);
        heads.entry(session).or_default().subscribe()
    }

    /// The log of a session has grown, and the entries can be read.
    pub(super) fn moved(&self, session: SessionId, head: u64) {
        let mut heads = self.by_session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = heads.get(&session) {
            if sender.receiver_count() == 0 {
                heads.remove(&session);
            } else {
                sender.send_replace(head);
            }
        }
    }
}
