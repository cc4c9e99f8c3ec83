//! The open requests of the host.

use std::collections::BTreeMap;

use crate::control::{AgentRequest, HostRequest, Response};
use crate::id::RequestId;
use crate::json::RawObject;
use crate::text::Text;

use super::AgentLink;
use super::event::{AgentEvent, NotOpen, Reply, RequestKey};

/// The open requests of the host. Taking one out is the only way to answer it.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: BTreeMap<RequestKey, (Option<RequestId>, Text)>,
    made: u64,
}

impl Requests {
    fn add(&mut self, id: Option<RequestId>, subtype: &str) -> RequestKey {
        self.made += 1;
        let key = RequestKey(self.made);
        self.open.insert(key, (id.map(|id| id.detach()), Text::from(subtype)));
        key
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

impl AgentLink {
    /// Answers a request of the host.
    ///
    /// # Errors
    /// If the request is not open: it was answered, or never made. Nothing is sent.
    pub fn answer(&mut self, key: RequestKey, reply: &Reply) -> Result<(), NotOpen> {
        let (id, subtype) = self.requests.open.remove(&key).ok_or(NotOpen)?;
        let is_handshake = subtype == "initialize";
        let reply = match (&self.legacy, reply) {
            (Some(legacy), Reply::Success(_)) if is_handshake && !legacy.wants_payload() => {
                &Reply::Ack
            }
            _ => reply,
        };
        let mut response = reply.response(id.as_ref(), &subtype);
        if is_handshake
            && self.legacy.is_none()
            && let Some(Response::Success(success)) = response.response.value_mut()
        {
            let permissions = |ask: &AgentRequest| matches!(ask, AgentRequest::CanUseTool(_));
            let dialogs = |ask: &AgentRequest| matches!(ask, AgentRequest::RequestUserDialog(_));
            success.pending_permission_requests = self.asks.waiting(permissions).into();
            success.pending_user_dialog_requests = self.asks.waiting(dialogs).into();
        }
        self.say(Box::new(response));
        Ok(())
    }

    /// Leaves a request of the host unanswered, for tests of hosts.
    pub fn leave_unanswered(&mut self, key: RequestKey) {
        self.requests.open.remove(&key);
    }

    /// The id of an open request of the host.
    pub fn id_of(&self, key: RequestKey) -> Option<&RequestId> {
        self.requests.open.get(&key).and_then(|(id, _)| id.as_ref())
    }

    /// Handles a request of the host: answers it, if the machine can, or delivers it.
    pub(super) fn requested(&mut self, id: Option<RequestId>, request: Box<HostRequest>) {
        match &*request {
            HostRequest::Interrupt(interrupt) => {
                let cancel = interrupt.cancel_queued.is_true();
                let spare = interrupt.spare_background_tasks.is_true();
                self.interrupted_by_request(id.as_ref(), cancel, spare);
            }
            HostRequest::CancelAsyncMessage(cancel) => {
                let uuid = cancel.message_uuid.as_str().unwrap_or_default().to_owned();
                let cancelled = self.cancel_prompt(&uuid);
                self.reply_now(id.as_ref(), &serde_json::json!({ "cancelled": cancelled }));
            }
            other => {
                if let (Some(legacy), HostRequest::Initialize(initialize)) =
                    (&mut self.legacy, other)
                {
                    legacy.initialize(initialize);
                }
                let key = self.requests.add(id, other.tag());
                self.events.push_back(AgentEvent::Asked { key, request });
            }
        }
    }

    fn interrupted_by_request(&mut self, id: Option<&RequestId>, cancel: bool, spare: bool) {
        // Requests of the agent are withdrawn first, then the receipt is sent; the turn ends after that.
        self.interrupt(false, spare);
        let cancelled = if cancel { self.discard_queue() } else { Vec::new() };
        let queued: Vec<String> = self.queued_uuids();
        let mut receipt = serde_json::json!({ "still_queued": queued });
        if cancel && let Some(fields) = receipt.as_object_mut() {
            fields.insert("cancelled".to_owned(), cancelled.into());
        }
        self.reply_now(id, &receipt);
    }

    fn reply_now(&mut self, id: Option<&RequestId>, payload: &serde_json::Value) {
        let payload = RawObject::of(payload).unwrap_or_default();
        self.say(Box::new(Reply::of(&payload).response(id, "")));
    }
}
