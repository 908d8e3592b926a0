//! `managed-by/format`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::kind::Form;
use crate::release::Release;
use crate::rule::{Check, Context, Findings, Run};
use crate::upstream::names::{MAX_MANAGED_BY, MAX_SUBDOMAIN, is_path, is_subdomain};

const NOT_PREFIXED: &str = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
const HOST_TOO_LONG: &str = "must be no more than 253 characters";
const BAD_HOST: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const BAD_PATH: &str =
    r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/format",
    docs: Docs::new(Documentation {
    title: "`managedBy` is a domain-prefixed path of at most 63 bytes",
    text: "\
Checks that the value looks like `acme.io/foo`. The part before the first `/` is a lower-case RFC 1123 subdomain. The part
after it is one or more characters of an RFC 3986 path. The whole value has at most 63 bytes. `\"\"` is a value, and it is not
valid. One value may have several errors.

Runs on create, and on updates that change the value. A stored value is not checked again. Of the custom resources, JobSet
has the same check. For the other kinds see `managed-by/unchecked-format` and `managed-by/closed-set`.",
        fix: "Write a domain that you own, a slash and a name, such as `acme.io/runner`. To choose the built-in controller, leave the field out.",
    accepted: Example {
        settings: "{}",
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"acme.io/batch/runner"}}}"#,
    },
    rejected: Example {
        settings: "{}",
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"multikueue"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Upstream {
        function: "validateJobSpec (pkg/apis/batch/validation), IsDomainPrefixedPath (apimachinery)",
        option: None,
        since: Release::V1_30,
        until: None,
        deviation: Some(
            "upstream checks the value on every update. This policy checks it only when it changes, so that an object with an invalid stored value can still be updated, finalized and deleted",
        ),
    }),
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    if let Some(value) = context
        .incoming()
        .filter(|_| context.kind.form == Form::Path)
    {
        judge(context, value, findings);
    }
}

/// Everything that is wrong with a value, in upstream's order.
pub(super) fn judge<'a>(context: &Context<'a>, value: &'a str, findings: &mut Findings<'a>) {
    let invalid = |part: &'a str, detail: &'static str| {
        FieldError::invalid(context.path(), BadValue::String(part.into()), detail)
    };
    if value.is_empty() {
        return findings.push(FieldError::required(context.path(), ""));
    }
    match value.split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            if host.len() > MAX_SUBDOMAIN {
                findings.push(invalid(host, HOST_TOO_LONG));
            }
            if !is_subdomain(host) {
                findings.push(invalid(host, BAD_HOST));
            }
            if !is_path(path) {
                findings.push(invalid(path, BAD_PATH));
            }
        }
        _ => findings.push(invalid(value, NOT_PREFIXED)),
    }
    if value.len() > MAX_MANAGED_BY {
        // field.TooLongMaxLength had words of its own until 1.32.
        let detail = if context.release < Release::V1_32 {
            "may not be longer than 63"
        } else {
            "may not be more than 63 bytes"
        };
        findings.push(FieldError::too_long(context.path(), detail));
    }
}
