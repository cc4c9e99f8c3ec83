//! What is reported when the model fails, in the words of the CLI.

use duologue_model::{ModelError, Retry};
use duologue_protocol::Field;
use duologue_protocol::message::ApiErrorKind;
use duologue_protocol::system::{ApiRetry, ModelFallback};

use super::models::title;
use duologue_agent::ApiFailure;
use duologue_agent::model_limits;

/// A failure that ends the turn.
pub(super) fn failure(error: &ModelError, model: &str) -> ApiFailure {
    let said = error.api().map(|failure| failure.message.as_str()).unwrap_or_default();
    let status = error.status();
    let (message, kind) = match (error, status) {
        _ if said.to_ascii_lowercase().contains("prompt is too long") => {
            ("Prompt is too long".to_owned(), "invalid_request")
        }
        _ if error.word() == "billing_error" => {
            ("Credit balance is too low".to_owned(), "billing_error")
        }
        (ModelError::Overloaded(_), _) => (
            "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment.".to_owned(),
            "server_error",
        ),
        (ModelError::Setup(why), _) => (why.clone(), "authentication_failed"),
        (_, Some(401 | 403)) => {
            (format!("Failed to authenticate. API Error: {error}"), "authentication_failed")
        }
        (_, Some(404)) => (
            format!("There's an issue with the selected model ({model}). It may not exist or you may not have access to it. Run --model to pick a different model."),
            "model_not_found",
        ),
        // The CLI has no better kind for it.
        (ModelError::Api(_), Some(400)) => (format!("API Error: {error}"), "unknown"),
        (ModelError::Unreachable(why), _) => {
            (format!("API Error: Unable to connect to API ({why})"), "unknown")
        }
        _ => (format!("API Error: {error}"), error.word()),
    };
    let mut failure = ApiFailure::new(message, ApiErrorKind::from(kind), status);
    failure.api_type = error.api().map(|api| api.kind.clone()).filter(|kind| !kind.is_empty());
    failure
}

/// Another model answers, since the one that was asked is overloaded. The words are the CLI's own.
pub(super) fn fell_back(asked: &str, other: &str) -> ModelFallback {
    let mut content =
        format!("Switched to {} due to high demand for {}", title(other), title(asked));
    let (before, now) = (model_limits(asked).0, model_limits(other).0);
    if before != now {
        content.push_str(&format!(" · context window {} → {} tokens", short(before), short(now)));
    }
    ModelFallback::new()
        .trigger("overloaded")
        .original_model(asked)
        .fallback_model(other)
        .content(content)
}

/// A number of tokens as people write it: `1M`, `200K`.
fn short(tokens: u64) -> String {
    match tokens {
        1_000_000.. => format!("{}M", tokens / 1_000_000),
        _ => format!("{}K", tokens / 1_000),
    }
}

/// A failure after which the model is asked again.
pub(super) fn retry(retry: &Retry) -> ApiRetry {
    let millis = u64::try_from(retry.delay.as_millis()).unwrap_or(u64::MAX);
    let mut line = ApiRetry::new()
        .attempt(retry.attempt)
        .max_retries(retry.max_retries)
        .retry_delay_ms(millis)
        .error(ApiErrorKind::from(retry.error.word()));
    line.error_status = match retry.error.status() {
        Some(status) => Field::Value(status.into()),
        None => Field::Null,
    };
    line
}
