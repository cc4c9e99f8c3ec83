//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::http::header::SET_COOKIE;
use axum::response::Response;
use axum::routing::MethodFilter;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::App;
use super::call::{Access, COOKIE_NAME, Call, Routes, reply};
use super::problem::Problem;
use super::stream;
use super::tokens::{Scope, TokenError};
use super::views;
use crate::id::{AskId, PromptId, SessionId};
use crate::log::{Body, Cursor, Limits, now};
use crate::state::Answer;

/// How many sessions or entries a page has at most.
const MOST_ON_PAGE: usize = 1000;

/// How many bytes of entries a page has at most.
const PAGE_BYTES: usize = 4 << 20;

const ADMIN: Access = Access::Scope(Scope::Admin);
const CONTROL: Access = Access::Scope(Scope::Control);
const PROMPT: Access = Access::Scope(Scope::Prompt);
const ANSWER: Access = Access::Scope(Scope::Answer);
const READ: Access = Access::Scope(Scope::Read);

pub(super) fn routes(app: Arc<App>) -> Router {
    use MethodFilter as M;
    Routes::new(app)
        .route(Access::Public, M::GET, "/healthz", health)
        .route(Access::Public, M::GET, "/readyz", ready)
        .route(Access::Public, M::POST, "/v1/pair", pair)
        .route(ADMIN, M::GET, "/v1/tokens", list_tokens)
        .route(ADMIN, M::POST, "/v1/tokens", create_token)
        .route(ADMIN, M::DELETE, "/v1/tokens/{id}", revoke_token)
        .route(READ, M::GET, "/v1/sessions", list_sessions)
        .route(CONTROL, M::PUT, "/v1/sessions/{id}", create_session)
        .route(READ, M::GET, "/v1/sessions/{id}", get_session)
        .route(CONTROL, M::POST, "/v1/sessions/{id}/close", close_session)
        .route(PROMPT, M::PUT, "/v1/sessions/{id}/prompts/{prompt}", put_prompt)
        .route(READ, M::GET, "/v1/sessions/{id}/prompts/{prompt}", get_prompt)
        .route(PROMPT, M::DELETE, "/v1/sessions/{id}/prompts/{prompt}", delete_prompt)
        .route(PROMPT, M::POST, "/v1/sessions/{id}/interrupt", interrupt)
        .route(PROMPT, M::POST, "/v1/sessions/{id}/entries", publish)
        .route(READ, M::GET, "/v1/sessions/{id}/log", read_log)
        .route(READ, M::GET, "/v1/sessions/{id}/stream", stream::open)
        .route(READ, M::GET, "/v1/asks", list_asks)
        .route(READ, M::GET, "/v1/asks/{ask}", get_ask)
        .route(ANSWER, M::POST, "/v1/asks/{ask}/answer", answer_ask)
        .finish()
}

async fn health(_: Call) -> Result<Response, Problem> {
    reply(200, &json!({ "status": "ok" }))
}

