//! [`Call`]: a request that may be served, and [`Routes`]: a route cannot be declared without a scope.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{RawPathParams, Request};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::App;
use super::problem::Problem;
use super::tokens::{Scope, TokenInfo};
use crate::hub::{By, SessionHandle};
use crate::log::now;

/// The name of the cookie of a browser.
pub(super) const COOKIE_NAME: &str = "duologue_hub";

/// How long a client may take for the body of a request.
const BODY: Duration = Duration::from_secs(60);

/// Who may use a route.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    /// Everyone who can reach the hub.
    Public,
    /// Clients whose token has this scope.
    Scope(Scope),
}

/// A request that may be served.
pub(super) struct Call {
    pub(super) app: Arc<App>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    token: Option<TokenInfo>,
    path: HashMap<String, String>,
    query: HashMap<String, String>,
}

/// Routes, each with its scope.
pub(super) struct Routes {
    app: Arc<App>,
    router: Router,
}

impl Routes {
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app, router: Router::new() }
    }

    /// Adds a route.
    pub(super) fn route<F, R>(
        mut self,
        access: Access,
        method: MethodFilter,
        path: &str,
        handler: F,
    ) -> Self
    where
        F: Fn(Call) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<Response, Problem>> + Send + 'static,
    {
        let app = Arc::clone(&self.app);
        let serve = move |params: RawPathParams, request: Request| async move {
            let served = match Call::read(app, access, &params, request).await {
                Ok(call) => handler(call).await,
                Err(problem) => Err(problem),
            };
            served.unwrap_or_else(Problem::into_response)
        };
        self.router = self.router.route(path, on(method, serve));
        self
    }

    pub(super) fn finish(self) -> Router {
        let missing = || async { Problem::missing("resource").into_response() };
        let method = || async {
            Problem::new(405, "method", "the resource does not have this method").into_response()
        };
        self.router.fallback(missing).method_not_allowed_fallback(method)
    }
}

impl Call {
    async fn read(
        app: Arc<App>,
        access: Access,
        params: &RawPathParams,
        request: Request,
    ) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let token = authenticate(&app, &head.headers);
        if let Access::Scope(scope) = access {
            let Some(token) = &token else {
                let detail = "a valid token is needed: Authorization: Bearer TOKEN";
                return Err(Problem::new(401, "unauthorized", detail));
            };
            require(token, scope)?;
        }
        let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let query = query(head.uri.query().unwrap_or_default())?;
        let body = read_body(body, app.hub.limits().body).await?;
        if !body.is_empty() && !is_json(&head.headers) {
            let detail = "the body must be JSON: Content-Type: application/json";
            return Err(Problem::new(415, "content-type", detail));
        }
        Ok(Self { app, headers: head.headers, body, token, path, query })
    }

    /// The token of the client.
    pub(super) fn by(&self) -> By {
        self.token.as_ref().map(|token| token.id.as_str().into())
    }

    /// Checks a scope that depends on the request.
    pub(super) fn require(&self, scope: Scope) -> Result<(), Problem> {
        self.token.as_ref().map_or(Ok(()), |token| require(token, scope))
    }

    /// An id in the path. What is not an id does not exist.
    pub(super) fn id<T: std::str::FromStr>(&self, name: &str, what: &str) -> Result<T, Problem> {
        let text = self.path.get(name).and_then(|text| text.parse().ok());
        text.ok_or_else(|| Problem::missing(what))
    }

    /// A part of the path as it is.
    pub(super) fn path(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The session in the path.
    pub(super) fn session(&self) -> Result<SessionHandle, Problem> {
        let id = self.id("id", "session")?;
        self.app.hub.session(id).ok_or_else(|| Problem::missing("session"))
    }

    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// A number in the query, within limits.
    pub(super) fn number(&self, name: &str, default: usize, most: usize) -> Result<usize, Problem> {
        let Some(text) = self.query(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| Problem::invalid(format!("{name} is a number from 1 to {most}")))
    }

    /// The body.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Problem::invalid(format!("the body is not valid: {error}")))
    }
}

fn require(token: &TokenInfo, scope: Scope) -> Result<(), Problem> {
    if token.allows(scope) {
        return Ok(());
    }
    let name = super::views::json(&scope);
    let detail = "the token does not have the scope that this needs";
    Err(Problem::new(403, "scope", detail).with("needs", name))
}

fn authenticate(app: &App, headers: &HeaderMap) -> Option<TokenInfo> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(bearer) = bearer {
        return app.tokens.find(bearer.strip_prefix("Bearer ")?.trim(), now());
    }
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|one| one.split_once('='));
    let token =
        pairs.map(|(name, value)| (name.trim(), value.trim())).find(|one| one.0 == COOKIE_NAME);
    app.tokens.find(token?.1, now())
}

async fn read_body(body: Body, limit: usize) -> Result<Bytes, Problem> {
    match tokio::time::timeout(BODY, to_bytes(body, limit)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => {
            let detail = format!("the body is longer than {limit} bytes, or was cut off");
            Err(Problem::new(413, "too-large", detail).with("limit", limit))
        }
        Err(_) => Err(Problem::new(408, "timeout", "the body took longer than 60 seconds")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Our parameters are ids, numbers and words: none needs an escape.
fn query(text: &str) -> Result<HashMap<String, String>, Problem> {
    if text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Err(Problem::invalid("no parameter of this API needs % or +"));
    }
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    };
    Ok(pairs.map(pair).collect())
}

/// A response with JSON.
pub(super) fn reply(status: u16, value: &impl Serialize) -> Result<Response, Problem> {
    let failed = |error: &dyn std::fmt::Display| Problem::new(500, "internal", error.to_string());
    let json = serde_json::to_vec(value).map_err(|error| failed(&error))?;
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(json))
        .map_err(|error| failed(&error))
}
