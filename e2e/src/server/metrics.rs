//! This PolicyServer has no page of metrics: it sends them to a collector.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::{Case, DELEGATED, named};
use crate::deploy;
use crate::policy_server::PolicyServer;
use crate::process::until;
use crate::tls::Authority;

/// The names under which it counts, the labels in the queries of `docs/operations.md`, and the name of the policy.
const WANTED: [&str; 8] = [
    "kubewarden_policy_evaluations_total",
    "kubewarden_policy_evaluation_latency_milliseconds",
    "policy_name",
    "request_origin",
    "accepted",
    "resource_namespace",
    "resource_kind",
    "counted-policy",
];

/// It sends every minute unless `OTEL_METRIC_EXPORT_INTERVAL` says otherwise.
const LIMIT: Duration = Duration::from_secs(75);

/// Names stand in the messages as they are, so that none of HTTP/2 has to be understood but for the first frame, which is owed to the
/// client.
pub(super) fn sent(folder: &Path, authority: &Authority, cases: &[Case]) -> Result<()> {
    /// An empty frame SETTINGS.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let collector = TcpListener::bind("127.0.0.1:0")?;
    let endpoint = format!("http://{}", collector.local_addr()?);
    let mut server = PolicyServer::new(&folder.join("metrics"), authority)?;
    server.arguments = &["--enable-metrics"];
    server.environment = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1000".to_owned()),
    ];
    server.start(&json!({"counted-policy": deploy::protect(&json!({}))?}))?;
    let request = &named(cases, DELEGATED)?.request;
    server.review("/validate/counted-policy", request)?;
    collector.set_nonblocking(true)?;
    let (mut stream, _) = until("connection", LIMIT, || Ok(Some(collector.accept()?)))?;
    stream.set_nonblocking(true)?;
    stream.write_all(&SETTINGS)?;
    let mut bytes = Vec::new();
    until("metrics", LIMIT, || {
        // Whatever has come by now; then it would have to wait.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let missing = WANTED.iter().find(|name| !text.contains(**name));
        ensure!(missing.is_none(), "no {missing:?}");
        Ok(Some(()))
    })
}
