//! The envelopes around requests and answers.

use super::agent_requests::AgentRequest;
use super::host_requests::HostRequest;
use crate::id::RequestId;
use crate::json::{Fault, RawJson};
use crate::text::Text;
use crate::wire::{Wire, record, union};

record! {
    /// A request of the host to the agent.
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
        /// The id of the request. The host chooses it.
        request_id: RequestId,
        /// The request.
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
    /// A request of the agent to the host.
    ControlRequestToHost ["type" = "control_request"] {
        /// The id of the request. The agent chooses it.
        request_id: RequestId,
        /// The request.
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
    /// The response to a control request, in either direction.
    ControlResponse ["type" = "control_response"] {
        /// The answer.
        response: Response => required,
    }
}

impl ControlResponse {
    /// A success without payload.
    pub fn ack(id: impl Into<RequestId>) -> Self {
        Self::new().response(Response::Success(Success::new().request_id(id)))
    }

    /// A success with this payload.
    pub fn success<T: Wire>(id: impl Into<RequestId>, payload: &T) -> Self {
        let success = Success::new().request_id(id).response(RawJson::from_wire(payload));
        Self::new().response(Response::Success(success))
    }

    /// An error.
    pub fn error(id: impl Into<RequestId>, error: impl Into<Text>) -> Self {
        Self::new().response(Response::Error(Failure::new().request_id(id).error(error)))
    }

    /// The error for an unknown subtype, in the words of the CLI.
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
    /// The response to a control request.
    Response by "subtype" closed {
        /// The request succeeded.
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
        /// The request failed.
        "error" => Error(Failure) {
            /// The request.
            request_id: RequestId,
            /// The error.
            error: Text,
            /// The error code: `unsupported_request`, `invalid_mode`…
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
