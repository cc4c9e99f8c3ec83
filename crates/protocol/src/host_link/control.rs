//! Control lines of the agent: its requests, its answers, and what it takes back.

use crate::control::{
    CancelAsyncMessageReply, ControlResponse, Failure as ErrorBody, InterruptReply, Response,
};
use crate::id::RequestId;
use crate::ledger::Salvage;
use crate::line::{Decoded, Line};
use crate::to_host::ToHost;
use crate::wire::Wire as _;

use super::event::{Failure, LinkEvent, Route};
use super::{HostLink, TakesBack};

impl HostLink {
    pub(super) fn control(&mut self, line: &Line, decoded: &Decoded<ToHost>) -> Route {
        match decoded {
            Decoded::Known(ToHost::ControlRequest(asks))
            | Decoded::Unknown(ToHost::ControlRequest(asks)) => {
                if let (Some(id), Some(request)) = (asks.request_id.value(), asks.request.value())
                    && self.asked.asked(id)
                {
                    let request = Box::new(request.clone());
                    self.events.push_back(LinkEvent::Asked { id: id.clone(), request });
                }
                Route::Control
            }
            Decoded::Known(ToHost::ControlResponse(response)) => {
                self.replied(response);
                Route::Control
            }
            Decoded::Unknown(ToHost::ControlResponse(_)) => {
                let fault = "it is neither a success nor an error";
                self.salvage_control(&Salvage::of(line.raw()), fault);
                Route::Control
            }
            Decoded::Known(ToHost::ControlCancelRequest(cancel)) => {
                match cancel.request_id.value() {
                    Some(id) => self.withdrawn(id),
                    None => self.activity.unclear(),
                }
                Route::Control
            }
            Decoded::Malformed(fault) => {
                self.salvage_control(&Salvage::of(line.raw()), &fault.to_string());
                Route::Conversation
            }
            _ => Route::Conversation,
        }
    }

    fn withdrawn(&mut self, id: &RequestId) {
        if self.asked.withdrawn(id) {
            self.events.push_back(LinkEvent::Withdrawn { id: id.clone() });
        }
    }

    /// A control line cannot be read. The side that waits for it must not wait for ever.
    pub(super) fn salvage_control(&mut self, line: &Salvage<'_>, fault: &str) {
        let Some(id) = line.string("request_id").map(RequestId::from) else {
            return self.activity.unclear();
        };
        match line.kind().as_deref() {
            Some("control_request") => {
                let error = format!("malformed control request: {fault}");
                self.transmit.push_back(ControlResponse::error(id, error).to_line());
            }
            Some("control_response") => {
                let failure = format!("the answer could not be read: {fault}");
                self.refuse(&id, &failure);
                self.send_held();
            }
            Some("control_cancel_request") => self.withdrawn(&id),
            _ => {}
        }
    }

    /// Ends a request of the host without a usable answer.
    fn refuse(&mut self, id: &RequestId, error: &str) {
        let body = ErrorBody::new().request_id(id.clone()).error(error);
        self.fail(id, Failure::Refused(body));
    }

    fn replied(&mut self, response: &ControlResponse) {
        let Some(id) = response.request_id() else {
            return self.activity.unclear();
        };
        // A second answer, an answer after a timeout, an echo of our own: nobody waits for it.
        if self.pending.take(id).is_none() {
            return;
        }
        let taking_back = self.taking_back.remove(id);
        let outcome = match response.response.value() {
            Some(Response::Success(success)) => {
                match taking_back {
                    Some(TakesBack::Prompt(uuid)) => {
                        let reply = success.read::<CancelAsyncMessageReply>().unwrap_or_default();
                        if reply.cancelled.is_true() {
                            self.activity.cancelled(&uuid);
                        }
                    }
                    Some(TakesBack::Named) => {
                        let reply = success.read::<InterruptReply>().unwrap_or_default();
                        for uuid in reply.cancelled.items() {
                            self.activity.cancelled(uuid);
                        }
                    }
                    None => {}
                }
                // Questions of an earlier host that are still open come with the handshake.
                let pending = [
                    success.pending_permission_requests.items(),
                    success.pending_user_dialog_requests.items(),
                    success.pending_elicitation_requests.items(),
                ];
                for asks in pending.into_iter().flatten() {
                    if let (Some(id), Some(request)) =
                        (asks.request_id.value(), asks.request.value())
                        && self.asked.asked(id)
                    {
                        let request = Box::new(request.clone());
                        self.events.push_back(LinkEvent::Asked { id: id.clone(), request });
                    }
                }
                Ok(success.clone())
            }
            Some(Response::Error(failure)) => Err(Failure::Refused(failure.clone())),
            _ => {
                let error = "the answer is neither a success nor an error";
                let body = ErrorBody::new().request_id(id.clone()).error(error);
                Err(Failure::Refused(body))
            }
        };
        let outcome = outcome.map(Box::new);
        self.events.push_back(LinkEvent::Replied { id: id.clone(), outcome });
        self.send_held();
    }

    pub(super) fn send_held(&mut self) {
        while self.pending.may_send()
            && let Some(line) = self.pending.next_held()
        {
            self.transmit.push_back(line);
        }
    }

    pub(super) fn fail(&mut self, id: &RequestId, failure: Failure) {
        self.taking_back.remove(id);
        if self.pending.take(id).is_some() {
            let outcome = Err(failure);
            self.events.push_back(LinkEvent::Replied { id: id.clone(), outcome });
        }
    }
}
