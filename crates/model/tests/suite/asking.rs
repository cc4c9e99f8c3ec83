//! Helpers for tests of models.

use duologue_model::{Model, ModelError, Part, Request, Retry, StreamedMessage};
use serde_json::Value;

use super::client::asks;

/// The events of a streamed message with one block of one piece.
pub(super) const EVENTS: [&str; 6] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
];

/// Everything that a model sent for one request.
#[derive(Default)]
pub(super) struct Received {
    pub(super) folded: StreamedMessage,
    pub(super) events: Vec<Value>,
    pub(super) retries: Vec<Retry>,
    pub(super) lines: Vec<String>,
    pub(super) request_ids: Vec<String>,
    pub(super) error: Option<ModelError>,
}

pub(super) fn request(prompt: &str) -> Request {
    Request::new(asks(prompt)).unwrap()
}

pub(super) async fn receive(model: &dyn Model, request: Request) -> Received {
    let mut received = Received::default();
    let mut answer = model.ask(request);
    while let Some(part) = answer.next().await {
        assert!(received.error.is_none(), "it continues after an error");
        match part {
            Ok(Part::Event(event)) => {
                assert_eq!(event.json()["type"], *event.name);
                received.folded.add(&event);
                received.events.push(event.json());
            }
            Ok(Part::Retry(retry)) => received.retries.push(retry),
            Ok(Part::Line(line)) => received.lines.push(line),
            Ok(Part::RequestId(id)) => received.request_ids.push(id),
            Ok(part) => panic!("{part:?}"),
            Err(error) => received.error = Some(error),
        }
    }
    received
}

pub(super) async fn says(model: &dyn Model, prompt: &str) -> String {
    let received = receive(model, request(prompt)).await;
    assert_eq!(received.error, None);
    received.folded.text()
}
