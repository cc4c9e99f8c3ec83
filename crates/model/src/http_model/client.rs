//! The HTTP client.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::{Shared, reason};
use crate::error::ModelError;

impl Shared {
    pub(super) fn make_client(&self) -> Result<Client, ModelError> {
        make(&self.url, self.connect, HeaderMap::new())
    }
}

/// An HTTP client for this address, with its own headers, for MCP servers.
///
/// # Errors
///
/// If the address or a header is none.
#[doc(hidden)]
pub fn http_client(url: &str, headers: &[(String, String)]) -> Result<Client, ModelError> {
    let unusable = |error: &dyn std::fmt::Display| ModelError::Setup(format!("{url}: {error}"));
    let address = Url::parse(url).map_err(|error| unusable(&error))?;
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().map_err(|error| unusable(&error))?;
        let value: HeaderValue = value.parse().map_err(|error| unusable(&error))?;
        map.insert(name, value);
    }
    make(&address, CONNECT, map)
}

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(30);

fn make(url: &Url, connect: Duration, headers: HeaderMap) -> Result<Client, ModelError> {
    let unusable = |error: &(dyn std::error::Error + 'static)| {
        ModelError::Setup(format!("the HTTP client cannot be created: {}", reason(error)))
    };
    let config = tls(url.scheme() == "https").map_err(|error| unusable(&error))?;
    let mut builder = Client::builder()
        .tls_backend_preconfigured(config)
        .connect_timeout(connect)
        .default_headers(headers)
        // No redirects: the key must not be sent to another server.
        .redirect(Policy::none())
        .user_agent(concat!("duologue/", env!("CARGO_PKG_VERSION")));
    if is_here(url) {
        // A proxy cannot reach our loopback.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| unusable(&error))
}

fn tls(is_needed: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = if is_needed {
        config.with_platform_verifier()?
    } else {
        config.with_root_certificates(RootCertStore::empty())
    };
    Ok(config.with_no_client_auth())
}

fn is_here(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
