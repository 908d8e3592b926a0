//! Extracts writes from audit events.

use std::borrow::Cow;

use managed_by::kinds;

use super::{Record, State, not_an_object};
use crate::asks::Asks;
use crate::json::Members;
use crate::unjudged::{Unjudged, Why};

/// A write in an audit log.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) asks: Asks,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) state: State<'a>,
}

/// A completed write to an object or its status in an audit log, accepted or rejected.
#[derive(Debug)]
pub(crate) struct Audited<'a> {
    event: Members<'a>,
    verb: Cow<'a, str>,
    /// API group of the resource; the version and the plural are of the resource too.
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) resource: Cow<'a, str>,
    pub(crate) is_status: bool,
    /// HTTP status of the response; 0 if the event has none.
    pub(crate) code: u16,
}

impl<'a> Audited<'a> {
    /// Converts an audit event. Returns [`None`] for reads, unfinished requests, dry runs and writes to other
    /// subresources.
    pub(super) fn of(event: Members<'a>) -> Option<Self> {
        let text = |name| event.string(name).unwrap_or_default();
        // Audit logs record an apply as a patch.
        let verb = text("verb");
        let is_write = ["create", "update", "patch", "delete"].contains(&&*verb);
        if text("stage") != "ResponseComplete" || !is_write {
            return None;
        }
        let of = event.object("objectRef");
        let subresource = of.string("subresource").unwrap_or_default();
        let is_status = subresource == "status";
        if !(is_status || subresource.is_empty()) || text("requestURI").contains("dryRun=") {
            return None;
        }
        let code = event.object("responseStatus").get("code");
        Some(Self {
            verb,
            group: of.string("apiGroup").unwrap_or_default(),
            version: of.string("apiVersion").unwrap_or_default(),
            resource: of.string("resource").unwrap_or_default(),
            is_status,
            code: code.and_then(|code| code.parse().ok()).unwrap_or_default(),
            event,
        })
    }

    /// Returns true for an update of the status.
    pub(crate) fn updates_status(&self) -> bool {
        self.is_status && ["update", "patch"].contains(&&*self.verb)
    }

    /// Returns true if the API server rejected the write.
    pub(crate) fn is_refused(&self) -> bool {
        self.code >= 400
    }

    /// Returns the response object, if recorded: the object or a `Status`.
    pub(crate) fn response(&self) -> Option<&'a str> {
        self.event.get("responseObject")
    }

    /// Returns the complete object in the request, if recorded. Patches are not complete objects.
    pub(crate) fn sent(&self) -> Option<&'a str> {
        let request = self.event.get("requestObject");
        request.filter(|_| self.verb == "update")
    }

    /// Returns `userInfo` as in the admission request: the impersonated user, if there is one.
    pub(crate) fn user(&self) -> Option<&'a str> {
        let impersonated = self.event.get("impersonatedUser");
        impersonated.or_else(|| self.event.get("user"))
    }

    /// Returns the time at which the request was received.
    pub(crate) fn time(&self) -> Option<Cow<'a, str>> {
        self.event.string("requestReceivedTimestamp")
    }

    /// Returns the message of the response; for a rejection, the reason.
    pub(crate) fn message(&self) -> Option<Cow<'a, str>> {
        self.event.object("responseStatus").string("message")
    }

    /// Returns the audit annotations of webhooks and the API server.
    pub(crate) fn annotations(&self) -> Members<'a> {
        self.event.object("annotations")
    }
}

/// Converts an audit event (`Event` in `audit.k8s.io`) to a record.
pub(super) fn record(event: Members<'_>) -> Result<Record<'_>, Unjudged> {
    let Some(audited) = Audited::of(event) else {
        return Ok(Record::Nothing);
    };
    let is_known = kinds()
        .iter()
        .any(|kind| kind.group() == audited.group && kind.plural() == audited.resource);
    if audited.is_refused() {
        return Ok(if is_known {
            Record::Refused
        } else {
            Record::Nothing
        });
    }
    let Some(response) = audited.response() else {
        // Events without an object are only an error for supported resources.
        if !is_known {
            return Ok(Record::Nothing);
        }
        let level = audited.event.string("level").unwrap_or_default();
        let level: String = level.chars().take(40).collect();
        let text = format!("an audit event of level {level} holds no object, RequestResponse does");
        return Err(Unjudged::new(Why::NoObject, text));
    };
    let state = State::read(response).ok_or_else(not_an_object)?;
    let asks = match &*audited.verb {
        "delete" => Asks::Delete,
        // An apply can create the object.
        verb if verb == "create" || audited.code == 201 => Asks::Create,
        _ if audited.is_status => Asks::UpdateStatus,
        _ => Asks::Update,
    };
    Ok(Record::Write(Box::new(Write {
        asks,
        user: audited.user(),
        time: audited.time(),
        state,
    })))
}
