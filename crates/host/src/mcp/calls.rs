//! The requests of an agent that a server is working on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duologue_protocol::RawObject;
use serde_json::Value;
use tokio::sync::oneshot;

use super::rpc;

/// The request was cancelled. JSON-RPC has no code for it; this is the code of LSP.
const CANCELLED: i32 = -32800;

/// The open requests. Each ends once: with a response, by cancellation, or with the server.
///
/// The service gets a number instead of the agent's id. Numbers are never reused, so a late response cannot
/// answer a newer request that has the same id.
#[derive(Debug, Default)]
pub(super) struct Calls {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<i64, OpenCall>,
    /// The number of each open request, by the agent's id as JSON.
    numbers: HashMap<String, i64>,
    last_number: i64,
    closed: bool,
}

#[derive(Debug)]
struct OpenCall {
    id: Value,
    response: oneshot::Sender<RawObject>,
}

impl Calls {
    /// Opens a request. `on_cancel` runs with its number if the [`Call`] is dropped without a response.
    ///
    /// # Errors
    /// With the response to send, if it cannot be opened.
    pub(super) fn open(
        self: &Arc<Self>,
        id: &Value,
        on_cancel: impl FnOnce(i64) + Send + 'static,
    ) -> Result<Call, RawObject> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed(id));
        }
        let number = state.last_number + 1;
        match state.numbers.entry(id.to_string()) {
            Entry::Occupied(_) => {
                let message = "A request with this id is still open.";
                return Err(rpc::error(id, rpc::INVALID_REQUEST, message));
            }
            Entry::Vacant(entry) => entry.insert(number),
        };
        state.last_number = number;
        let (response, responded) = oneshot::channel();
        state.open.insert(number, OpenCall { id: id.clone(), response });
        let on_cancel = Some(Box::new(on_cancel) as Box<dyn FnOnce(i64) + Send>);
        Ok(Call { calls: Arc::clone(self), number, id: id.clone(), responded, on_cancel })
    }

    /// The number of an open request.
    pub(super) fn number(&self, id: &Value) -> Option<i64> {
        self.lock().numbers.get(&id.to_string()).copied()
    }

    /// Answers a request if it is still open. `response` gets the agent's id.
    pub(super) fn answer(&self, number: i64, response: impl FnOnce(&Value) -> RawObject) {
        if let Some(call) = self.lock().remove(number) {
            // The caller may have been dropped in the meantime.
            let _ = call.response.send(response(&call.id));
        }
    }

    /// Ends a request that the agent has cancelled by a notification. It still gets a response, because the
    /// `mcp_message` that carried the request waits for one.
    pub(super) fn cancel(&self, number: i64) {
        self.answer(number, |id| rpc::error(id, CANCELLED, "The request was cancelled."));
    }

    /// Ends all requests, and refuses new ones.
    pub(super) fn close(&self) {
        let open = {
            let mut state = self.lock();
            state.closed = true;
            state.numbers.clear();
            std::mem::take(&mut state.open)
        };
        for call in open.into_values() {
            let response = closed(&call.id);
            let _ = call.response.send(response);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove(&mut self, number: i64) -> Option<OpenCall> {
        let call = self.open.remove(&number)?;
        self.numbers.remove(&call.id.to_string());
        Some(call)
    }
}

/// An open request.
pub(super) struct Call {
    calls: Arc<Calls>,
    number: i64,
    id: Value,
    responded: oneshot::Receiver<RawObject>,
    on_cancel: Option<Box<dyn FnOnce(i64) + Send>>,
}

impl Call {
    /// The number that the service knows the request by.
    pub(super) const fn number(&self) -> i64 {
        self.number
    }

    /// Waits for the response.
    pub(super) async fn response(&mut self) -> RawObject {
        (&mut self.responded).await.unwrap_or_else(|_| closed(&self.id))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let was_open = self.calls.lock().remove(self.number).is_some();
        if was_open && let Some(on_cancel) = self.on_cancel.take() {
            on_cancel(self.number);
        }
    }
}

fn closed(id: &Value) -> RawObject {
    rpc::error(id, rpc::INTERNAL_ERROR, "The server has ended or was started again.")
}
