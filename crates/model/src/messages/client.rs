//! The HTTP client.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::{Shared, reason};
use crate::error::ModelError;

impl Shared {
    pub(super) fn make_client(&self) -> Result<Client, ModelError> {
        let unusable = |error: &(dyn std::error::Error + 'static)| {
            ModelError::Setup(format!("there is no HTTP client: {}", reason(error)))
        };
        let config = tls(self.url.scheme() == "https").map_err(|error| unusable(&error))?;
        let mut builder = Client::builder()
            .tls_backend_preconfigured(config)
            .connect_timeout(self.connect)
            // A key is for the one it was given for, and for nobody that one points to.
            .redirect(Policy::none())
            .user_agent(concat!("duologue/", env!("CARGO_PKG_VERSION")));
        if is_here(&self.url) {
            // No proxy knows our loopback.
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| unusable(&error))
    }
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
