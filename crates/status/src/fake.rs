//! Runs the real reader with a cluster in memory.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Write as _};
use std::sync::{Arc, Mutex};

use clap::Parser;
use http::{Request, Response};
use kube::client::Body;
use managed_by_testing::cluster::{Fault, StubCluster, split_target};
use tempfile::NamedTempFile;
use tokio::runtime;

use managed_by_console::exit::CliError;
use managed_by_console::settings::ResolvedSettings;

use crate::args::StatusArgs;
use crate::output::StatusReport;
use crate::{Client, Reader};

/// Result of a run of `status`.
pub(crate) struct Run {
    pub(crate) report: Result<StatusReport, CliError>,
    pub(crate) requests: BTreeSet<String>,
    /// Limits of the lists' pages.
    pub(crate) limits: Vec<usize>,
}

thread_local! {
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: StatusArgs,
}

/// Runs `status` with settings and arguments.
pub(crate) fn run(cluster: &StubCluster, settings: &str, args: &str) -> Run {
    let mut file = NamedTempFile::with_suffix(".json").unwrap();
    file.write_all(settings.as_bytes()).unwrap();
    let settings = ResolvedSettings::from_file(Some(file.path())).unwrap();
    let Command { args } = Command::parse_from(["status"].into_iter().chain(args.split(' ')));
    let log = Arc::new(Mutex::new((BTreeSet::new(), Vec::new())));
    let (cluster, requests) = (Arc::new(cluster.clone()), Arc::clone(&log));
    let service = tower::service_fn(move |request: Request<Body>| {
        let target = request.uri().path_and_query().unwrap().as_str();
        let (path, query) = split_target(target);
        let mut log = requests.lock().unwrap();
        log.0.insert(path.to_owned());
        let limit = query.get("limit");
        log.1
            .extend(limit.map(|limit| limit.parse::<usize>().unwrap()));
        if cluster.faults.get(path) == Some(&Fault::Interrupt) && !query.contains_key("continue") {
            INTERRUPTED.set(true);
        }
        let response = cluster.respond(request.method().as_str(), target);
        let response = response.map(|(code, body)| {
            let response = Response::builder()
                .status(code)
                .header("date", cluster.date());
            response.body(Body::from(body.into_bytes())).unwrap()
        });
        std::future::ready(response.ok_or_else(|| Error::from(ErrorKind::ConnectionReset)))
    });
    INTERRUPTED.set(false);
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let report = runtime.block_on(async {
        let client = kube::Client::new(service, "team-mk");
        let client = Client::new(client, "https://fake".to_owned(), || INTERRUPTED.get());
        Reader::new(client, &args, &settings).read().await
    });
    drop(runtime);
    let (requests, limits) = std::mem::take(&mut *log.lock().unwrap());
    Run {
        report,
        requests,
        limits,
    }
}

/// Returns the report on all workloads.
pub(crate) fn report(cluster: &StubCluster) -> StatusReport {
    run(cluster, "{}", "-A").report.unwrap()
}