async fn ready(call: Call) -> Result<Response, Problem> {
    call.app.hub.log().sessions(None, 1).await?;
    reply(200, &json!({ "status": "ok" }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    code: String,
    #[serde(default)]
    name: Option<String>,
}

async fn pair(call: Call) -> Result<Response, Problem> {
    let Pair { code, name } = call.json()?;
    if !call.app.tokens.use_code(&code, now()) {
        return Err(Problem::new(403, "pairing", "the code is not valid, or was used"));
    }
    let name = name.unwrap_or_else(|| "paired".to_owned());
    let (token, info) = call.app.tokens.create(&name, &[Scope::Admin], now(), None)?;
    let mut response = reply(201, &json!({ "token": token, "info": info }))?;
    let cookie =
        format!("{COOKIE_NAME}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000");
    let cookie = cookie.parse().map_err(|_| Problem::new(500, "internal", "no cookie"))?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        Self::new(503, "tokens", error.to_string())
    }
}

async fn list_tokens(call: Call) -> Result<Response, Problem> {
    reply(200, &json!({ "tokens": call.app.tokens.list() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewToken {
    name: String,
    scopes: Vec<Scope>,
    /// In seconds.
    #[serde(default)]
    expires_in: Option<u64>,
}

async fn create_token(call: Call) -> Result<Response, Problem> {
    let NewToken { name, scopes, expires_in } = call.json()?;
    if scopes.is_empty() || name.len() > 200 {
        return Err(Problem::invalid("a token has scopes, and a name of at most 200 bytes"));
    }
    let expires = expires_in.map(|seconds| now().saturating_add(seconds.saturating_mul(1000)));
    let (token, info) = call.app.tokens.create(&name, &scopes, now(), expires)?;
    reply(201, &json!({ "token": token, "info": info }))
}

async fn revoke_token(call: Call) -> Result<Response, Problem> {
    if !call.app.tokens.revoke(call.path("id"))? {
        return Err(Problem::missing("token"));
    }
    reply(200, &json!({}))
}

async fn list_sessions(call: Call) -> Result<Response, Problem> {
    let limit = call.number("limit", 100, MOST_ON_PAGE)?;
    let after = match call.query("after") {
        Some(text) => Some(text.parse().map_err(|_| Problem::invalid("after is a session id"))?),
        None => None,
    };
    let incarnation = call.app.hub.log().incarnation();
    let sessions = call.app.hub.sessions(after, limit);
    let next = sessions.last().filter(|_| sessions.len() == limit).map(|last| last.id());
    let sessions: Vec<_> = sessions.iter().map(|one| views::session(one, incarnation)).collect();
    reply(200, &json!({ "sessions": sessions, "next": next }))
}

async fn create_session(call: Call) -> Result<Response, Problem> {
    let id: SessionId = call.id("id", "session")?;
    let options: Box<RawValue> = match call.body.is_empty() {
        true => {
            RawValue::from_string("{}".to_owned()).map_err(|e| Problem::invalid(e.to_string()))?
        }
        false => call.json()?,
    };
    let (session, receipt) = call.app.hub.create(id, &options, call.by()).await?;
    let incarnation = call.app.hub.log().incarnation();
    let status = if receipt.repeated { 200 } else { 201 };
    reply(status, &views::session(&session, incarnation))
}

async fn get_session(call: Call) -> Result<Response, Problem> {
    reply(200, &views::session(&call.session()?, call.app.hub.log().incarnation()))
}

async fn close_session(call: Call) -> Result<Response, Problem> {
    let session = call.session()?;
    session.close(call.by()).await?;
    reply(200, &views::session(&session, call.app.hub.log().incarnation()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPrompt {
    content: Box<RawValue>,
}

async fn put_prompt(call: Call) -> Result<Response, Problem> {
    let session = call.session()?;
    let id: PromptId = call.id("prompt", "prompt")?;
    let NewPrompt { content } = call.json()?;
    let receipt = session.prompt(id, content, call.by()).await?;
    let cursor = Cursor::new(call.app.hub.log().incarnation(), receipt.seq);
    let body = json!({ "id": id, "seq": receipt.seq, "cursor": cursor.to_string(), "state": receipt.state });
    reply(202, &body)
}

async fn get_prompt(call: Call) -> Result<Response, Problem> {
    let session = call.session()?;
    let id: PromptId = call.id("prompt", "prompt")?;
    let view = session.read(|state| state.prompts().get(id).map(|one| views::prompt(id, one)));
    reply(200, &view.ok_or_else(|| Problem::missing("prompt"))?)
}

async fn delete_prompt(call: Call) -> Result<Response, Problem> {
    let id: PromptId = call.id("prompt", "prompt")?;
    call.session()?.withdraw(id, call.by()).await?;
    reply(200, &json!({ "id": id, "state": "withdrawn" }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Interrupt {
    turn: u64,
}

async fn interrupt(call: Call) -> Result<Response, Problem> {
    let Interrupt { turn } = call.json()?;
    call.session()?.interrupt(turn, call.by()).await?;
    reply(202, &json!({ "turn": turn }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Publish {
    kind: String,
    body: Box<RawValue>,
}

async fn publish(call: Call) -> Result<Response, Problem> {
    let Publish { kind, body } = call.json()?;
    let body = Body::parse(body.get()).map_err(|error| Problem::invalid(error.to_string()))?;
    let receipt = call.session()?.publish(&kind, body, call.by()).await?;
    let cursor = Cursor::new(call.app.hub.log().incarnation(), receipt.first);
    reply(201, &json!({ "seq": receipt.first, "cursor": cursor.to_string() }))
}

async fn read_log(call: Call) -> Result<Response, Problem> {
    let session = call.session()?;
    if call.query("view").is_some_and(|view| view != "entries") {
        return Err(Problem::invalid("the only view is entries"));
    }
    let limit = call.number("limit", 100, MOST_ON_PAGE)?;
    let log = call.app.hub.log();
    let after = match call.query("after") {
        Some(cursor) => cursor.parse::<Cursor>()?.seq_in(log.incarnation())?,
        None => 0,
    };
    let page = match log.read(session.id(), after, Limits::new(limit, PAGE_BYTES)).await {
        Err(crate::log::ReadError::Gone { first })
            if after == 0 && call.query("after").is_none() =>
        {
            log.read(session.id(), first - 1, Limits::new(limit, PAGE_BYTES)).await?
        }
        page => page?,
    };
    let next = page.entries.last().map_or(after, |entry| entry.seq);
    let cursor = |seq| Cursor::new(log.incarnation(), seq).to_string();
    let body = Log { entries: &page.entries, next: cursor(next), head: cursor(page.head.last) };
    reply(200, &body)
}

#[derive(serde::Serialize)]
struct Log<'p> {
    entries: &'p [crate::log::Entry],
    next: String,
    head: String,
}

async fn list_asks(call: Call) -> Result<Response, Problem> {
    let sessions = call.app.hub.sessions(None, usize::MAX);
    let asks: Vec<_> = sessions
        .iter()
        .flat_map(|session| session.read(|state| views::open_asks(session.id(), state)))
        .collect();
    reply(200, &json!({ "asks": asks }))
}

async fn get_ask(call: Call) -> Result<Response, Problem> {
    let id: AskId = call.id("ask", "ask")?;
    let missing = || Problem::missing("ask");
    let session = call.app.hub.session_of(id).ok_or_else(missing)?;
    let view =
        session.read(|state| state.asks().get(id).map(|one| views::ask(session.id(), id, one)));
    reply(200, &view.ok_or_else(missing)?)
}

async fn answer_ask(call: Call) -> Result<Response, Problem> {
    let id: AskId = call.id("ask", "ask")?;
    let session = call.app.hub.session_of(id).ok_or_else(|| Problem::missing("ask"))?;
    let answer: Answer = call.json()?;
    if answer.is_control() {
        call.require(Scope::Control)?;
    }
    session.answer(id, answer, call.by()).await?;
    let view =
        session.read(|state| state.asks().get(id).map(|one| views::ask(session.id(), id, one)));
    reply(200, &view)
}
