//! Judges without an API server: makes admission requests of what people have, and sums up the answers.
//!
//! People have manifests, watch streams and audit logs; [`managed_by::review`] judges admission requests. Between the two
//! is this crate: bytes in, requests and answers out. It has no files, no clock, no threads of its own (but see the
//! feature `parallel`) and compiles to WebAssembly, so that its users, the command line and the npm package, give the same answers (a
//! test of the module uses [`Judge`], too). It decides nothing: verdicts are the library's.
//!
//! - [`Document::all`] reads the documents of a text, YAML or JSON, and [`Document::locate`] says where in the text a path
//!   of a finding stands.
//! - [`manifest::objects`] lists the objects in a document, each with its request as CREATE; [`manifest::updates`] makes the
//!   updates between two of them.
//! - [`Judge`] asks the library, one release or several, and gives a [`ObjectReport`] that borrows nothing.
//! - [`Replay`] judges recorded history, chunk by chunk, and keeps a [`Tally`]. [`StatusWriters`] lists who wrote which
//!   status.
//! - [`SettingsText`] finds the policy's settings in a file of them or in a manifest of a policy.
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
