//! The configuration of a [`MessagesModel`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::OnceCell;

use super::{MessagesModel, Shared};
use crate::error::ModelError;

/// Configures a [`MessagesModel`].
#[derive(Clone, Default)]
pub struct MessagesModelBuilder {
    base_url: Option<String>,
    api_key: Option<String>,
    auth_token: Option<String>,
    headers: Vec<(String, String)>,
    connect: Option<Duration>,
    answer: Option<Duration>,
    idle: Option<Duration>,
}

const BASE_URL: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
const CONNECT: Duration = Duration::from_secs(30);
/// The timeout of the real CLI until an answer begins.
const ANSWER: Duration = Duration::from_secs(600);
/// Anthropic's API sends a `ping` every few seconds. Compatible APIs do not, and may be slow to read a prompt.
const IDLE: Duration = Duration::from_secs(300);

impl MessagesModelBuilder {
    /// Reads the environment: `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN`,
    /// `ANTHROPIC_CUSTOM_HEADERS` (`Name: value`, one per line), `ANTHROPIC_BETAS`, and `API_TIMEOUT_MS`.
    #[must_use]
    pub fn from_env() -> Self {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// Like [`from_env`](Self::from_env), with the variables from a function.
    #[must_use]
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        let mut builder = Self {
            base_url: var("ANTHROPIC_BASE_URL"),
            api_key: var("ANTHROPIC_API_KEY"),
            auth_token: var("ANTHROPIC_AUTH_TOKEN"),
            ..Self::default()
        };
        for line in var("ANTHROPIC_CUSTOM_HEADERS").unwrap_or_default().lines() {
            if let Some((name, value)) = line.split_once(':') {
                builder = builder.header(name.trim(), value.trim());
            }
        }
        if let Some(betas) = var("ANTHROPIC_BETAS") {
            builder = builder.header("anthropic-beta", betas);
        }
        let limit = var("API_TIMEOUT_MS").and_then(|limit| limit.trim().parse().ok());
        builder.answer = limit.map(Duration::from_millis);
        builder
    }

    /// Whether there is a key or a token.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.api_key.is_some() || self.auth_token.is_some()
    }

    /// The URL of the API, without `/v1`. Default: the API of Anthropic.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key, sent as `x-api-key`.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// The token, sent as `authorization: Bearer …`.
    #[must_use]
    pub fn auth_token(mut self, token: impl Into<String>) -> Self {
        self.auth_token = Some(token.into());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Timeout for the connection. Default: 30 seconds.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect = Some(limit);
        self
    }

    /// Timeout until the answer begins. Default: 10 minutes.
    #[must_use]
    pub fn answer_timeout(mut self, limit: Duration) -> Self {
        self.answer = Some(limit);
        self
    }

    /// Timeout between two events of an answer. Default: 5 minutes.
    #[must_use]
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }

    /// Builds the model. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// If there is neither key nor token, or a value is invalid. Errors contain no secrets.
    pub fn build(self) -> Result<MessagesModel, ModelError> {
        if !self.has_key() {
            return Err(setup("there is no key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"));
        }
        let base = self.base_url.as_deref().unwrap_or(BASE_URL).trim();
        let mut url = Url::parse(base)
            .map_err(|error| setup(format!("the base URL cannot be used: {error}")))?;
        url.set_path(&format!("{}/v1/messages", url.path().trim_end_matches('/')));
        if !matches!(url.scheme(), "http" | "https") {
            return Err(setup("the base URL begins with neither http:// nor https://"));
        }
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name.as_str())
                .map_err(|_| setup(format!("{name:?} is not a valid header name")))?;
            let value = secret(value, name.as_str())?;
            headers.insert(name, value);
        }
        if let Some(key) = &self.api_key {
            headers.insert("x-api-key", secret(key, "ANTHROPIC_API_KEY")?);
        }
        if let Some(token) = &self.auth_token {
            let bearer = format!("Bearer {}", token.trim());
            headers.insert("authorization", secret(&bearer, "ANTHROPIC_AUTH_TOKEN")?);
        }
        let shared = Shared {
            url,
            headers,
            connect: self.connect.unwrap_or(CONNECT),
            answer: self.answer.unwrap_or(ANSWER),
            idle: self.idle.unwrap_or(IDLE),
            client: OnceCell::new(),
        };
        Ok(MessagesModel { shared: Arc::new(shared) })
    }
}

/// A header value that `Debug` does not show: custom headers may be keys.
fn secret(value: &str, name: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::try_from(value.trim())
        .map_err(|_| setup(format!("the value of {name} cannot be sent in a header")))?;
    value.set_sensitive(true);
    Ok(value)
}

fn setup(problem: impl Into<String>) -> ModelError {
    ModelError::Setup(problem.into())
}

impl fmt::Debug for MessagesModelBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MessagesModelBuilder")
            .field("has_key", &self.has_key())
            .finish_non_exhaustive()
    }
}
