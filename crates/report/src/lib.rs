//! Conformance reports on controllers: which recorded writes each release of kube-apiserver would have denied, and which rules the
//! writes did not test. `managed-by conformance` prints them.
//!
//! [`Recording`] collects writes as admission requests and returns a [`Report`]: data (`serde`), an HTML page ([`Report::html`]) and
//! a badge ([`Report::badge`]). It does no I/O.
//!
//! A write *exercises* a rule if the rule applies to it and the write could have broken it. For example, a Job that finishes exercises
//! the rules on finished Jobs. A rule without such a write is *untested*, not passed.
//!
//! ```
//! use managed_by::AdmissionRequest;
//! use managed_by_report::{RecordedAt, Recording};
//! use serde_json::json;
//!
//! let job = |failed| json!({"metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner"}, "status": {"failed": failed}});
//! let value = json!({
//!     "operation": "UPDATE", "subResource": "status", "kind": {"group": "batch", "version": "v1", "kind": "Job"},
//!     "oldObject": job(2), "object": job(1),
//! });
//! let json = value.to_string();
//! let request = AdmissionRequest::from_json(json.as_bytes())?;
//! let place = RecordedAt { source: "watch.ndjson".to_owned(), line: 1, time: None };
//! let mut recording = Recording::of("acme.io/runner");
//! recording.add(&request, &value, &place);
//! let report = recording.finish();
//! let decreased = report.row("job-status/failed-decreased").unwrap();
//! assert_eq!(decreased.cells[0].denied, 1);
//! assert_eq!(report.badge_text(), "status conforms to no release");
//! # Ok::<(), managed_by::Malformed>(())
//! ```

mod badge;
mod page;
mod recording;
mod report;

pub use recording::{RecordedAt, Recording};
pub use report::{Cell, Denial, Report, Row, State, Step, Timeline};
