//! Evaluates manifests and recordings without an API server.
//!
//! [`managed_by::review`] evaluates admission requests. This crate builds such requests from manifests, watch streams and
//! audit logs, and summarizes the results. It does not access files or the clock, starts no threads (except with the
//! feature `parallel`) and compiles to WebAssembly, so the command line and the npm package return the same results. A
//! test of the module uses [`Judge`] too. All verdicts come from the library.
//!
//! - [`Document::all`] parses the YAML or JSON documents of a text, and [`Document::locate`] returns the position of a
//!   finding's path in the text.
//! - [`manifest::objects`] lists the objects in a document, each with its CREATE request; [`manifest::updates`] returns
//!   the updates between two objects.
//! - [`Judge`] evaluates a request under one release or several, and returns an owned [`ObjectReport`].
//! - [`Replay`] evaluates recorded history chunk by chunk and keeps a [`Tally`]. [`StatusWriters`] lists the writers of
//!   each status.
//! - [`SettingsText`] finds the policy's settings in a settings file or a policy manifest.
//!
//! ```
//! use managed_by_offline::{Document, Judge, manifest};
//! use managed_by::{Settings, UserInfo};
//!
//! let text = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec:\n  managedBy: kubernetes.io/job-controler\n";
//! let judge = Judge::new(Settings::default(), None);
//! for document in Document::all(text) {
//!     let document = document?;
//!     for object in manifest::objects(&document) {
//!         let object = object?;
//!         let judgement = object.alone("default", &UserInfo::default()).read(|request| judge.review(request))?;
//!         assert_eq!(judgement.findings[0].rule.id(), "managed-by/reserved-domain");
//!         let place = document.locate(&object.path_of(&judgement.findings[0].path));
//!         assert_eq!((place.line, place.column), (5, 14));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod asks;
mod decode;
pub mod document;
mod json;
pub mod judge;
mod malformed;
pub mod manifest;
mod named;
mod object_name;
mod path;
mod places;
mod record;
pub mod replay;
mod request;
mod same;
mod settings;
mod split;
mod unjudged;
mod unknown_field;
mod unwrap;

pub use asks::Asks;
pub use decode::decode;
pub use document::{Document, Located};
pub use judge::{Found, Judge, Matrix, ObjectReport};
pub use malformed::MalformedText;
pub use path::Path;
pub use replay::{Replay, Seen, StatusWriters, Step, Tally};
pub use request::{Remark, Request};
pub use settings::{SettingsText, overlaid};
pub use split::{Part, complete, parts, time_of};
pub use unjudged::{Unjudged, Why};
pub use unknown_field::UnknownField;
pub use unwrap::Unwrapper;
