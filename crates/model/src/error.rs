//! Errors of models.

use std::time::Duration;

use serde_json::Value;

use crate::scenario::ApiError;
use crate::script::Mismatch;

/// Why a model did not answer, or not completely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The API returned an error.
    #[error("{0}")]
    Api(ApiFailure),
    /// The API was overloaded several times in a row.
    #[error("Repeated 529 Overloaded errors")]
    Overloaded(ApiFailure),
    /// The API cannot be reached.
    #[error("the API cannot be reached: {0}")]
    Unreachable(String),
    /// The answer ended too early.
    #[error("the answer was cut off: {0}")]
    Cut(String),
    /// The API sent nothing for this long.
    #[error("the API sent nothing for {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The response is not one of the Messages API.
    #[error("the response is not one of a Messages API: {0}")]
    Malformed(String),
    /// The script has no reply for this request.
    #[error("{0}")]
    Script(Mismatch),
    /// The configuration of the model is invalid.
    #[error("{0}")]
    Setup(String),
}

/// An error response of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiFailure {
    /// The HTTP status. `None` if the error came within the stream.
    pub status: Option<u16>,
    /// The type of the error, such as `rate_limit_error`.
    pub kind: String,
    /// The message.
    pub message: String,
    /// How long to wait before a retry.
    pub retry_after: Option<Duration>,
    /// The id of the request at the API.
    pub request_id: Option<String>,
}

impl std::fmt::Display for ApiFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            Some(status) => write!(formatter, "{status} {}", self.message),
            None => write!(formatter, "{}", self.message),
        }
    }
}

impl ApiFailure {
    /// From the body of a response. It may come from a proxy and have another form.
    pub(crate) fn from_body(status: Option<u16>, body: &str) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let text = |name: &str| json["error"][name].as_str().map(str::to_owned);
        let kind = text("type").unwrap_or_else(|| "unknown_error".to_owned());
        let message = text("message").unwrap_or_else(|| {
            let shown: String = body.trim().chars().take(SHOWN).collect();
            if shown.is_empty() { "no message".to_owned() } else { shown }
        });
        let request_id = json["request_id"].as_str().map(str::to_owned);
        Self { status, kind, message, retry_after: None, request_id }
    }

    /// From a scenario, as its server sends it.
    pub(crate) fn from_scenario(error: &ApiError, in_stream: bool) -> Self {
        let status = (!in_stream).then_some(error.status);
        let mut failure = Self::from_body(status, &error.to_json().to_string());
        if !in_stream {
            failure.retry_after = error.retry_after.map(Duration::from_secs);
        }
        failure
    }
}

/// How many characters of a body that is not JSON are shown.
const SHOWN: usize = 300;

impl ModelError {
    /// The error response of the API, if there is one.
    #[must_use]
    pub fn api(&self) -> Option<&ApiFailure> {
        match self {
            Self::Api(failure) | Self::Overloaded(failure) => Some(failure),
            _ => None,
        }
    }

    /// The HTTP status, if there was one. A script without a reply has 400, as its server returns.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Script(_) => Some(400),
            _ => self.api().and_then(|failure| failure.status),
        }
    }

    /// Its name on the wire: the `error` of an `assistant` or an `api_retry` line.
    ///
    /// ```
    /// use duologue_model::ModelError;
    ///
    /// assert_eq!(ModelError::Cut("gone".to_owned()).word(), "unknown");
    /// ```
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.api().is_some_and(|failure| failure.message.contains("redit balance is too low")) {
            return "billing_error";
        }
        match self.status() {
            Some(401 | 403) => "authentication_failed",
            Some(402) => "billing_error",
            Some(404) => "model_not_found",
            Some(429) => "rate_limit",
            Some(529) => "overloaded",
            Some(500..) => "server_error",
            Some(400..500) => "invalid_request",
            _ if matches!(self, Self::Setup(_)) => "authentication_failed",
            _ => "unknown",
        }
    }

    /// Whether a retry may succeed. Like the real CLI, this includes 401: the key may be renewed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Api(failure) => {
                failure.status.is_none_or(|status| matches!(status, 401 | 408 | 409 | 429 | 500..))
            }
            Self::Unreachable(_) | Self::Cut(_) | Self::Timeout(_) => true,
            Self::Overloaded(_) | Self::Malformed(_) | Self::Script(_) | Self::Setup(_) => false,
        }
    }
}
