//! [`Cancel`]: a stop signal.

use tokio::sync::watch;

/// A stop signal. Clones share it.
///
/// ```
/// use duologue_embedded::tools::Cancel;
///
/// let cancel = Cancel::new();
/// let seen_by_worker = cancel.clone();
/// cancel.cancel();
/// assert!(seen_by_worker.is_cancelled());
/// ```
#[derive(Clone, Debug)]
pub struct Cancel(watch::Sender<bool>);

impl Cancel {
    /// One that has not been given yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Gives the signal. It cannot be taken back.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was given.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is given.
    pub async fn cancelled(&self) {
        // The sender lives as long as `self`: the channel cannot close.
        let _ = self.0.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}
