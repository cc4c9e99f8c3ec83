//! The routes of the server.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::{Shared, body};
use crate::pace::Paced;
use crate::render::{Event, RenderedMessage};
use crate::request::{BadRequest, Request};
use crate::scenario::{ApiError, Reply};

/// Headers with credentials. They are not stored, not even made-up ones.
const SECRET: &[&str] = &["authorization", "x-api-key", "cookie", "proxy-authorization"];

pub(super) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(async || "a scripted Messages API\n"))
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .fallback(not_here)
        // Checked already.
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

async fn messages(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let request = match read(&headers, &body) {
        Ok(request) => request,
        Err(problem) => return error(&ApiError::new(400).message(problem.to_string())),
    };
    let is_stream = request.is_stream();
    let (answer, number) = match shared.answer(request, body.len()) {
        Ok(answer) => answer,
        Err(mismatch) => return error(&ApiError::new(400).message(mismatch.to_string())),
    };
    let reply = &answer.reply;
    if reply.delay_ms > 0 {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(reply.delay_ms)) => {}
            () = shared.ended() => {}
        }
    }
    let message = RenderedMessage::new(&answer, number);
    let mut response = match &reply.error {
        Some(failure) if reply.say.is_empty() || !is_stream => error(failure),
        _ if is_stream => {
            let events: Vec<Bytes> = message.events().into_iter().map(written).collect();
            response("text/event-stream", body::paced(Paced::new(events, reply), &shared))
        }
        _ => {
            let whole = Bytes::from(message.to_json().to_string());
            response(
                "application/json",
                body::paced(Paced::new(vec![whole], &whole_reply(reply)), &shared),
            )
        }
    };
    let request_id = HeaderValue::try_from(format!("req_script_{number:04}"));
    if let Ok(request_id) = request_id {
        response.headers_mut().insert(HeaderName::from_static("request-id"), request_id);
    }
    add_headers(&mut response, reply);
    response
}

/// Estimates tokens: about four bytes each.
async fn count_tokens(body: Bytes) -> Response {
    json_response(StatusCode::OK, &json!({ "input_tokens": body.len().div_ceil(4) }))
}

async fn not_here(uri: Uri) -> Response {
    let message = format!("a scripted Messages API has no {}", uri.path());
    error(&ApiError::new(404).message(message))
}

fn read(headers: &HeaderMap, body: &[u8]) -> Result<Request, BadRequest> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|problem| BadRequest(format!("the body is not JSON: {problem}")))?;
    let kept = headers.iter().filter(|(name, _)| !SECRET.contains(&name.as_str()));
    Ok(Request::new(body)?.with_headers(
        kept.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()))),
    ))
}

/// A whole message is one piece: a cut or a stall is before that piece.
fn whole_reply(reply: &Reply) -> Reply {
    Reply {
        cut_after: reply.cut_after.map(|_| 0),
        stall_after: reply.stall_after.map(|_| 0),
        ..Reply::default()
    }
}

fn written(event: Event) -> Bytes {
    format!("event: {}\ndata: {}\n\n", event.name, event.data).into()
}

pub(super) fn error(failure: &ApiError) -> Response {
    let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, &failure.to_json());
    if let Some(seconds) = failure.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn response(kind: &'static str, body: Body) -> Response {
    ([(CONTENT_TYPE, kind)], body).into_response()
}

fn add_headers(response: &mut Response, reply: &Reply) {
    for (name, value) in &reply.headers {
        // A scenario was checked for headers that are none.
        let name = HeaderName::try_from(name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value.as_str())) {
            response.headers_mut().insert(name, value);
        }
    }
}
