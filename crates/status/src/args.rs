//! The arguments of `managed-by status`.

use std::path::PathBuf;

use chrono::TimeDelta;
use clap::{Args as ClapArgs, ValueEnum};
use http::Uri;
use jiff::SignedDuration;
use managed_by_console::value::parse_namespace;

#[expect(clippy::struct_excessive_bools, reason = "each is an argument")]
#[derive(Debug, ClapArgs)]
pub struct StatusArgs {
    /// Kind, or kind and name: jobs, jobset/train
    #[arg(value_name = "KIND[/NAME]")]
    pub(crate) object: Option<String>,
    /// Namespace; by default that of the context
    #[arg(long, short, value_parser = parse_namespace)]
    pub(crate) namespace: Option<String>,
    /// All namespaces
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    /// Label selector, such as team=a
    #[arg(long, short = 'l', value_name = "LABELS")]
    pub(crate) selector: Option<String>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Minimum age of evidence, such as 90s, 5m or 1h
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    pub(crate) after: TimeDelta,
    /// Maximum time that a worker cluster may take to admit a workload of MultiKueue
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
    pub(crate) dispatch_limit: TimeDelta,
    /// Field manager that may write the status of a controller's workloads (repeatable)
    #[arg(long = "writer", value_name = "CONTROLLER=MANAGER", value_parser = parse_writer)]
    pub(crate) writers: Vec<(String, String)>,
    /// Policy settings, which may list controllers and declare custom kinds
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Show only orphaned, stalled and contradicting workloads, and those with a foreign writer
    #[arg(long)]
    pub(crate) problems: bool,
    /// Read the cluster every 30 seconds, and print rows whose verdict or state changed
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// Write a report of openreports.io or wgpolicyk8s.io for each problem, and delete outdated ones
    #[arg(long, conflicts_with_all = ["watch", "selector", "object"])]
    pub(crate) reports: bool,
    /// Send metrics to a Pushgateway, by POST, such as <http://pushgateway:9091/metrics/job/managed-by>
    #[arg(long, value_name = "URL", conflicts_with = "watch", value_parser = parse_url)]
    pub(crate) push_metrics: Option<Uri>,
    /// Exit with 0 if there are no workloads
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: StatusOutput,
}

fn parse_url(text: &str) -> Result<Uri, String> {
    let url: Uri = text.parse().map_err(|_| "expected a URL".to_owned())?;
    let is_http = matches!(url.scheme_str(), Some("http" | "https"));
    let has_user = url.authority().is_some_and(|a| a.as_str().contains('@'));
    if is_http && url.host().is_some() && url.query().is_none() && !has_user {
        Ok(url)
    } else {
        Err(
            "expected a URL that starts with http:// or https://, without a user or a query"
                .to_owned(),
        )
    }
}

fn parse_duration(text: &str) -> Result<TimeDelta, &'static str> {
    let duration: Result<SignedDuration, _> = text.parse();
    let seconds = duration.ok().map(|duration| duration.as_secs());
    let duration = seconds.filter(|s| *s >= 0).and_then(TimeDelta::try_seconds);
    duration.ok_or("expected a duration such as 90s, 5m or 1h")
}

fn parse_writer(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let (controller, manager) = pair.ok_or("expected CONTROLLER=MANAGER")?;
    Ok((controller.to_owned(), manager.to_owned()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusOutput {
    /// A table, or a tree for one workload.
    Table,
    /// A table with one thing to do for each problem.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// The problems, for a CI job's page.
    Markdown,
    /// Numbers of workloads, as metrics for Prometheus.
    Metrics,
}
