//! Plain HTTP with JSON.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, TlsConfig};

/// An answer, whatever its code.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    /// The texts of its `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// The message in a `Status` or in an error.
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The message and the warnings.
    pub(crate) fn said(&self) -> String {
        match &self.warnings[..] {
            [] => self.message().to_owned(),
            warnings => format!("{} {warnings:?}", self.message()),
        }
    }
}

/// A client that trusts one authority.
pub(crate) fn agent(authority: Option<&str>) -> Result<Agent> {
    let mut tls = TlsConfig::builder();
    if let Some(pem) = authority {
        tls = tls.root_certs([Certificate::from_pem(pem.as_bytes())?].into());
    }
    let config = Agent::config_builder()
        .tls_config(tls.build())
        .http_status_as_error(false)
        // A proxy has no business on loopback.
        .proxy(None)
        .max_idle_connections_per_host(64)
        .timeout_connect(Some(Duration::from_secs(10)));
    Ok(Agent::new_with_config(config.build()))
}

/// Sends a request and reads its answer.
pub(crate) fn send(agent: &Agent, request: Request<Vec<u8>>) -> Result<Answer> {
    let what = format!("{} {}", request.method(), request.uri());
    let (parts, body) = request.into_parts();
    let response = if body.is_empty() {
        agent.run(Request::from_parts(parts, ()))
    } else {
        agent.run(Request::from_parts(parts, body))
    };
    let mut response = response.with_context(|| what.clone())?;
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings
        .filter_map(|w| w.to_str().ok().map(warning))
        .collect();
    let code = response.status().as_u16();
    let text = response
        .body_mut()
        .with_config()
        .limit(1 << 28)
        .read_to_string()
        .context(what)?;
    // Not every error comes as JSON.
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer {
        code,
        body,
        warnings,
    })
}

/// The text in `299 - "text"`.
fn warning(header: &str) -> String {
    let text = header.split_once('"').map_or(header, |(_, rest)| rest);
    let text = text.strip_suffix('"').unwrap_or(text);
    text.replace("\\\"", "\"").replace("\\\\", "\\")
}
