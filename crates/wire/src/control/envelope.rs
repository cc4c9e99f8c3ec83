//! The envelopes around requests and answers.

use super::agent_requests::AgentRequest;
use super::host_requests::HostRequest;
use crate::id::RequestId;
use crate::json::{Fault, RawJson};
use crate::text::Text;
use crate::wire::{Wire, record, union};

record! {
    /// The host asks the agent for something.
    ///
    /// ```
    /// use duologue_wire::Wire;
    /// use duologue_wire::control::{ControlRequestToAgent, SetModel};
    ///
    /// let request = ControlRequestToAgent::of("r1", SetModel::new().model("sonnet"));
    /// assert_eq!(
    ///     request.to_json(),
    ///     r#"{"type":"control_request","request_id":"r1","request":{"subtype":"set_model","model":"sonnet"}}"#,
    /// );
    /// ```
    ControlRequestToAgent ["type" = "control_request"] {
        /// Names the request, by the host's choice.
        request_id: RequestId,
        /// What is asked.
        request: HostRequest => required,
    }
}

impl ControlRequestToAgent {
    /// This request, under this id.
    pub fn of(id: impl Into<RequestId>, request: impl Into<HostRequest>) -> Self {
        Self::new().request_id(id).request(request)
    }
}

record! {
    /// The agent asks the host for something.
    ControlRequestToHost ["type" = "control_request"] {
        /// Names the request, by the agent's choice.
        request_id: RequestId,
        /// What is asked.
        request: AgentRequest => required,
    }
}

impl ControlRequestToHost {
    /// This request, under this id.
    pub fn of(id: impl Into<RequestId>, request: impl Into<AgentRequest>) -> Self {
        Self::new().request_id(id).request(request)
    }
}

record! {
    /// The answer to a control request, in either direction.
    ControlResponse ["type" = "control_response"] {
        /// The answer.
        response: Response => required,
    }
}

impl ControlResponse {
    /// It went well, and there is nothing more to say.
    pub fn ack(id: impl Into<RequestId>) -> Self {
        Self::new().response(Response::Success(Success::new().request_id(id)))
    }

    /// It went well, and this is the answer.
    pub fn success<T: Wire>(id: impl Into<RequestId>, payload: &T) -> Self {
        let success = Success::new().request_id(id).response(RawJson::from_wire(payload));
        Self::new().response(Response::Success(success))
    }

    /// It did not go well.
    pub fn error(id: impl Into<RequestId>, error: impl Into<Text>) -> Self {
        Self::new().response(Response::Error(Failure::new().request_id(id).error(error)))
    }

    /// The subtype is not one that this side knows. The words are the CLI's own.
    pub fn unsupported(id: impl Into<RequestId>, subtype: &str) -> Self {
        let failure = Failure::new()
            .request_id(id)
            .error(format!("Unsupported control request subtype: {subtype}"))
            .error_code("unsupported_request");
        Self::new().response(Response::Error(failure))
    }

    /// The request that this answers.
    pub fn request_id(&self) -> Option<&RequestId> {
        match self.response.value()? {
            Response::Success(success) => success.request_id.value(),
            Response::Error(failure) => failure.request_id.value(),
            Response::Unknown(_) => None,
        }
    }
}

union! {
    /// The answer to a control request.
    Response by "subtype" closed {
        /// A request went well.
        "success" => Success(Success) {
            /// The request.
            request_id: RequestId,
            /// What it gave: absent for a mere acknowledgement. What it holds depends on the request;
            /// see [`read`](Self::read).
            response: RawJson,
            /// Permissions that are still being asked for. On the answer to `initialize` only.
            pending_permission_requests: Vec<ControlRequestToHost>,
            /// Dialogs that are still open. On the answer to `initialize` only.
            pending_user_dialog_requests: Vec<ControlRequestToHost>,
            /// Questions of MCP servers that are still open. On the answer to `initialize` only.
            pending_elicitation_requests: Vec<ControlRequestToHost>,
        },
        /// A request did not go well.
        "error" => Error(Failure) {
            /// The request.
            request_id: RequestId,
            /// What went wrong.
            error: Text,
            /// What went wrong, for programs: `unsupported_request`, `invalid_mode`…
            error_code: Text,
            /// The model it is about.
            model: Text,
            /// Permissions that are still being asked for. On a refused `initialize` of older CLIs.
            pending_permission_requests: Vec<ControlRequestToHost>,
        },
    }
}

impl Success {
    /// Reads what it gave as the type that belongs to the request; a mere acknowledgement reads as
    /// an object without fields.
    ///
    /// # Errors
    /// If a field has the wrong JSON type.
    pub fn read<T: Wire>(&self) -> Result<T, Fault> {
        match self.response.value() {
            Some(payload) => payload.read(),
            None => T::from_json("{}"),
        }
    }
}
