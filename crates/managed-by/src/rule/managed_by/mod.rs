//! `managed-by/...`: rules about `managedBy` of workloads, and in templates of the objects that workloads create.

pub(crate) mod allowed;
pub(crate) mod delegation;
pub(crate) mod format;
pub(crate) mod immutable;
pub(crate) mod object_too_large;
pub(crate) mod pruned_version;
pub(crate) mod recommended_format;
pub(crate) mod reserved;
pub(crate) mod reserved_domain;
pub(crate) mod template;
#[cfg(feature = "manifests")]
pub(crate) mod unknown_field;
pub(crate) mod unsupported_value;
pub(crate) mod wrong_kind;

use crate::description::{Enforcement, Rule};
use crate::rule::{Check, CheckFn};

/// In a cluster, the API server drops unknown fields before it calls a policy, so only tools run the check.
pub(crate) static UNKNOWN_FIELD: Check = Check::new(
    Rule::policy("managed-by/unknown-field", include_str!("unknown-field.md"))
        .with_default(Enforcement::Warn)
        .for_manifests(),
    CheckFn::Manifest,
);
