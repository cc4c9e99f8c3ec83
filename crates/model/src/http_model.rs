//! [`MessagesModel`]: a Messages API as a model.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Body, Client, Response};
use sse_stream::{Sse, SseStream};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::error::{ApiFailure, ModelError};
use crate::model::{AnswerSender, AnswerStream, Model, Part};
use crate::purpose::Purpose;
use crate::render::Event;
use crate::request::Request;

mod builder;
mod client;

pub use builder::MessagesModelBuilder;
pub use client::http_client;

/// A model behind a Messages API: that of Anthropic, or a compatible one.
///
/// It sends each request once; wrap it in [`Retrying`](crate::Retrying) to retry. `Debug` does not show keys.
///
/// ```
/// use duologue_model::{MessagesModel, Retrying};
///
/// let model = MessagesModel::builder()
///     .base_url("http://127.0.0.1:8080")
///     .api_key("made-up")
///     .build()?;
/// assert!(!format!("{model:?}").contains("made-up"));
/// let model = Retrying::new(model);
/// # Ok::<(), duologue_model::ModelError>(())
/// ```
#[derive(Clone)]
pub struct MessagesModel {
    shared: Arc<Shared>,
}

struct Shared {
    url: reqwest::Url,
    headers: HeaderMap,
    connect: Duration,
    answer: Duration,
    idle: Duration,
    /// Created on first use: reading the certificates of the system is slow.
    client: OnceCell<Client>,
}

/// Limit for the body of an error.
const MOST_OF_ERROR: usize = 64 << 10;

impl MessagesModel {
    /// Configures a model.
    #[must_use]
    pub fn builder() -> MessagesModelBuilder {
        MessagesModelBuilder::default()
    }

    /// Creates a model from the environment: see [`MessagesModelBuilder::from_env`].
    ///
    /// # Errors
    ///
    /// If there is no key, or a value is invalid.
    pub fn from_env() -> Result<Self, ModelError> {
        MessagesModelBuilder::from_env().build()
    }
}

impl fmt::Debug for MessagesModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the whole URL: it may contain a user name and a password.
        let host = self.shared.url.host_str();
        formatter.debug_struct("MessagesModel").field("host", &host).finish_non_exhaustive()
    }
}

impl Model for MessagesModel {
    fn ask(&self, request: Request) -> AnswerStream {
        let shared = self.shared.clone();
        AnswerStream::new(async move |sender| shared.ask(&request, &sender).await)
    }
}

impl Shared {
    async fn ask(&self, request: &Request, sender: &AnswerSender) -> Result<(), ModelError> {
        let response = self.send(request).await?;
        let request_id = header(&response, "request-id");
        if let Some(id) = &request_id {
            sender.send(Part::RequestId(id.clone())).await;
        }
        let mut events = pin!(SseStream::new(Body::from(response)));
        let mut is_whole = false;
        loop {
            let next = poll_fn(|context| events.as_mut().poll_next(context));
            let event = match timeout(self.idle, next).await {
                Err(_) => return Err(ModelError::Timeout(self.idle)),
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(sse_stream::Error::Body(error)))) if !is_whole => {
                    return Err(ModelError::Cut(reason(&*error)));
                }
                Ok(Some(Err(error))) if !is_whole => {
                    return Err(ModelError::Malformed(error.to_string()));
                }
                Ok(None) if !is_whole => {
                    return Err(ModelError::Cut("it ended before `message_stop`".to_owned()));
                }
                // The message is complete; how the connection ends does not matter.
                Ok(_) => return Ok(()),
            };
            let Some(event) = event_of(event)? else { continue };
            if event.name == "error" {
                let mut failure = ApiFailure::from_body(None, &event.data);
                failure.request_id = failure.request_id.or(request_id);
                return Err(ModelError::Api(failure));
            }
            is_whole |= event.name == "message_stop";
            sender.send_event(event).await;
            if is_whole {
                return Ok(());
            }
        }
    }

    /// Sends the request, and waits for an answer that is not an error.
    async fn send(&self, request: &Request) -> Result<Response, ModelError> {
        let client = self.client.get_or_try_init(async || self.make_client()).await?;
        let mut body = request.body().clone();
        body["stream"] = true.into();
        let mut headers = self.headers.clone();
        if request.purpose() == Purpose::Sub {
            // The CLI marks its sub-agents like this; a scripted API recognises them by it.
            headers.insert("x-claude-code-agent-id", HeaderValue::from_static("sub"));
        }
        let sending = client.post(self.url.clone()).headers(headers).body(body.to_string()).send();
        let response = match timeout(self.answer, sending).await {
            Err(_) => return Err(ModelError::Timeout(self.answer)),
            Ok(Err(error)) => return Err(ModelError::Unreachable(reason(&error.without_url()))),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(ModelError::Api(self.failure(response).await));
        }
        let kind = header(&response, "content-type").unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(ModelError::Malformed(format!("it is {kind:?}, not an event stream")));
        }
        Ok(response)
    }

    async fn failure(&self, mut response: Response) -> ApiFailure {
        let status = response.status().as_u16();
        let request_id = header(&response, "request-id");
        let retry_after = header(&response, "retry-after").and_then(|value| value.parse().ok());
        let mut body = Vec::new();
        // The status is enough if the rest does not arrive.
        while let Ok(Ok(Some(piece))) = timeout(self.idle, response.chunk()).await {
            body.extend_from_slice(&piece);
            if body.len() > MOST_OF_ERROR {
                body.truncate(MOST_OF_ERROR);
                break;
            }
        }
        let mut failure = ApiFailure::from_body(Some(status), &String::from_utf8_lossy(&body));
        failure.request_id = request_id.or(failure.request_id);
        failure.retry_after = retry_after.map(Duration::from_secs);
        failure
    }
}

/// The event in a block of the stream. None if the block has no data: comments, settings.
fn event_of(block: Sse) -> Result<Option<Event>, ModelError> {
    let Some(data) = block.data.filter(|data| !data.trim().is_empty()) else { return Ok(None) };
    // Compatible APIs end their stream like another API does.
    if data.trim() == "[DONE]" {
        return Ok(None);
    }
    let json: serde_json::Value = serde_json::from_str(&data)
        .map_err(|error| ModelError::Malformed(format!("an event is not JSON: {error}")))?;
    let name = block.event.filter(|name| !name.is_empty());
    let name = name.or_else(|| json["type"].as_str().map(str::to_owned));
    let name = name.ok_or_else(|| ModelError::Malformed("an event has no type".to_owned()))?;
    Ok(Some(Event::new(name, data)))
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// An error with its sources: the message of reqwest alone says little.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        let text = error.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        behind = error.source();
    }
    said
}
