//! `delegation/missing-label`

use super::{Delegated, has_label, has_queue, workload_labels};
use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::FieldError;
use crate::kind::{FieldLocation, QUEUE_NAME};
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::settings::SettingsErrors;

pub(crate) static RULE: Check = Check::new(
    Rule::policy("delegation/missing-label", include_str!("missing-label.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .with_default(Enforcement::Warn)
        .with_cel(&["missingLabel"]),
    CheckFn::Configured(check),
);

/// Added to the message about a missing queue, because manifests lack the label that Kueue sets.
const QUEUE_HINT: &str =
    "; if the namespace has a default LocalQueue, an admin can list it in default_local_queue";

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), SettingsErrors> {
    let kind = context.kind;
    let is_workload = kind.location == FieldLocation::Workload;
    // The project of a declared kind decides which labels the objects get that are created from a template.
    let delegated = Delegated::from_context(context).filter(|_| is_workload || !kind.is_declared);
    let Some(delegated) = delegated else {
        return Ok(());
    };
    let Delegated { controller, object } = delegated;
    let path = kind.workload_labels_path();
    let labels = workload_labels(kind, object);
    let settings = context.settings;
    for label in settings.required_labels(controller)?.iter() {
        if has_label(labels, label) || delegated.is_owned() {
            continue;
        }
        let mut hint = "";
        if label == QUEUE_NAME {
            if has_queue(context, labels)? {
                continue;
            }
            hint = QUEUE_HINT;
        }
        let brief = match path {
            Some(_) => format!("{controller} requires it"),
            None => format!("the {}s get no label {label}", kind.workload_kind()),
        };
        let detail = [&brief, hint].concat();
        let error = match path {
            Some(path) => FieldError::required(format!("{path}[{label}]"), detail),
            None => context.invalid(controller, detail),
        };
        findings.push(error.with_short_detail(brief));
    }
    Ok(())
}
