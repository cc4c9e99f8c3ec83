//! Control lines of the agent: its requests, its answers and its withdrawals.

use crate::control::{ControlRequestToHost, ControlResponse, Failure as ErrorBody, Response};
use crate::id::RequestId;
use crate::ledger::Salvage;
use crate::line::Line;
use crate::to_host::ToHost;
use crate::wire::Wire as _;

use super::HostLink;
use super::event::{Failure, LinkEvent};

impl HostLink {
    pub(super) fn control(&mut self, line: &Line, message: &ToHost) {
        match message {
            ToHost::ControlRequest(request) => self.requested(request),
            ToHost::ControlResponse(response)
                if matches!(response.response.value(), Some(Response::Unknown(_))) =>
            {
                let fault = "it is neither a success nor an error";
                self.salvage_control("control_response", &Salvage::of(line.raw()), fault);
            }
            ToHost::ControlResponse(response) => self.replied(response),
            ToHost::ControlCancelRequest(cancel) => {
                if let Some(id) = cancel.request_id.value() {
                    self.withdrawn(id);
                }
            }
            _ => {}
        }
    }

    fn requested(&mut self, line: &ControlRequestToHost) {
        if let (Some(id), Some(request)) = (line.request_id.value(), line.request.value())
            && self.asked.asked(id)
        {
            let request = Box::new(request.clone());
            self.events.push_back(LinkEvent::Asked { id: id.clone(), request });
        }
    }

    fn withdrawn(&mut self, id: &RequestId) {
        if self.asked.withdrawn(id) {
            self.events.push_back(LinkEvent::Withdrawn { id: id.clone() });
        }
    }

    /// Handles a control line that could not be decoded, so that no side waits for it for ever.
    pub(super) fn salvage_control(&mut self, kind: &str, line: &Salvage<'_>, fault: &str) {
        let Some(id) = line.string("request_id").map(RequestId::from) else { return };
        match kind {
            "control_request" => {
                let error = format!("malformed control request: {fault}");
                self.transmit.push_back(ControlResponse::error(id, error).to_line());
            }
            "control_response" => {
                let failure = format!("the answer could not be read: {fault}");
                self.refuse(&id, &failure);
                self.send_held();
            }
            "control_cancel_request" => self.withdrawn(&id),
            _ => {}
        }
    }

    /// Ends a request of the host without a usable answer.
    fn refuse(&mut self, id: &RequestId, error: &str) {
        let body = ErrorBody::new().request_id(id.clone()).error(error);
        self.fail(id, Failure::Refused(body));
    }

    fn replied(&mut self, response: &ControlResponse) {
        let Some(id) = response.request_id() else { return };
        // Not open: a second answer, one after its timeout, or an echo of the host's own answer.
        if self.pending.take(id).is_none() {
            return;
        }
        let outcome = match response.response.value() {
            Some(Response::Success(success)) => {
                // Open requests to an earlier host come with the handshake.
                let pending = [
                    success.pending_permission_requests.items(),
                    success.pending_user_dialog_requests.items(),
                    success.pending_elicitation_requests.items(),
                ];
                for request in pending.into_iter().flatten() {
                    self.requested(request);
                }
                Ok(Box::new(success.clone()))
            }
            Some(Response::Error(failure)) => Err(Failure::Refused(failure.clone())),
            _ => {
                let error = "the answer is neither a success nor an error";
                let body = ErrorBody::new().request_id(id.clone()).error(error);
                Err(Failure::Refused(body))
            }
        };
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
        if self.pending.take(id).is_some() {
            let outcome = Err(failure);
            self.events.push_back(LinkEvent::Replied { id: id.clone(), outcome });
        }
    }
}
