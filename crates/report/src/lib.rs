//! A conformance report on a controller: what its recorded writes would have met in each release of kube-apiserver, and which
//! rules they never came near.
//!
//! [`Recording`] takes the writes one by one, as admission requests, and gives a [`Report`]. That is data (`serde`), a page
//! ([`Report::html`]) and a badge ([`Report::badge`]). It does no I/O.
//!
//! A rule counts as *exercised* by a write where the write was judged by it and could have broken it: a Job that ends exercises
//! the rules on ended Jobs. Without one such write a rule is *untested*, not passed.
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
