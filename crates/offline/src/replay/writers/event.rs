//! Extracts the writer of a status from an audit event.

use std::borrow::Cow;

use managed_by::{AdmissionRequest, FieldLocation, Kind, Settings, resolve};
use serde_json::json;

use crate::json::{Members, elements, string};
use crate::path::Path;
use crate::record::{AuditedWrite, truncated};
use crate::replay::tally::username;
use crate::skipped::{SkipReason, SkippedRecord};

/// A kind whose status writes are tracked.
#[derive(Debug)]
pub(super) struct TrackedKind {
    group: String,
    /// Served versions; empty matches all.
    versions: Vec<String>,
    plural: String,
    pub(super) name: String,
    managed_by_path: Path,
    reserved_value: Option<String>,
}

pub(super) enum AuditEvent<'c> {
    Ignored,
    /// A status write of another kind.
    OtherKind,
    /// A status write that was rejected, but not by a status writer rule of the policy.
    Rejected,
    /// A status write whose event does not show whether the object is delegated.
    UnknownReconciler,
    Skipped(SkippedRecord),
    StatusWrite(StatusWrite<'c>),
}

/// A status write to an object of a tracked kind.
pub(super) struct StatusWrite<'c> {
    /// Index of the first tracked kind with the same name.
    pub(super) kind: usize,
    pub(super) reconciler: StatusReconciler<'c>,
    pub(super) user: String,
    /// True if a status writer rule of the policy denied the write, or would have.
    pub(super) has_finding: bool,
}

/// The controller that reconciles an object: the built-in controller, or the controller in `managedBy`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StatusReconciler<'c> {
    BuiltIn,
    Delegated(Cow<'c, str>),
}

/// The policy's audit annotations on a write.
#[derive(Debug, Default)]
struct PolicyAnnotations<'c> {
    reconciler: Option<StatusReconciler<'c>>,
    /// True if a status writer rule denies the write, or would deny it outside mode `monitor`.
    is_denied: bool,
    /// True if a status writer rule warns.
    is_warned: bool,
}

/// Prefix of the ids of status writer rules.
const STATUS_WRITER_PREFIX: &str = "status-writer/";

impl TrackedKind {
    /// Returns [`None`] for a kind such as CronJob, which only contains a workload template: the settings cannot list status
    /// writers for it.
    pub(super) fn new(kind: &Kind<'_>) -> Option<Self> {
        (kind.field_location() == FieldLocation::Workload).then(|| Self {
            group: kind.group().to_owned(),
            versions: kind.versions().iter().map(ToString::to_string).collect(),
            plural: kind.plural().to_owned(),
            name: kind.name().to_owned(),
            managed_by_path: Path::parse(kind.managed_by_path()),
            reserved_value: kind.reserved_value().map(str::to_owned),
        })
    }

    /// Parses a custom kind that the settings declare.
    pub(super) fn from_custom_kind(entry: &str, settings: &Settings<'_>) -> Option<Self> {
        let entry = Members::parse(entry).unwrap_or_default();
        let text = |name| entry.string(name).unwrap_or_default();
        let versions = entry.get("versions").and_then(elements).unwrap_or_default();
        let versions: Vec<_> = versions.into_iter().filter_map(string).collect();
        let version = versions.first().map_or("v1", |version| &**version);
        let kind = json!({"group": text("group"), "version": version, "kind": text("kind")});
        let request = json!({"operation": "CREATE", "kind": kind, "object": {}}).to_string();
        let request = AdmissionRequest::from_json(request.as_bytes()).ok()?;
        let kind = resolve(&request, settings, |resolved| {
            resolved.kind().and_then(Self::new)
        })?;
        Some(Self {
            versions: versions.into_iter().map(Cow::into_owned).collect(),
            ..kind
        })
    }

    /// Finds the kind of the audited resource. If several match, the one that serves the version wins. Other versions match too,
    /// because the API server converts their objects for the webhook (`matchPolicy: Equivalent`).
    fn find<'k>(kinds: &'k [Self], audited: &AuditedWrite<'_>) -> Option<&'k Self> {
        let mut matching = kinds
            .iter()
            .filter(|kind| kind.group == audited.group && kind.plural == audited.resource);
        let has_version = |kind: &&Self| kind.versions.iter().any(|v| *v == audited.version);
        matching
            .clone()
            .find(has_version)
            .or_else(|| matching.next())
    }

