//! [`Link`]: the way of one session to the client.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{SessionId, SessionNotification, SessionUpdate};
use agent_client_protocol::{Error, JsonRpcRequest};
use duologue_protocol::control::CanUseTool;
use duologue_protocol::{Decoded, Direction, Line, ToHost};
use tokio::sync::{Notify, watch};

use crate::client::Client;
use crate::transport::Gate;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way of one session to the client. It exists before the agent is started.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) id: SessionId,
    pub(crate) client: Client,
    connection: ConnectionTo<agent_client_protocol::Client>,
    gate: Arc<Gate>,
    /// How often the client has cancelled.
    cancels: watch::Sender<u64>,
    closed: watch::Sender<bool>,
    /// Requests of the agent that wait for their event.
    asks: Mutex<HashMap<String, CanUseTool>>,
    asked: Notify,
    /// What the user has rejected for the whole session.
    rejected: Mutex<HashSet<String>>,
    /// The tokens in the context after the last message of the model.
    context: AtomicU64,
}

/// Why a request to the client has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The client has cancelled the turn, or the session has ended.
    Cancelled,
    /// The client returned an error.
    Failed(Error),
}

impl Link {
    pub(crate) fn new(
        id: SessionId,
        client: Client,
        connection: ConnectionTo<agent_client_protocol::Client>,
        gate: Arc<Gate>,
    ) -> Self {
        Self {
            id,
            client,
            connection,
            gate,
            cancels: watch::Sender::new(0),
            closed: watch::Sender::new(false),
            asks: Mutex::default(),
            asked: Notify::new(),
            rejected: Mutex::default(),
            context: AtomicU64::new(0),
        }
    }

    /// Sends an update. Waits while the client does not read. False if the connection has ended.
    pub(crate) async fn send(&self, update: SessionUpdate) -> bool {
        let notification = SessionNotification::new(self.id.clone(), update);
        self.gate.update().await && self.connection.send_notification(notification).is_ok()
    }

    pub(crate) async fn send_all(&self, updates: Vec<SessionUpdate>) -> bool {
        for update in updates {
            if !self.send(update).await {
                return false;
            }
        }
        true
    }

    /// Asks the client. A cancel since `cancels`, and the end of the session, end the wait.
    pub(crate) async fn request<R>(
        &self,
        request: R,
        cancels: u64,
    ) -> Result<R::Response, Unanswered>
    where
        R: JsonRpcRequest,
        R::Response: Send,
    {
        // Dropping the future tells the client that the request is cancelled.
        let answer = self.connection.send_request(request).block_task();
        tokio::select! {
            answer = answer => answer.map_err(Unanswered::Failed),
            () = self.cancelled(cancels) => Err(Unanswered::Cancelled),
            () = self.closed() => Err(Unanswered::Cancelled),
        }
    }

    /// How often the client has cancelled.
    pub(crate) fn cancels(&self) -> u64 {
        *self.cancels.borrow()
    }

    pub(crate) fn cancel(&self) {
        self.cancels.send_modify(|cancels| *cancels += 1);
    }

    /// Waits until the client cancels more often than this. Cancel safe.
    pub(crate) async fn cancelled(&self, cancels: u64) {
        let mut seen = self.cancels.subscribe();
        // The sender is in `self`.
        let _ = seen.wait_for(|now| *now > cancels).await;
    }

    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Waits until the session ends. Cancel safe.
    pub(crate) async fn closed(&self) {
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Keeps a request of the agent until its event is read.
    pub(crate) fn keep_ask(&self, id: &str, ask: CanUseTool) {
        lock(&self.asks).insert(id.to_owned(), ask);
        self.asked.notify_waiters();
    }

    /// Takes a request of the agent. Waits until it arrives.
    pub(crate) async fn take_ask(&self, id: &str) -> CanUseTool {
        loop {
            let mut asked = std::pin::pin!(self.asked.notified());
            asked.as_mut().enable();
            if let Some(ask) = lock(&self.asks).remove(id) {
                return ask;
            }
            asked.await;
        }
    }

    /// The agent has withdrawn a request.
    pub(crate) fn forget_ask(&self, id: &str) {
        lock(&self.asks).remove(id);
    }

    pub(crate) fn reject_always(&self, what: String) {
        lock(&self.rejected).insert(what);
    }

    pub(crate) fn is_rejected(&self, what: &str) -> bool {
        lock(&self.rejected).contains(what)
    }

    /// Reads the tokens of the main agent's messages from the lines of the agent.
    pub(crate) fn observe(&self, direction: Direction, line: &Line) {
        if direction != Direction::ToHost || !line.kind().is_ok_and(|kind| kind == "assistant") {
            return;
        }
        let Decoded::Known(ToHost::Assistant(assistant)) = line.to_host() else { return };
        if assistant.parent_tool_use_id.value().is_some() {
            return;
        }
        let Some(usage) = assistant.message.value().and_then(|message| message.usage.value())
        else {
            return;
        };
        let parts = [
            &usage.input_tokens,
            &usage.output_tokens,
            &usage.cache_creation_input_tokens,
            &usage.cache_read_input_tokens,
        ];
        let total = parts
            .iter()
            .fold(0_u64, |sum, part| sum.saturating_add(part.as_u64().unwrap_or_default()));
        if total > 0 {
            self.context.store(total, Ordering::Relaxed);
        }
    }

    /// The tokens in the context.
    pub(crate) fn context(&self) -> u64 {
        self.context.load(Ordering::Relaxed)
    }
}
