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
pub(crate) mod unsupported_value;
pub(crate) mod wrong_kind;