    /// Returns the controller that reconciles an object, or [`None`] if the text is not a complete object of this kind.
    fn reconciler<'c>(&self, object: &'c str) -> Option<StatusReconciler<'c>> {
        let mut members = Members::parse(object)?;
        if members.string("kind")? != self.name {
            return None;
        }
        let (field, parents) = self.managed_by_path.segments().split_last()?;
        for parent in parents {
            members = members.object(parent);
        }
        let Some(value) = members.get(field) else {
            return Some(StatusReconciler::BuiltIn);
        };
        let name = string(value)?;
        let is_reserved = self.reserved_value.as_deref() == Some(&*name);
        Some(if is_reserved {
            StatusReconciler::BuiltIn
        } else {
            StatusReconciler::Delegated(name)
        })
    }
}

impl<'c> AuditEvent<'c> {
    pub(super) fn classify(
        audited: Result<AuditedWrite<'c>, SkippedRecord>,
        kinds: &[TrackedKind],
    ) -> Self {
        let audited = match audited {
            Ok(audited) if audited.is_status && ["update", "patch"].contains(&&*audited.verb) => {
                audited
            }
            Ok(_) => return Self::Ignored,
            Err(skipped) => return Self::Skipped(skipped),
        };
        let Some(tracked) = TrackedKind::find(kinds, &audited) else {
            return Self::OtherKind;
        };
        // A kind name applies to all API groups, as in the settings.
        let Some(kind) = kinds.iter().position(|first| first.name == tracked.name) else {
            return Self::OtherKind;
        };
        let annotations = PolicyAnnotations::new(&audited.event.object("annotations"));
        // If the policy manifest sets a custom message, only the annotation names the rule.
        let message = audited.event.object("responseStatus").string("message");
        let message = message.unwrap_or_default();
        let names_rule = annotations.is_denied || message.contains("[status-writer/");
        let is_denied = audited.code == 403 && names_rule;
        if audited.is_rejected() && !is_denied {
            return Self::Rejected;
        }
        let names_builtin = is_denied && message.contains("[status-writer/builtin]");
        let reconciler = audited
            .response()
            .and_then(|object| tracked.reconciler(object))
            .or(annotations.reconciler)
            .or_else(|| names_builtin.then_some(StatusReconciler::BuiltIn))
            .or_else(|| {
                // The client's object comes last: the API server keeps the stored spec and ignores the one in the request.
                // A patch is not a complete object.
                let object = audited.event.get("requestObject");
                let object = object.filter(|_| audited.verb == "update");
                object.and_then(|object| tracked.reconciler(object))
            });
        let Some(reconciler) = reconciler else {
            if audited.is_truncated() {
                return Self::Skipped(truncated());
            }
            return Self::UnknownReconciler;
        };
        let user = audited.user().and_then(username);
        let Some(user) = user.filter(|user| !user.is_empty()) else {
            let text = "audit event of a status write without a user name";
            return Self::Skipped(SkippedRecord::new(SkipReason::Malformed, text));
        };
        Self::StatusWrite(StatusWrite {
            kind,
            reconciler,
            user,
            has_finding: is_denied || annotations.is_denied || annotations.is_warned,
        })
    }
}

impl<'c> PolicyAnnotations<'c> {
    /// Parses the policy's annotations. The API server prefixes each key with the webhook name, so `mode` and `controller` must
    /// come from the same webhook.
    fn new(annotations: &Members<'c>) -> Self {
        let mut parsed = Self::default();
        for (key, value) in annotations.iter() {
            let Some((webhook, key)) = key.rsplit_once('/') else {
                continue;
            };
            let value = string(value).unwrap_or_default();
            match key {
                "denied" => parsed.is_denied |= value.contains(STATUS_WRITER_PREFIX),
                "warned" => parsed.is_warned |= value.contains(STATUS_WRITER_PREFIX),
                "mode" if value == "BuiltIn" => parsed.reconciler = Some(StatusReconciler::BuiltIn),
                "mode" if value == "Delegated" => {
                    // The name is quoted. Names with escapes that JSON does not have are invalid for every kind.
                    let controller = annotations.string(&format!("{webhook}/controller"));
                    let name = controller.and_then(|quoted| serde_json::from_str(&quoted).ok());
                    parsed.reconciler =
                        name.map(|name| StatusReconciler::Delegated(Cow::Owned(name)));
                }
                _ => {}
            }
        }
        parsed
    }
}
