//! [`Problem`]: errors as problem documents (RFC 9457).

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use super::views;
use crate::hub::Refusal;
use crate::log::{AppendError, CursorError, ReadError};

/// An error of the API.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    status: StatusCode,
    /// The last part of `type`.
    kind: &'static str,
    detail: String,
    /// Further members of the document.
    more: Vec<(String, Value)>,
    retry_after: Option<u32>,
}

impl Problem {
    pub(super) fn new(status: u16, kind: &'static str, detail: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, kind, detail: detail.into(), more: Vec::new(), retry_after: None }
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.push((name.to_owned(), value.into()));
        self
    }

    pub(super) const fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(super) fn missing(what: &str) -> Self {
        Self::new(404, "not-found", format!("there is no such {what}"))
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(422, "invalid", detail)
    }

    pub(super) fn limit(what: &str, limit: usize) -> Self {
        let detail = format!("the limit of {limit} {what} is reached");
        Self::new(429, "limit", detail).with("limit", limit).with("of", what).retry_after(5)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut document = Map::new();
        document.insert("type".to_owned(), format!("urn:duologue:problem:{}", self.kind).into());
        document.insert("title".to_owned(), self.kind.replace('-', " ").into());
        document.insert("status".to_owned(), self.status.as_u16().into());
        document.insert("detail".to_owned(), self.detail.into());
        document.extend(self.more);
        let mut response = Response::new(Body::from(Value::Object(document).to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<AppendError> for Problem {
    fn from(error: AppendError) -> Self {
        let detail = error.to_string();
        match error {
            AppendError::Full => Self::new(507, "full", detail).retry_after(30),
            AppendError::TooLarge { .. } => Self::new(413, "too-large", detail),
            AppendError::Unknown(_) => Self::new(503, "unknown-outcome", detail).retry_after(1),
            _ => Self::new(503, "log", detail).retry_after(1),
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let detail = error.to_string();
        match error {
            ReadError::NoSession(_) => Self::missing("session"),
            ReadError::Gone { first } => Self::new(410, "gone", detail).with("first", first),
            ReadError::Ahead { head } => Self::new(409, "ahead", detail).with("last", head),
            ReadError::Storage(_) => Self::new(503, "log", detail).retry_after(1),
        }
    }
}

impl From<CursorError> for Problem {
    fn from(error: CursorError) -> Self {
        let detail = error.to_string();
        match error {
            CursorError::Malformed => Self::new(400, "cursor", detail),
            CursorError::OtherIncarnation => Self::new(410, "other-log", detail),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Missing(what) => Self::missing(what),
            Refusal::OtherRequest { seq } => {
                Self::new(422, "other-request", detail).with("seq", seq)
            }
            Refusal::Invalid(detail) => Self::invalid(detail),
            Refusal::Closed => Self::new(409, "closed", detail),
            Refusal::PromptStarted(state) => {
                Self::new(409, "started", detail).with("state", views::json(&state))
            }
            Refusal::NotOpen { state, answer, by } => {
                let answer = answer.unwrap_or(Value::Null);
                Self::new(409, "not-open", detail)
                    .with("state", views::json(&state))
                    .with("answer", answer)
                    .with("by", by.as_deref().map_or(Value::Null, Into::into))
            }
            Refusal::NotRunning { turn } => Self::new(409, "not-running", detail)
                .with("turn", turn.map_or(Value::Null, Into::into)),
            Refusal::Limit { what, limit } => Self::limit(what, limit),
            Refusal::Log(error) => error.into(),
            Refusal::Read(error) => error.into(),
            Refusal::Unavailable => Self::new(503, "unavailable", detail).retry_after(1),
        }
    }
}
