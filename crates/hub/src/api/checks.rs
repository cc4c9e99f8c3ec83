//! Which requests are served: those of programs and pages that mean this hub.
//!
//! A web page can send requests to servers on the machine of its reader, and its name can be made to lead to 127.0.0.1. Its requests then
//! carry that name as their `Host`, and where the page is from as their `Origin`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;

#[derive(Debug)]
struct Allowed {
    bound: SocketAddr,
    hosts: Vec<String>,
}

/// Checks `Host` and `Origin` before anything else.
pub(super) fn checked(routes: Router, bound: SocketAddr, hosts: Vec<String>) -> Router {
    let allowed = Arc::new(Allowed { bound, hosts });
    routes.layer(from_fn(move |request: Request, next: Next| {
        let allowed = Arc::clone(&allowed);
        async move {
            match allowed.judge(request.uri(), request.headers()) {
                Ok(()) => secured(next.run(request).await),
                Err(why) => Problem::new(403, "origin", why).into_response(),
            }
        }
    }))
}

/// No response is cached, guessed at or shown in a frame.
fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    response
}

impl Allowed {
    fn judge(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        const HOSTS: &str =
            "the Host is not a name of this hub: start it with --host NAME to allow one";
        const ORIGINS: &str = "requests of other web pages are refused";
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(HOSTS) };
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        let Some(host) = host.filter(|host| self.is_ours(host)) else { return Err(HOSTS) };
        if uri.authority().is_some_and(|authority| !self.is_ours(authority)) {
            return Err(HOSTS);
        }
        for origin in headers.get_all(ORIGIN) {
            // The page must be of this hub, under the name that the request uses.
            let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
            if origin.as_ref().and_then(Uri::authority) != Some(&host) {
                return Err(ORIGINS);
            }
        }
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
            return Err(ORIGINS);
        }
        Ok(())
    }

    fn is_ours(&self, host: &Authority) -> bool {
        if host.as_str().contains('@') {
            return false;
        }
        let name = host.host();
        if self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) {
            return true;
        }
        if host.port_u16().is_some_and(|port| port != self.bound.port()) {
            return false;
        }
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        name.eq_ignore_ascii_case("localhost")
            || address.unwrap_or(name).parse::<IpAddr>().is_ok_and(|address| {
                address.is_loopback()
                    || address == self.bound.ip()
                    || self.bound.ip().is_unspecified()
            })
    }
}
