//! Extracts writes from audit events.

use std::borrow::Cow;

use managed_by::kinds;

use super::{Record, State, not_an_object};
use crate::json::Members;
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

/// Converts an audit event (`Event` in `audit.k8s.io`) to a record.
pub(super) fn record(event: Members<'_>) -> Result<Record<'_>, SkippedRecord> {
    let Some(audited) = AuditedWrite::new(event) else {
        return Ok(Record::Ignored);
    };
    let is_known = kinds()
        .iter()
        .any(|kind| kind.group() == audited.group && kind.plural() == audited.resource);
    let response = match audited.response() {
        _ if audited.is_rejected() && is_known => return Ok(Record::Rejected),
        Some(response) if !audited.is_rejected() => response,
        // Events without an object are only an error for supported resources.
        None if is_known => {
            let level = audited.event.string("level").unwrap_or_default();
            let level: String = level.chars().take(40).collect();
            let text = format!(
                "audit event of level {level} without the object, expected RequestResponse"
            );
            return Err(SkippedRecord::new(SkipReason::NoObject, text));
        }
        _ => return Ok(Record::Ignored),
    };
    let state = State::parse(response).ok_or_else(not_an_object)?;
    let operation = match &*audited.verb {
        "delete" => Operation::Delete,
        // An apply can create the object.
        verb if verb == "create" || audited.code == 201 => Operation::Create,
        _ if audited.is_status => Operation::UpdateStatus,
        _ => Operation::Update,
    };
    Ok(Record::Write(Box::new(Write {
        operation,
        user: audited.user(),
        time: audited.time(),
        state,
    })))
}
