//! `managed-by/allowed`

use crate::description::{Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::near::nearest_name;
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::Problems;
use crate::upstream::go;

/// A denial names no more controllers than that.
const MAX_LISTED: usize = 8;

pub(crate) static RULE: Check = Check::new(
    Rule::ours("managed-by/allowed", include_str!("allowed.md")).in_scope(Scope::Site),
    Run::Configured(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let settings = context.settings;
    let Some(value) = context.kind.mode(context.incoming()).controller() else {
        return Ok(());
    };
    if !settings.has_allow_list() {
        return Ok(());
    }
    let kind = context.kind.workload();
    let namespace = &*context.request.namespace;
    let listed = settings.controller(value)?;
    if listed.is_some_and(|controller| controller.serves(kind, namespace)) {
        return Ok(());
    }
    let names = settings.controllers_serving(kind, namespace)?;
    let place = format!("{kind}s in namespace {}", go::quote(namespace));
    let mut brief = format!("not allowed for {place}");
    let mut detail = format!("no controller is allowed for {place}, leave the field out");
    if !names.is_empty() {
        let shown: Vec<String> = names
            .iter()
            .take(MAX_LISTED)
            .map(|n| go::quote(n))
            .collect();
        detail = format!("allowed for {place}: {}", shown.join(", "));
        if let Some(more) = names.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            detail = format!("{detail} and {more} more");
        }
    }
    let meant = nearest_name(value, names.iter().map(|n| &**n));
    if let Some(meant) = meant {
        brief = format!("did you mean {}?", go::quote(meant));
        detail = format!("{brief} {detail}");
    }
    let value = BadValue::String(value.into());
    let mut error = FieldError::not_supported(context.path(), value, detail).briefly(brief);
    if let Some(meant) = meant {
        error = error.suggesting(meant.to_owned());
    }
    findings.push(error);
    Ok(())
}
