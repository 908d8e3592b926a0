//! `managed-by/...`: rules about `managedBy` of workloads, and in templates of the objects that workloads create.

pub(crate) mod allowed;
pub(crate) mod closed_set;
pub(crate) mod delegation;
pub(crate) mod format;
pub(crate) mod immutable;
pub(crate) mod nested;
pub(crate) mod pruned_version;
pub(crate) mod reserved;
pub(crate) mod reserved_domain;
pub(crate) mod unchecked_format;
pub(crate) mod updates_too_large;
pub(crate) mod wrong_kind;
