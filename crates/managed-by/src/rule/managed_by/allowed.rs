//! `managed-by/allowed`

use crate::description::{Rule, RuleCategory};
use crate::finding::{BadValue, FieldError};
use crate::rule::{Check, CheckFn, Context, Findings, in_namespace};
use crate::settings::SettingsErrors;
use crate::suggest::{did_you_mean, nearest_name};
use crate::upstream::go;

/// Maximum number of controllers in a message.
const MAX_LISTED: usize = 8;

pub(crate) static RULE: Check = Check::new(
    Rule::policy("managed-by/allowed", include_str!("allowed.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .with_cel(&["allowedController"]),
    CheckFn::Configured(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), SettingsErrors> {
    let settings = context.settings;
    let Some(value) = context
        .kind
        .reconciler(context.new_managed_by())
        .controller()
    else {
        return Ok(());
    };
    if !settings.has_allow_list() {
        return Ok(());
    }
    let kind = context.kind.workload_kind();
    let namespace = &*context.request.namespace;
    let listed = settings.controller(value)?;
    if listed.is_some_and(|controller| controller.allows(kind, namespace)) {
        return Ok(());
    }
    let names = settings.controllers_for(kind, namespace)?;
    let target = format!("{kind}s{}", in_namespace(namespace));
    let mut brief = format!("not allowed for {target}");
    let mut detail = format!("no controller is allowed for {target}; omit the field");
    if !names.is_empty() {
        let shown: Vec<String> = names
            .iter()
            .take(MAX_LISTED)
            .map(|n| go::quote(n))
            .collect();
        detail = format!("allowed for {target}: {}", shown.join(", "));
        if let Some(more) = names.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            detail = format!("{detail} and {more} more");
        }
    }
    let suggestion = nearest_name(value, names.iter().map(|n| &**n));
    if let Some(suggestion) = suggestion {
        brief = did_you_mean(suggestion);
        detail = format!("{detail}; {brief}");
    }
    let value = BadValue::String(value.into());
    let mut error =
        FieldError::not_supported(context.path(), value, detail).with_short_detail(brief);
    if let Some(suggestion) = suggestion {
        error = error.with_suggestion(suggestion.to_owned());
    }
    findings.push(error);
    Ok(())
}
