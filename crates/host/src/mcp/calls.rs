//! The requests of an agent that a server is working on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duologue_protocol::RawObject;
use serde_json::Value;
use tokio::sync::oneshot;

use super::rpc;

/// Which requests are open. Each ends once: with an answer, by being withdrawn, or with the server.
#[derive(Debug, Default)]
pub(super) struct Calls {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<String, Waiting>,
    opened: u64,
    closed: bool,
}

#[derive(Debug)]
struct Waiting {
    serial: u64,
    id: Value,
    answer: oneshot::Sender<RawObject>,
}

impl Calls {
    /// Begins a request. What is given as `withdrawn` runs if the [`Call`] is dropped without an answer.
    ///
    /// # Errors
    /// With the answer to give, if it cannot begin.
    pub(super) fn open(
        self: &Arc<Self>,
        id: &Value,
        withdrawn: impl FnOnce() + Send + 'static,
    ) -> Result<Call, RawObject> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed(id));
        }
        state.opened += 1;
        let serial = state.opened;
        let key = id.to_string();
        let (answer, answered) = oneshot::channel();
        match state.open.entry(key.clone()) {
            Entry::Occupied(_) => {
                let message = "A request with this id is still open.";
                return Err(rpc::error(id, rpc::INVALID_REQUEST, message));
            }
            Entry::Vacant(place) => place.insert(Waiting { serial, id: id.clone(), answer }),
        };
        let withdrawn = Some(Box::new(withdrawn) as Box<dyn FnOnce() + Send>);
        Ok(Call { calls: Arc::clone(self), key, serial, id: id.clone(), answered, withdrawn })
    }

    /// Answers a request, if it is still open.
    pub(super) fn answer(&self, id: &Value, answer: RawObject) {
        let waiting = self.lock().open.remove(&id.to_string());
        if let Some(waiting) = waiting {
            // Whoever asked may have gone this very moment.
            let _ = waiting.answer.send(answer);
        }
    }

    /// The agent has withdrawn a request by a notification. It is answered all the same, because the
    /// `mcp_message` that carried it still waits.
    pub(super) fn cancel(&self, id: &Value) {
        self.answer(id, rpc::cancelled(id));
    }

    /// The server is gone: nothing is answered any more.
    pub(super) fn close(&self) {
        let open = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.open)
        };
        for waiting in open.into_values() {
            let answer = closed(&waiting.id);
            let _ = waiting.answer.send(answer);
        }
    }

    fn remove(&self, key: &str, serial: u64) -> bool {
        let mut state = self.lock();
        // The id may be in use again.
        let ours = state.open.get(key).is_some_and(|waiting| waiting.serial == serial);
        if ours {
            state.open.remove(key);
        }
        ours
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is open.
pub(super) struct Call {
    calls: Arc<Calls>,
    key: String,
    serial: u64,
    id: Value,
    answered: oneshot::Receiver<RawObject>,
    withdrawn: Option<Box<dyn FnOnce() + Send>>,
}

impl Call {
    /// Waits for the answer.
    pub(super) async fn answered(&mut self) -> RawObject {
        (&mut self.answered).await.unwrap_or_else(|_| closed(&self.id))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.calls.remove(&self.key, self.serial)
            && let Some(withdrawn) = self.withdrawn.take()
        {
            withdrawn();
        }
    }
}

fn closed(id: &Value) -> RawObject {
    rpc::error(id, rpc::INTERNAL_ERROR, "The server has ended or was started again.")
}
