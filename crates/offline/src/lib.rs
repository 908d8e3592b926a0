//! Evaluates manifests and recordings without an API server.
//!
//! [`managed_by::review`] evaluates admission requests. This crate builds such requests from manifests, watch streams and audit
//! logs, and summarizes the results. It does not access files or the clock, starts no threads (except with the feature `parallel`)
//! and compiles to WebAssembly, so the command line and the npm package return the same results. All verdicts come from the
//! library.
//!
//! ```
//! use managed_by_offline::{Document, Evaluator, manifest};
//! use managed_by::{Settings, UserInfo};
//!
//! let text = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec:\n  managedBy: kubernetes.io/job-controler\n";
//! let evaluator = Evaluator::new(Settings::default(), None);
//! for document in Document::parse_all(text) {
//!     let document = document?;
//!     for object in manifest::objects(&document) {
//!         let object = object?;
//!         let user = UserInfo::default();
//!         let request = object.request("default", &user);
//!         let report = request.with_request(|request| evaluator.evaluate(request))??;
//!         assert_eq!(report.findings[0].rule.id(), "managed-by/reserved-domain");
//!         let located = document.locate(&object.document_path(&report.findings[0].path));
//!         assert_eq!((located.line, located.column), (5, 14));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![expect(clippy::missing_errors_doc, reason = "the error says what failed")]

#[cfg(feature = "catalog")]
pub mod catalog;
pub mod document;
pub mod embedded;
mod evaluator;
mod json;
pub mod manifest;
mod object_ref;
mod operation;
mod path;
mod placeholder;
pub mod profile;
mod record;
mod recreation;
pub mod release;
pub mod replay;
mod request;
mod settings;
mod skipped;
mod split;
mod text;
mod unwrapper;

pub use document::{Document, ValueLocation};
pub use embedded::embedded_records;
pub use evaluator::Evaluator;
pub use operation::Operation;
pub use path::Path;
pub use release::ReleaseSelector;
pub use replay::{RecordPosition, Replay, StatusWriterCollector, Step, Tally};
pub use request::Request;
pub use settings::{SettingsText, with_overrides};
pub use skipped::{SkipReason, SkippedRecord};
pub use split::{SourceDocument, complete_len, next_start, received_time, split_documents};
pub use text::{MalformedText, decode};
pub use unwrapper::Unwrapper;
