//! What an audit log tells of writes.

use std::borrow::Cow;

use managed_by::kinds;

use super::{Record, State, not_an_object};
use crate::asks::Asks;
use crate::json::Members;
use crate::unjudged::{Unjudged, Why};

/// A write of an audit log.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) asks: Asks,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) state: State<'a>,
}

/// A write that an audit log tells of as finished, of an object or of its status, whether the API server took it or not.
#[derive(Debug)]
pub(crate) struct Audited<'a> {
    event: Members<'a>,
    verb: Cow<'a, str>,
    /// Of the resource, as the version and the plural are.
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) resource: Cow<'a, str>,
    pub(crate) is_status: bool,
    /// HTTP status of the answer; 0 where the event does not say.
    pub(crate) code: u16,
}

impl<'a> Audited<'a> {
    /// Takes an audit event for a write. A read, a start, a dry run and the write of another subresource are none.
    pub(super) fn of(event: Members<'a>) -> Option<Self> {
        let text = |name| event.string(name).unwrap_or_default();
        // An apply is a patch in the audit log.
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

    /// Whether somebody asked for another status.
    pub(crate) fn updates_status(&self) -> bool {
        self.is_status && ["update", "patch"].contains(&&*self.verb)
    }

    /// Whether the API server refused the write.
    pub(crate) fn is_refused(&self) -> bool {
        self.code >= 400
    }

    /// What the API server answered, if the event holds it: the object, or a `Status`.
    pub(crate) fn response(&self) -> Option<&'a str> {
        self.event.get("responseObject")
    }

    /// The whole object that the client sent, if the event holds it. A patch is none.
    pub(crate) fn sent(&self) -> Option<&'a str> {
        let request = self.event.get("requestObject");
        request.filter(|_| self.verb == "update")
    }

    /// `userInfo`, as JSON, as admission sees it: of who is impersonated, if somebody is.
    pub(crate) fn user(&self) -> Option<&'a str> {
        let impersonated = self.event.get("impersonatedUser");
        impersonated.or_else(|| self.event.get("user"))
    }

    /// When the request came.
    pub(crate) fn time(&self) -> Option<Cow<'a, str>> {
        self.event.string("requestReceivedTimestamp")
    }

    /// What the API server said of the request: with a refusal, why.
    pub(crate) fn message(&self) -> Option<Cow<'a, str>> {
        self.event.object("responseStatus").string("message")
    }

    /// What webhooks and the API server itself noted, by key.
    pub(crate) fn annotations(&self) -> Members<'a> {
        self.event.object("annotations")
    }
}

/// An audit event: `Event` of `audit.k8s.io`.
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
        // Of other resources nobody wants to know.
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
        // An apply may create.
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
