//! This PolicyServer has no page of metrics: it sends them to a collector.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::json;

use crate::deploy;
use crate::policy_server::{Launch, PolicyServer};
use crate::report::Report;

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

pub(super) fn run(report: &mut Report, folder: &Path) {
    report.check("GET /metrics: there is none, on no port", page(folder));
    report.check(
        "--enable-metrics: a collector is told of each policy by name",
        sent(folder),
    );
}

fn start(place: &Launch) -> Result<PolicyServer> {
    place.start(&json!({"counted-policy": deploy::protect(&json!({}))?}))
}

fn page(folder: &Path) -> Result<()> {
    let server = start(&Launch::plain(folder, "no-metrics")?)?;
    let probe = server.probe.replace("/readiness", "/metrics");
    for url in [format!("{}/metrics", server.url), probe] {
        let answer = server.get(&url)?;
        ensure!(answer.code == 404, "{url}: {}", answer.code);
    }
    Ok(())
}

fn sent(folder: &Path) -> Result<()> {
    let collector = TcpListener::bind("127.0.0.1:0")?;
    let mut place = Launch::plain(folder, "metrics")?;
    place.arguments.push("--enable-metrics".to_owned());
    place.environment = vec![
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://{}", collector.local_addr()?),
        ),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1000".to_owned()),
    ];
    let server = start(&place)?;
    let example = &managed_by_testing::examples::all()?[0];
    server.review("/validate/counted-policy", &example.request)?;
    collector.set_nonblocking(true)?;
    let started = Instant::now();
    let mut stream = loop {
        match collector.accept() {
            Ok((stream, _)) => break stream,
            Err(e) if e.kind() == ErrorKind::WouldBlock && started.elapsed() < LIMIT => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(e) => bail!("nobody connects to the collector: {e}"),
        }
    };
    received(&mut stream, started)
}

/// Reads until all names have been seen. Names stand in the messages as they are, so that none of HTTP/2 has to be
/// understood but for the first frame, which is owed to the client.
fn received(stream: &mut TcpStream, started: Instant) -> Result<()> {
    /// An empty frame SETTINGS.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(&SETTINGS)?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    let missing = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        WANTED.iter().find(|name| !text.contains(**name))
    };
    while let Some(name) = missing(&bytes) {
        match stream.read(&mut buffer) {
            Ok(0) => bail!("the connection ended without {name}"),
            Ok(count) => bytes.extend(&buffer[..count]),
            Err(e) if started.elapsed() > LIMIT => bail!("no {name}: {e}"),
            Err(_) => {}
        }
    }
    Ok(())
}
