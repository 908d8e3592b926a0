//! Conformance reports on controllers: which recorded writes each release of kube-apiserver would have denied, and which rules the
//! writes did not test. `managed-by conformance` prints them.
//!
//! [`ReportBuilder`] collects writes as admission requests and returns a [`ConformanceReport`]: data (`serde`), an HTML page
//! ([`ConformanceReport::html`]), Markdown ([`ConformanceReport::markdown`]) and a badge ([`ConformanceReport::badge`]). It does no I/O
//! and has no clock.
//!
//! A write *exercises* a rule if the rule applies to it and the write could have broken it. For example, a Job that finishes exercises
//! the rules on finished Jobs. A rule without such a write is *untested*, not passed.
//!
//! ```
//! use managed_by::AdmissionRequest;
//! use managed_by_report::{ReportBuilder, WriteLocation};
//! use serde_json::json;
//!
//! let job = |failed| json!({"metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner"}, "status": {"failed": failed}});
//! let value = json!({
//!     "operation": "UPDATE", "subResource": "status", "kind": {"group": "batch", "version": "v1", "kind": "Job"},
//!     "oldObject": job(2), "object": job(1),
//! });
//! let json = value.to_string();
//! let request = AdmissionRequest::from_json(json.as_bytes())?;
//! let location = WriteLocation { source: "watch.ndjson".to_owned(), line: 1, time: None };
//! let mut builder = ReportBuilder::new("acme.io/runner");
//! builder.add(&request, &value, &location)?;
//! let report = builder.finish();
//! let decreased = report.rule("job-status/failed-decreased").unwrap();
//! assert_eq!(decreased.results[0].denied, 1);
//! assert_eq!(report.headline(), "status denied by 1.30 to 1.37");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod badge;
mod builder;
mod diff;
mod markdown;
mod page;
mod report;

pub use builder::{ReportBuilder, WriteLocation};
pub use report::{
    ConformanceReport, Denial, FieldChange, ObjectHistory, Outcome, Provenance, RecordedWrite,
    ReleaseResult, RuleResult,
};
