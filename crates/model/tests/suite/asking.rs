//! What tests of models share.

use duologue_model::{Model, ModelError, Part, Request, Retry, StreamedMessage};
use serde_json::Value;

use super::client::asks;

/// All that came of asking once.
#[derive(Default)]
pub(super) struct Heard {
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

pub(super) async fn hear(model: &dyn Model, request: Request) -> Heard {
    let mut heard = Heard::default();
    let mut answer = model.ask(request);
    while let Some(part) = answer.next().await {
        assert!(heard.error.is_none(), "it goes on after an error");
        match part {
            Ok(Part::Event(event)) => {
                assert_eq!(event.json()["type"], *event.name);
                heard.folded.add(&event);
                heard.events.push(event.json());
            }
            Ok(Part::Retry(retry)) => heard.retries.push(retry),
            Ok(Part::Line(line)) => heard.lines.push(line),
            Ok(Part::RequestId(id)) => heard.request_ids.push(id),
            Ok(part) => panic!("{part:?}"),
            Err(error) => heard.error = Some(error),
        }
    }
    heard
}

pub(super) async fn says(model: &dyn Model, prompt: &str) -> String {
    let heard = hear(model, request(prompt)).await;
    assert_eq!(heard.error, None);
    heard.folded.text()
}
