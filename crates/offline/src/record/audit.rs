//! Extracts writes from audit events.

use std::borrow::Cow;

use managed_by::kinds;

use super::{Record, State, not_an_object};
use crate::json::Members;
use crate::object_ref::ObjectRef;
use crate::operation::Operation;
use crate::skipped::{SkipReason, SkippedRecord};

/// A write in an audit log.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) operation: Operation,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) state: State<'a>,
}

/// A write that the API server rejected, from an audit log.
#[derive(Debug)]
pub struct RejectedWrite<'a> {
    /// The object. The name is empty if the API server would have generated it.
    pub object: ObjectRef,
    /// The operation. A patch is an update.
    pub operation: Operation,
    /// HTTP status of the response, at least 400.
    pub code: u16,
    /// Message of the response; empty if it has none.
    pub message: String,
    /// The object that the client sent. [`None`] for a patch, which the audit event does not identify, for a delete, and if the
    /// level of the event is Metadata.
    pub(crate) sent: Option<State<'a>>,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    pub(crate) time: Option<Cow<'a, str>>,
}

impl RejectedWrite<'_> {
    /// Returns true if the same request could succeed later: the object changed, is missing or already exists, or the API server
    /// was busy or failed. Correct controllers get these answers too.
    pub fn is_transient(&self) -> bool {
        matches!(self.code, 404 | 408 | 409 | 410 | 429) || self.code >= 500
    }
}

/// A completed write to an object or its status in an audit log, accepted or rejected.
#[derive(Debug)]
pub(crate) struct AuditedWrite<'a> {
    pub(crate) event: Members<'a>,
    pub(crate) verb: Cow<'a, str>,
    /// API group in `objectRef`. `group`, `version` and `resource` (the plural) identify the written resource.
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) resource: Cow<'a, str>,
    pub(crate) is_status: bool,
    /// HTTP status of the response; 0 if the event has none.
    pub(crate) code: u16,
}

impl<'a> AuditedWrite<'a> {
    /// Converts an audit event. Returns [`None`] for reads, unfinished requests, dry runs and writes to other
    /// subresources.
    pub(super) fn new(event: Members<'a>) -> Option<Self> {
        let text = |name| event.string(name).unwrap_or_default();
        // Audit logs record an apply as a patch.
        let verb = text("verb");
        let is_write = ["create", "update", "patch", "delete"].contains(&&*verb);
        if text("stage") != "ResponseComplete" || !is_write {
            return None;
        }
        let object_ref = event.object("objectRef");
        let subresource = object_ref.string("subresource").unwrap_or_default();
        let is_status = subresource == "status";
        if !(is_status || subresource.is_empty()) || text("requestURI").contains("dryRun=") {
            return None;
        }
        let code = event.object("responseStatus").get("code");
        Some(Self {
            verb,
            group: object_ref.string("apiGroup").unwrap_or_default(),
            version: object_ref.string("apiVersion").unwrap_or_default(),
            resource: object_ref.string("resource").unwrap_or_default(),
            is_status,
            code: code.and_then(|code| code.parse().ok()).unwrap_or_default(),
            event,
        })
    }

    fn operation(&self) -> Operation {
        match &*self.verb {
            "delete" => Operation::Delete,
            // An apply can create the object.
            verb if verb == "create" || self.code == 201 => Operation::Create,
            _ if self.is_status => Operation::UpdateStatus,
            _ => Operation::Update,
        }
    }

    /// Converts a rejected write. Returns [`None`] if the kind is unknown.
    fn rejection(&self) -> Option<RejectedWrite<'a>> {
        let sent = self.event.get("requestObject");
        let sent = sent.filter(|_| ["create", "update"].contains(&&*self.verb));
        let mut sent = sent.and_then(State::parse);
        let known = kinds()
            .iter()
            .find(|kind| kind.group() == self.group && kind.plural() == self.resource);
        let kind = match (known, &sent) {
            (Some(kind), _) => kind.name().to_owned(),
            (None, Some(state)) if !state.kind.is_empty() => state.kind.to_string(),
            (None, _) => return None,
        };
        let object_ref = self.event.object("objectRef");
        let text = |name| object_ref.string(name).unwrap_or_default().into_owned();
        let status = self.event.object("responseStatus");
        let object = ObjectRef {
            group: self.group.to_string(),
            version: self.version.to_string(),
            kind,
            namespace: text("namespace"),
            name: text("name"),
        };
        if let Some(sent) = &mut sent {
            sent.complete(&object);
        }
        Some(RejectedWrite {
            object,
            operation: self.operation(),
            code: self.code,
            message: status.string("message").unwrap_or_default().into_owned(),
            sent,
            user: self.user(),
            time: self.time(),
        })
    }

    /// Returns true if the object is missing because of the event's size. AKS replaces it with a text.
    pub(crate) fn is_truncated(&self) -> bool {
        let annotations = self.event.object("annotations");
        let mark = annotations.string("audit.k8s.io/truncated");
        mark.is_some_and(|mark| mark == "true") || self.event.string("responseObject").is_some()
    }

    pub(crate) fn is_rejected(&self) -> bool {
        self.code >= 400
    }

    pub(crate) fn response(&self) -> Option<&'a str> {
        self.event.get("responseObject")
    }

    /// Returns `userInfo` as in the admission request: the impersonated user, if there is one.
    pub(crate) fn user(&self) -> Option<&'a str> {
        let impersonated = self.event.get("impersonatedUser");
        impersonated.or_else(|| self.event.get("user"))
    }

    pub(crate) fn time(&self) -> Option<Cow<'a, str>> {
        self.event.string("requestReceivedTimestamp")
    }
}

pub(crate) fn truncated() -> SkippedRecord {
    let text = "audit event that the API server or the cloud truncated, because it is too large, expected the whole object";
    SkippedRecord::new(SkipReason::NoObject, text)
}

/// Converts an audit event (`Event` in `audit.k8s.io`) to a record.
pub(super) fn record(event: Members<'_>) -> Result<Record<'_>, SkippedRecord> {
    let Some(audited) = AuditedWrite::new(event) else {
        return Ok(Record::Ignored);
    };
    let is_known = kinds()
        .iter()
        .any(|kind| kind.group() == audited.group && kind.plural() == audited.resource);
    let is_truncated = audited.is_truncated();
    let response = match audited.response() {
        _ if is_truncated && is_known && !audited.is_rejected() => return Err(truncated()),
        _ if audited.is_rejected() => {
            let rejected = audited.rejection().map(Box::new);
            return Ok(rejected.map_or(Record::Ignored, Record::Rejected));
        }
        Some(response) => response,
        // Events without an object are only an error for supported resources.
        None if is_known => {
            let level = audited.event.string("level").unwrap_or_default();
            let level: String = level.chars().take(40).collect();
            let text = format!(
                "audit event of level {level} without the object, expected RequestResponse"
            );
            return Err(SkippedRecord::new(SkipReason::NoObject, text));
        }
        None => return Ok(Record::Ignored),
    };
    let state = State::parse(response).ok_or_else(not_an_object)?;
    Ok(Record::Write(Box::new(Write {
        operation: audited.operation(),
        user: audited.user(),
        time: audited.time(),
        state,
    })))
}
