//! `managed-by/format`

use crate::description::{Rule, Upstream};
use crate::finding::{BadValue, FieldError};
use crate::kind::ValueConstraint;
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::upstream::names::{MAX_MANAGED_BY, MAX_SUBDOMAIN, is_path, is_subdomain};

const NOT_PREFIXED: &str = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
const HOST_TOO_LONG: &str = "must be no more than 253 characters";
const BAD_HOST: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const BAD_PATH: &str =
    r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";

pub(crate) static RULE: Check = Check::new(
    Rule::upstream(
        "managed-by/format",
        include_str!("format.md"),
        Upstream::in_function(
            "validateJobSpec (pkg/apis/batch/validation), IsDomainPrefixedPath (apimachinery)",
        ),
    )
    .for_kinds(|kind| kind.constraint == ValueConstraint::Path)
    .with_cel(&["format"]),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    if let Some(value) = context
        .new_managed_by()
        .filter(|_| context.kind.constraint == ValueConstraint::Path)
    {
        validate(context, value, findings);
    }
}

/// Adds all format errors of a value, in upstream's order.
pub(super) fn validate<'a>(context: &Context<'a>, value: &'a str, findings: &mut Findings<'a>) {
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
        // Before 1.32, `field.TooLongMaxLength` had its own message text.
        let detail = if context.release.minor() < 32 {
            "may not be longer than 63"
        } else {
            "may not be more than 63 bytes"
        };
        findings.push(FieldError::too_long(context.path(), detail));
    }
}
