//! Which requests are served: those of local programs, not those of web pages.
//!
//! A web page can send requests to servers on the user's machine. Its domain can even resolve to 127.0.0.1.
//! Its requests then have that domain as `Host`, and the origin of the page as `Origin`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::Response;

use super::routes;
use crate::scenario::ApiError;

/// The longest body. The real API accepts 32 MB, and a script may answer that a body is too large.
const LONGEST_BODY: usize = 64 << 20;

/// How long a client may take for the body of a request.
const BODY: Duration = Duration::from_secs(60);

/// Routes that are served to programs on this machine, and to clients that use the server's own address.
pub(super) fn checked(routes: Router, bound: SocketAddr) -> Router {
    routes.layer(from_fn(move |request: Request, next: Next| check(request, next, bound)))
}

async fn check(request: Request, next: Next, bound: SocketAddr) -> Response {
    if let Err(why) = judge(request.uri(), request.headers(), bound) {
        return refused(403, why);
    }
    let (head, body) = request.into_parts();
    let length = head.headers.get("content-length").and_then(|length| length.to_str().ok());
    if length
        .and_then(|length| length.parse().ok())
        .is_some_and(|bytes: usize| bytes > LONGEST_BODY)
    {
        return refused(413, "the body is longer than 64 MiB");
    }
    let body = match tokio::time::timeout(BODY, to_bytes(body, LONGEST_BODY)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return refused(413, "the body is longer than 64 MiB, or was cut off"),
        Err(_) => return refused(408, "the body took longer than 60 seconds"),
    };
    next.run(Request::from_parts(head, Body::from(body))).await
}

fn refused(status: u16, why: &str) -> Response {
    let mut response = routes::error(&ApiError::new(status).message(why));
    response.headers_mut().insert("connection", HeaderValue::from_static("close"));
    response
}

fn judge(uri: &Uri, headers: &HeaderMap, bound: SocketAddr) -> Result<(), &'static str> {
    const HOSTS: &str = "the Host of a request must be localhost or an address of this server";
    const ORIGINS: &str = "requests of web pages are refused: the Origin is not this server";
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(HOSTS) };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    if !host.is_some_and(|host| is_ours(&host, bound)) {
        return Err(HOSTS);
    }
    if uri.authority().is_some_and(|host| !is_ours(host, bound)) {
        return Err(HOSTS);
    }
    for origin in headers.get_all(ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
        let ours = origin.is_some_and(|origin| {
            let host = origin.authority().filter(|_| origin.scheme_str() == Some("http"));
            host.is_some_and(|host| host.port_u16() == Some(bound.port()) && is_ours(host, bound))
        });
        if !ours {
            return Err(ORIGINS);
        }
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
        return Err(ORIGINS);
    }
    Ok(())
}

/// Whether a host name can only mean this server. Names other than `localhost` can resolve to any address.
fn is_ours(host: &Authority, bound: SocketAddr) -> bool {
    if host.as_str().contains('@') || host.port_u16().is_some_and(|port| port != bound.port()) {
        return false;
    }
    let name = host.host();
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    address.parse::<IpAddr>().is_ok_and(|address| {
        address.is_loopback() || address == bound.ip() || bound.ip().is_unspecified()
    })
}
